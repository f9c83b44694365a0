//! The names on a medium may be a stranger's: names with commands to a terminal, line ends, and
//! characters that turn or hide text. Every command that prints such names is run on a terminal
//! (of `script`), with and without `--json`: none of these characters reaches it, and no name
//! begins a line of its own.

use std::process::Command;
use std::sync::Arc;

use terrace::device::{Access, Emulator};
use terrace_env::store::Transaction;
use terrace_env::{FileId, Store as _};
use terrace_fs::{Fs, MountOptions};

use crate::program::Place;

/// A title for the terminal, a cleared screen, a one-byte command, turned text, a line end.
const HOSTILE: &str = "x\u{1b}]0;p\u{7}\u{1b}[2J\u{9b}1m\u{202e}\u{2066}\u{200b}\r\nFORGED\tz\u{8}";

/// Output of a command line on a terminal.
fn on_terminal(place: &Place, words: &[&str]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
    let line: String = quoted.map(|word| format!(" {word}")).collect();
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{}{line}", env!("CARGO_BIN_EXE_terrace")), "/dev/null"]);
    script.current_dir(place.path()).stdin(std::process::Stdio::null()).env("SHELL", "/bin/sh");
    script.env("TERM", "xterm");
    let output = script.output().expect("`script`");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Takes the colours of a map away, which are the program's own, and the bar of a long work.
fn without_colours(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        left += before;
        let end = behind.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        let (digits, command) = behind.split_at(end.expect("a command"));
        if !command.starts_with('m') && !command.starts_with('K') {
            left += "\u{1b}[";
            left += digits;
            rest = command;
        } else {
            rest = &command[1..];
        }
    }
    left + rest
}

/// Runs a command line on a terminal, as text and in JSON, and holds its output against the rules.
fn check(place: &Place, words: &[&str]) {
    for json in [false, true] {
        let words: Vec<&str> = words.iter().copied().chain(json.then_some("--json")).collect();
        let text = on_terminal(place, &words);
        // The terminal ends lines with `\r\n`; a bar is drawn over with `\r`.
        let plain = without_colours(&text.replace("\r\n", "\n"));
        let is_bad = |letter: char| {
            letter.is_control() && !matches!(letter, '\n' | '\t' | '\r')
                || matches!(letter, '\u{202e}' | '\u{2066}' | '\u{200b}')
        };
        assert!(!plain.contains(is_bad), "{words:?}: {text:?}");
        let forged = plain.split(['\n', '\r']).any(|line| line.starts_with("FORGED"));
        assert!(!forged, "{words:?}: {text:?}");
        let last = plain.trim_end().rsplit(['\n', '\r']).next().unwrap_or_default();
        // A command line that cannot be read is told in text.
        let is_object = last.starts_with('{') || plain.contains("try '--help'");
        assert!(!json || is_object, "{words:?}: {text:?}");
    }
}

#[test]
fn names_in_a_store_send_no_command_to_the_terminal() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", HOSTILE, HOSTILE, "--space", HOSTILE]);
    place.ok(&["put", "d.img", HOSTILE, "value"]);
    place.ok(&["compact", "d.img"]);
    place.ok(&["put", "d.img", HOSTILE, "newer", "--space", HOSTILE]);
    let files = place.json(&["dump", "d.img"]);
    assert!(files.is_object());
    for words in [
        &["dump", "d.img"][..],
        &["dump", "d.img", "journal"],
        &["dump", "d.img", "superblock"],
        &["stats", "d.img"],
        &["zones", "d.img"],
        &["zones", "d.img", "--list"],
        &["check", "d.img"],
        &["scan", "d.img"],
        &["scan", "d.img", "--values", "--space", HOSTILE],
        &["scan", "d.img", "--space", HOSTILE, "--skip-damaged"],
        &["scan", "d.img", "--space", "none"],
        &["get", "d.img", "none"],
        &["get", "d.img", HOSTILE, "--space", "none\u{1b}c\nFORGED"],
        &["delete", "d.img", "none\u{1b}c\nFORGED"],
        &["fs", "ls", "d.img"],
        &["fs", "df", "d.img"],
        &["device", "report", "d.img"],
        &["export", "d.img", "out", "--space", HOSTILE],
        &["put", "d.img", "k", "v", "--system", HOSTILE],
        &["put", "d.img", "k", "v", "--system", "sliced:a\u{1b}c\nFORGED=1"],
        &["stats", HOSTILE],
        &["load", "d.img", HOSTILE],
        &["lab", "list", HOSTILE],
        &["lab", "drives", HOSTILE],
        &["compact", "d.img"],
    ] {
        check(&place, words);
    }
    // Tables and logs, entry by entry.
    for id in 1..20 {
        let id = id.to_string();
        check(&place, &["dump", "d.img", &id, "--entries", "--values", "--blocks"]);
    }
}

