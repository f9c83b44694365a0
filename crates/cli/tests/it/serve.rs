//! `terrace serve` without and with the program that it starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn serve_starts_its_program_or_says_how_to_build_it() {
    let place = tempfile::tempdir().unwrap();
    let own = place.path().join("terrace");
    fs::copy(env!("CARGO_BIN_EXE_terrace"), &own).unwrap();
    let run = || {
        let words = ["serve", "drive.img", "--listen", "127.0.0.1:0"];
        Command::new(&own).args(words).env("PATH", "").output().unwrap()
    };
    let output = run();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{message}");
    assert!(message.contains("cargo build --release -p terrace-server"), "{message}");
    let program = place.path().join("terrace-serve");
    fs::write(&program, "#!/bin/sh\necho \"$@\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = run();
    assert_eq!(output.stdout, b"drive.img --listen 127.0.0.1:0\n");
    assert!(output.status.success());
}
