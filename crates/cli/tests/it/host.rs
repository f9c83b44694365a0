//! Tests of events of the host: signals that interrupt a measurement leave no files, a full disk is
//! exit code 4, on an image and in a directory, and a limit of file sizes (`ulimit -f`) is an error
//! of the write that meets it. They start processes, and mount a small disk where the host lets
//! users do so.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use terrace_env::runner;

use crate::program::Place;

/// Names in a directory of the host.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Waits for a measurement's directory to hold files.
fn wait_for_files(dir: &Path) {
    for _ in 0..10_000 {
        let files = names(dir).iter().map(|name| names(&dir.join(name)).len()).sum::<usize>();
        if files > 0 {
            return;
        }
        runner::sleep(Duration::from_millis(10));
    }
    panic!("no files within 100 s");
}

#[test]
fn an_interrupted_measurement_leaves_nothing() {
    for ((signal, number), words) in [
        (("INT", 2), &["bench", "filluniquerandom", "--on", "directory"][..]),
        (("TERM", 15), &["bench", "filluniquerandom", "--on", "directory"]),
        (("HUP", 1), &["bench", "filluniquerandom", "--on", "directory"]),
        (("INT", 2), &["bench", "filluniquerandom", "--on", "directory", "--json"]),
    ] {
        let place = Place::new();
        // Commands before a script's `&` begin with SIGINT ignored, and these tests may.
        let mut child = Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_terrace")])
            .args(words)
            .args(["--count", "50000000", "--dir"])
            .arg(place.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_files(place.path());
        runner::sleep(Duration::from_millis(300));
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert!(sent.success());
        let status = child.wait().unwrap();
        let ended = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(ended, Some(number), "{status}");
        assert_eq!(names(place.path()), [""; 0], "{signal}");
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.contains("error: "), "{error}");
        assert_eq!(output.stdout, b"");
    }
}

#[test]
fn a_measurement_that_was_told_to_ignore_the_end_of_its_terminal_goes_on() {
    // SIGTERM comes while the measurement makes its files, each time elsewhere.
    for _ in 0..16 {
        let place = Place::new();
        let script = "trap '' HUP; exec \"$0\" bench filluniquerandom --on directory \
                      --count 50000000 --dir .";
        // A runner of tests may have been started to ignore SIGTERM.
        let mut child = Command::new("env")
            .args(["--default-signal=TERM", "sh", "-c", script, env!("CARGO_BIN_EXE_terrace")])
            .current_dir(place.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_files(place.path());
        let id = child.id().to_string();
        for signal in ["HUP", "TERM"] {
            let sent = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
            assert!(sent.success());
        }
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15), "{status}");
        assert_eq!(names(place.path()), [""; 0]);
    }
}

#[test]
fn an_interrupted_export_leaves_whole_files_only() {
    const SIZE: usize = 10_000;
    let place = Place::formatted("256MiB", "1MiB");
    let entries = (0..6000u32).map(|number| format!("{number:04}\t{}\n", "v".repeat(SIZE)));
    std::fs::write(place.path().join("entries"), entries.collect::<String>()).unwrap();
    place.ok(&["load", "d.img", "entries", "--sorted"]);
    let out = place.path().join("out");
    let mut child = Command::new("env")
        .args(["--default-signal=TERM", env!("CARGO_BIN_EXE_terrace"), "export", "d.img", "out"])
        .current_dir(place.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while std::fs::read_dir(&out).map_or(0, Iterator::count) < 100 {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        runner::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(15), "{error}");
    assert!(error.contains("ended by SIGTERM; files that were written are whole"), "{error}");
    let files = names(&out);
    assert!(files.len() < 6000);
    for name in files {
        assert_eq!(std::fs::metadata(out.join(&name)).unwrap().len(), SIZE as u64, "{name}");
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_leaves_nothing() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    for (command, left) in [
        ("device create new.img --size 64MiB", "new.img"),
        ("checkpoint d.img copy.img", "copy.img"),
        ("checkpoint d.img copy/", "copy/LOCK"),
        ("scan d.img --values --json", "copy/JOURNAL-000001"),
        ("export d.img out", "out/key"),
    ] {
        // Blocks of 512 bytes.
        let script = format!("ulimit -f 0; exec \"$0\" {command} > output");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_terrace")])
            .current_dir(place.path())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}: {:?} {error}", output.status);
        assert!(error.contains("File too large"), "{command}: {error}");
        assert!(!place.path().join(left).exists(), "{command}: {error}");
    }
    assert_eq!(place.ok(&["get", "d.img", "key"]), "value");
}

/// Carried out where `small` is a disk of 64 MiB. Prints the exit codes of the commands.
const ON_A_SMALL_DISK: &str = r#"
mount -t tmpfs -o size=64m none small || exit 99
try() { "$TERRACE" "$@" > ../said 2>> ../errors; printf '%s ' $?; }
cd small
"$TERRACE" device create d.img --size 256MiB --zone-size 4MiB > /dev/null
mkdir plain
for store in d.img plain; do
    try format $store
    try put $store early value
    head -c 60M /dev/zero > ballast
    try load $store ../entries
    try get $store early
    rm ballast
    try load $store ../entries
    try check $store
    "$TERRACE" get $store last
    echo
    rm -r $store
done
cat ../errors
"#;

#[test]
fn a_full_disk_of_the_host_is_no_space_and_names_the_host() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("small")).unwrap();
    let values = (0..8000u32).map(|n| format!("{n:08}\t{:0>992}\n", n.wrapping_mul(2_654_435_761)));
    let entries: String = values.chain(["last\tis there\n".to_owned()]).collect();
    std::fs::write(place.path().join("entries"), entries).unwrap();
    // A disk of its own takes a name space of its own.
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK])
        .current_dir(place.path())
        .env("TERRACE", env!("CARGO_BIN_EXE_terrace"))
        .output()
        .expect("unshare, of util-linux");
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && text.is_empty() {
        eprintln!("not tried: no name spaces for users here: {error}");
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "0 0 4 0 0 0 is there", "{text}");
    assert_eq!(lines[1], "0 0 4 0 0 0 is there", "{text}");
    let (image, plain) = (lines[2], lines[3]);
    assert!(image.contains("no space: ") && image.contains("image d.img"), "{image}");
    assert!(image.contains("free space on the host's disk"), "{image}");
    assert!(plain.contains("no space: ") && plain.contains("the host's disk"), "{plain}");
    assert!(!text.contains("device failed") && lines.len() == 4, "{text}");
}