#[test]
fn values_and_files_are_shown_on_a_terminal_and_are_data_in_a_pipe() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "k", HOSTILE]);
    check(&place, &["get", "d.img", "none"]);
    let shown = on_terminal(&place, &["get", "d.img", "k"]);
    assert!(shown.starts_with("x\\u{1b}]0;p\\u{7}"), "{shown:?}");
    assert_eq!(place.ok(&["get", "d.img", "k"]), HOSTILE);

    place.ok(&["device", "create", "f.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["format", "f.img", "--files"]);
    std::fs::write(place.path().join("text"), HOSTILE).unwrap();
    place.ok(&["fs", "put", "f.img", "text", HOSTILE]);
    let shown = on_terminal(&place, &["fs", "cat", "f.img", HOSTILE]);
    assert!(shown.starts_with("x\\u{1b}]0;p\\u{7}"), "{shown:?}");
    assert_eq!(place.ok(&["fs", "cat", "f.img", HOSTILE]), HOSTILE);
    for words in [
        &["fs", "ls", "f.img"][..],
        &["fs", "ls", "f.img", "--recursive", "--long"],
        &["fs", "ls", "f.img", "none\u{1b}c\nFORGED"],
        &["fs", "df", "f.img"],
        &["fs", "cat", "f.img", "none\u{1b}c\nFORGED"],
        &["dump", "f.img"],
        &["dump", "f.img", "journal"],
        &["check", "f.img"],
        &["zones", "f.img"],
        &["put", "f.img", "k", "v"],
        &["get", "f.img", "k"],
        &["stats", "f.img"],
        &["fs", "mv", "f.img", HOSTILE, "to\u{1b}c\nFORGED"],
        &["fs", "backup", "f.img", "b\u{1b}c\nFORGED"],
        &["fs", "rm", "f.img", "none\u{1b}c\nFORGED"],
    ] {
        check(&place, words);
    }
}

#[test]
fn the_name_of_a_system_on_the_medium_sends_no_command_to_the_terminal() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "k", "v", "--system", "tiered"]);
    let drive = Emulator::open_image(place.path().join("d.img"), Access::ReadWrite).unwrap();
    let fs = Fs::mount(Arc::new(drive), &MountOptions::default()).unwrap();
    let mut annotation = (*fs.info(FileId::STORE).expect("the store").annotation).clone();
    let mut opaque = annotation.opaque.to_vec();
    let at = opaque.windows(6).position(|part| part == b"tiered").expect("the system");
    opaque[at..at + 6].copy_from_slice(b"s\x1b[2J\n");
    annotation.opaque = opaque;
    let mut transaction = Transaction::new();
    transaction.annotate(FileId::STORE, annotation);
    fs.commit(transaction).unwrap();
    fs.unmount();
    drop(fs);
    for words in [
        &["stats", "d.img"][..],
        &["zones", "d.img"],
        &["get", "d.img", "k"],
        &["dump", "d.img"],
        &["dump", "d.img", "journal"],
        &["fs", "ls", "d.img"],
        &["fs", "df", "d.img"],
        &["check", "d.img"],
    ] {
        check(&place, words);
    }
}

#[test]
fn a_drive_that_is_remembered_at_a_hostile_path_sends_no_command_to_the_terminal() {
    let place = Place::new();
    let log = "l\u{1b}]0;p\u{7}\nFORGED\u{202e}.img";
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["device", "create", log, "--kind", "plain", "--size", "16MiB"]);
    check(&place, &["format", "d.img", "--log", log, "--force"]);
    check(&place, &["stats", "d.img"]);
    check(&place, &["device", "report", log]);
    std::fs::remove_file(place.path().join(log)).unwrap();
    check(&place, &["stats", "d.img"]);
    check(&place, &["dump", "d.img", "superblock"]);
}

#[test]
fn texts_of_an_experiment_send_no_command_to_the_terminal() {
    let place = Place::new();
    let text = "name = \"a\\u001b[2J\\nFORGED\"\ntitle = \"t\\u001b[2J\\nFORGED\"\n";
    std::fs::write(place.path().join("e\u{1b}c\nFORGED.toml"), text).unwrap();
    std::fs::write(place.path().join("e.toml"), text).unwrap();
    for file in ["e\u{1b}c\nFORGED.toml", "e.toml"] {
        check(&place, &["lab", "list", file]);
        check(&place, &["lab", "run", file]);
        check(&place, &["lab", "drives", file]);
    }
}
