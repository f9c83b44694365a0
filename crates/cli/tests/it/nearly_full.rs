//! Stores that are nearly full: commands that write warn, once each, and `stats` tells the space
//! that deletes will give back.

use std::fmt::Write as _;

use crate::program::Place;

/// A file of `lines` lines, each with a key and a value of 1,000 bytes.
fn write_lines(place: &Place, name: &str, lines: u32) {
    let mut text = String::new();
    for line in 0..lines {
        // Values that do not compress well.
        let value: String = (0..125)
            .map(|part| {
                let mixed = (u64::from(line) << 32 | part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                format!("{:08x}", (mixed ^ mixed >> 29) as u32)
            })
            .collect();
        writeln!(text, "key{:06}\t{value}", u64::from(line) * 7_919 % 1_000_003).unwrap();
    }
    std::fs::write(place.path().join(name), text).unwrap();
}

/// How often a command warned; it may succeed or be refused.
fn warnings(place: &Place, words: &[&str]) -> (usize, Option<i32>) {
    let output = place.run(words);
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    let lines = text.lines().filter(|line| line.starts_with("warning: d.img: nearly full: "));
    (lines.count(), output.status.code())
}

/// Bytes that are deleted and not yet given back, and live bytes, by `stats`.
fn deleted_and_live(place: &Place) -> (u64, u64) {
    let stats = place.json(&["stats", "d.img"]);
    (stats["deleted"].as_u64().unwrap(), stats["space"]["live"].as_u64().unwrap())
}

#[test]
fn commands_that_write_warn_before_a_store_is_full_and_stats_tells_what_deletes_give_back() {
    let place = Place::formatted("32MiB", "256KiB");
    write_lines(&place, "small", 6_000);
    write_lines(&place, "large", 100_000);
    let load = ["load", "d.img", "small", "--compaction-rate", "100MiB"];
    for _ in 0..2 {
        assert_eq!(warnings(&place, &load), (0, Some(0)), "a fifth of it, or again");
    }
    assert_eq!(warnings(&place, &["load", "d.img", "large"]), (1, Some(4)), "filled");
    assert_eq!(warnings(&place, &["load", "d.img", "small", "--json"]).0, 1, "it is full still");
    assert_eq!(warnings(&place, &["delete", "d.img", "key000000"]).0, 1);
    assert_eq!(warnings(&place, &["scan", "d.img", "--limit", "1"]), (0, Some(0)), "no write");
    let (deleted, full) = deleted_and_live(&place);
    assert!(deleted < 100_000, "{deleted}");
    place.ok(&["delete", "d.img", "--from", "key000000", "--to", "key600000"]);
    let (deleted, live) = deleted_and_live(&place);
    // A compaction that ends before the program does has given a part of it back already.
    let told = deleted + full.saturating_sub(live);
    assert!(told > full / 3 && told < full, "{deleted} of {live}, {full} before");
    let text = place.ok(&["stats", "d.img"]);
    let line = " are deleted, and come back when they are compacted\n";
    assert_eq!(text.contains(line), deleted > 0, "{text}");
    place.ok(&["compact", "d.img"]);
    assert_eq!(place.json(&["stats", "d.img"])["deleted"], 0);
    assert_eq!(warnings(&place, &["put", "d.img", "key", "value"]), (0, Some(0)), "room again");
}
