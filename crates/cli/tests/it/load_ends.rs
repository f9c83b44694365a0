//! However `terrace load` ends, it says up to which line all entries are stored, and that is true
//! of the store as it is found afterwards: a load from the next line on loses nothing.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use terrace_env::runner;

use crate::program::Place;

/// Times that an event is looked for, each after a pause of 50 ms.
const LOOKS: u32 = 2400;

fn lines(range: std::ops::RangeInclusive<u32>) -> String {
    range.fold(String::new(), |mut text, line| {
        writeln!(text, "key{line:06}\tvalue {line}").unwrap();
        text
    })
}

/// A load from a pipe. Commands after a script's `&` begin with SIGINT ignored.
fn load(place: &Place, more: &[&str]) -> (Child, ChildStdin) {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_terrace")]);
    command.args(["load", "d.img"]).args(more).current_dir(place.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a process");
    let input = child.stdin.take().expect("a pipe");
    (child, input)
}

/// Waits until a key is found in a copy of the image, as a power cut of this moment would leave it.
fn wait_until_stored(place: &Place, key: &str) {
    for _ in 0..LOOKS {
        std::fs::copy(place.path().join("d.img"), place.path().join("copy.img")).unwrap();
        if place.run(&["get", "copy.img", key]).status.success() {
            return;
        }
        runner::sleep(Duration::from_millis(50));
    }
    panic!("`{key}` is not stored while the input pauses");
}

/// The line up to which a load says that all is stored.
fn told(output: &Output) -> u64 {
    let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
    let (_, after) = text.rsplit_once("stored up to line ").unwrap_or_else(|| panic!("{text}"));
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

fn entries(place: &Place) -> Value {
    place.json(&["scan", "d.img"])["total"]["entries"].clone()
}

#[test]
fn a_loader_whose_input_pauses_is_killed_and_no_line_before_the_pause_is_missing() {
    let place = Place::formatted("64MiB", "1MiB");
    let (mut child, mut input) = load(&place, &[]);
    input.write_all(lines(1..=700).as_bytes()).unwrap();
    input.write_all(b"key9begun").unwrap();
    input.flush().unwrap();
    wait_until_stored(&place, "key000700");
    // It goes on after the pause, with the rest of the line.
    input.write_all(b"\tvalue\n").unwrap();
    input.write_all(lines(701..=900).as_bytes()).unwrap();
    input.flush().unwrap();
    wait_until_stored(&place, "key000900");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(entries(&place), 901);
    assert_eq!(place.ok(&["get", "d.img", "key9begun"]), "value");
}

#[test]
fn a_signal_ends_a_load_with_the_line_up_to_which_all_is_stored() {
    for (signal, number, json) in [("INT", 2, false), ("TERM", 15, true), ("HUP", 1, false)] {
        let place = Place::formatted("64MiB", "1MiB");
        let (mut child, mut input) = load(&place, if json { &["--json"] } else { &[] });
        input.write_all(lines(1..=500).as_bytes()).unwrap();
        input.write_all(b"key000501\tval").unwrap();
        input.flush().unwrap();
        wait_until_stored(&place, "key000500");
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(number), "{status}");
        drop(input);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
        if json {
            let error: Value = serde_json::from_str(&text).expect("an object");
            assert_eq!(error["error"]["stored_up_to_line"], 500, "{text}");
            assert_eq!(error["error"]["code"], 143, "{text}");
        } else {
            assert!(
                text.contains(&format!("ended by SIG{signal}; stored up to line 500")),
                "{text}"
            );
        }
        // A line of which only a part has come is not stored.
        assert_eq!(entries(&place), 500);
        std::fs::write(place.path().join("all"), lines(1..=600)).unwrap();
        let again = place.json(&["load", "d.img", "all", "--from-line", "501"]);
        assert_eq!((&again["entries"], &again["stored_up_to_line"]), (&100.into(), &600.into()));
        assert_eq!(entries(&place), 600);
    }
}

#[test]
fn a_load_that_a_signal_meets_amid_the_lines_says_a_line_that_is_true() {
    let place = Place::formatted("256MiB", "1MiB");
    let (mut child, mut input) = load(&place, &[]);
    // More than fits into the pipe and the reader's buffer: lines are still on their way.
    let text = lines(1..=200_000);
    input.write_all(text.as_bytes()).unwrap();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    child.wait().unwrap();
    let stored = told(&child.wait_with_output().unwrap());
    drop(input);
    assert_eq!(entries(&place), stored);
    std::fs::write(place.path().join("all"), text).unwrap();
    let from = (stored + 1).to_string();
    place.ok(&["load", "d.img", "all", "--from-line", &from]);
    assert_eq!(entries(&place), 200_000);
}

#[test]
fn a_store_that_fails_under_a_load_has_all_lines_that_the_load_names() {
    let place = Place::formatted("256MiB", "1MiB");
    let value = |line: u32| "v".repeat(300) + &line.to_string();
    let text = (1..=300_000).fold(String::new(), |mut text, line| {
        writeln!(text, "key{line:06}\t{}", value(line)).unwrap();
        text
    });
    std::fs::write(place.path().join("all"), text).unwrap();
    for round in 1..=4 {
        // Blocks of 512 bytes: writes beyond fail, as on a full disk.
        let script = format!("ulimit -f {}; exec \"$0\" load d.img all", round * 24_000);
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_terrace")])
            .current_dir(place.path())
            .output()
            .unwrap();
        assert!(!output.status.success(), "{output:?}");
        let stored = told(&output);
        assert!(stored > 0, "{output:?}");
        let found = entries(&place).as_u64().unwrap();
        assert!(found >= stored, "round {round}: {found} of {stored}: {output:?}");
        let last = place.ok(&["get", "d.img", &format!("key{stored:06}")]);
        assert_eq!(last, value(stored as u32));
    }
}

#[test]
fn an_error_of_a_line_or_of_the_input_names_the_last_line_that_is_stored() {
    let place = Place::formatted("64MiB", "1MiB");
    std::fs::write(place.path().join("wrong"), lines(1..=30) + "\nno tab\n").unwrap();
    let error = place.fails(1, &["load", "d.img", "wrong"]);
    assert!(error.contains("line 32: expected a key, a tab"), "{error}");
    assert!(error.contains("; stored up to line 31: `--from-line 32`"), "{error}");
    let error = place.fails(1, &["load", "d.img", "wrong", "--sorted", "--space", "sorted"]);
    assert!(error.contains("; stored up to line 0: nothing"), "{error}");
    let output = place.run(&["load", "d.img", "wrong", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(told["error"]["stored_up_to_line"], 31);
    let error = place.fails(1, &["load", "d.img", "."]);
    assert!(error.contains("; stored up to line 0"), "{error}");
    let error = place.fails(1, &["load", "d.img", "wrong", "--from-line", "100"]);
    assert!(error.contains("--from-line 100: expected at least 99 lines, found 32"), "{error}");
    place.fails(2, &["load", "d.img", "wrong", "--from-line", "0"]);
    assert!(place.ok(&["load", "d.img", "-"]).ends_with("; stored up to line 0\n"));
}

#[test]
fn a_load_whose_output_is_closed_still_says_how_far_it_came() {
    let place = Place::formatted("64MiB", "1MiB");
    std::fs::write(place.path().join("all"), lines(1..=30)).unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = place.command(&["load", "d.img", "all"]).stdout(full).output().unwrap();
    assert_eq!((output.status.code(), told(&output)), (Some(1), 30));
    let (mut child, input) = load(&place, &[]);
    drop(child.stdout.take());
    drop(input);
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert!(error.contains("stored up to line 0"), "{error}");
    assert_eq!(entries(&place), 30);
}
