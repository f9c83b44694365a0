//! Tests of a store in a directory that has more tables than the program may have files open
//! (`ulimit -n`).

use std::process::{Command, Output};

use crate::program::Place;

/// Lines of keys in an order of their own, with values of 100 bytes.
fn lines(count: u64) -> String {
    let key = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34;
    (0..count).map(|n| format!("key{:010}\t{n:0100}\n", key(n))).collect()
}

/// A store of small tables.
fn small_tables(place: &Place, count: u64) -> usize {
    std::fs::create_dir(place.path().join("store")).unwrap();
    std::fs::write(place.path().join("lines"), lines(count)).unwrap();
    place.ok(&["format", "store", "--system", "leveldb-greedy:table_size=64KiB"]);
    place.ok(&["load", "store", "lines"]);
    place.ok(&["compact", "store"]);
    tables(place)
}

fn tables(place: &Place) -> usize {
    let names = std::fs::read_dir(place.path().join("store")).unwrap();
    let is_table = |name: std::ffi::OsString| name.to_string_lossy().ends_with(".table");
    names.filter(|entry| is_table(entry.as_ref().unwrap().file_name())).count()
}

/// Runs a command line under a limit of open files.
fn limited(place: &Place, limit: usize, words: &str) -> Output {
    let script = format!("ulimit -n {limit} && exec \"$0\" {words}");
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_terrace")])
        .current_dir(place.path())
        .output()
        .unwrap()
}

#[test]
fn a_directory_of_more_tables_than_descriptors_is_read_and_written() {
    let place = Place::new();
    let tables = small_tables(&place, 80_000);
    assert!(tables > 100, "{tables} tables");
    let all = place.ok(&["scan", "store"]);
    for limit in [64, 32, 20] {
        for words in ["scan store", "load store lines", "compact store", "check store"] {
            let output = limited(&place, limit, words);
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words} under {limit}: {error}");
            if words.starts_with("scan") {
                assert!(String::from_utf8_lossy(&output.stdout) == all, "under {limit}");
            }
        }
        let key = all.split_whitespace().filter(|word| word.starts_with("key")).nth(500).unwrap();
        assert!(limited(&place, limit, &format!("get store {key}")).status.success());
    }
    assert!(place.ok(&["scan", "store"]) == all, "entries were lost");
}

#[test]
fn a_limit_that_no_store_can_live_with_is_told() {
    let place = Place::new();
    small_tables(&place, 100);
    let output = limited(&place, 4, "put store key value");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("limit of 4") && error.contains("ulimit -n"), "{error}");
    place.ok(&["check", "store"]);
}
