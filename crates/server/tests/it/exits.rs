//! The exit codes of the program, which are those of `terrace`, and its messages.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::client::Client;
use crate::kills::started;
use crate::rig::{Medium, Store, bytes};

/// Runs the program on a store that it cannot serve; its exit code and its messages.
fn run(store: &Path, options: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_terrace-serve"))
        .arg(store)
        .args(["--listen", "127.0.0.1:0"])
        .args(options)
        .env_remove("TERRACE_ACCESS_KEY")
        .output()
        .expect("the program");
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_store_that_is_missing_damaged_or_none_has_the_exit_codes_of_the_other_program() {
    let place = tempfile::tempdir().unwrap();
    let (code, message) = run(&place.path().join("none.img"), &[]);
    assert_eq!(code, Some(5), "{message}");
    let (code, message) = run(place.path(), &[]);
    assert_eq!(code, Some(1), "{message}");
    let found = format!("{}: expected a store, found no file CURRENT", place.path().display());
    assert!(message.matches(&*place.path().to_string_lossy()).count() == 1, "{message}");
    assert!(message.contains(&found), "{message}");

    let store = Store::new(Medium::Image, 32);
    let mut bytes = fs::read(store.path()).unwrap();
    // The version of the image's header, and then its zone table.
    for at in [100, 4100] {
        bytes[at] ^= 0xff;
        let damaged = place.path().join("damaged.img");
        fs::write(&damaged, &bytes).unwrap();
        let (code, message) = run(&damaged, &[]);
        assert_eq!(code, Some(3), "{message}");
        assert!(message.contains("damaged.img"), "{message}");
        bytes[at] ^= 0xff;
    }

    let open = store.open();
    let (code, message) = run(&store.path(), &[]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("stop the other process first"), "{message}");
    drop(open);
}

#[test]
fn files_of_keys_and_certificates_are_named_in_errors() {
    let store = Store::new(Medium::Directory, 0);
    let place = tempfile::tempdir().unwrap();
    let none = place.path().join("none");
    let none = none.to_str().unwrap();
    let (code, message) = run(&store.path(), &["--keys", none]);
    assert_eq!(code, Some(5), "{message}");
    assert!(message.contains(none), "{message}");
    let options = ["--tls-certificate", none, "--tls-key", none];
    let (code, message) = run(&store.path(), &options);
    assert_eq!(code, Some(5), "{message}");
    assert!(message.contains(none), "{message}");
    let keys = place.path().join("keys.toml");
    fs::write(&keys, "key = []").unwrap();
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
    let (code, message) = run(&store.path(), &["--keys", keys.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{message}");
    let (code, message) = run(&store.path(), &["--listen", "0.0.0.0:0"]);
    assert_eq!(code, Some(2), "{message}");
}

#[test]
fn a_limit_of_file_sizes_is_an_error_of_a_put_and_does_not_end_the_server() {
    let store = Store::new(Medium::Directory, 0);
    // 2,000 blocks of 512 bytes.
    let script = "ulimit -f 2000; exec \"$0\" \"$1\" --listen 127.0.0.1:0";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_terrace-serve")]).arg(store.path());
    let (mut child, address) = started(&mut command);
    let client = Client { address, key: None };
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/small", &bytes(1, 200_000)).expect(200);
    let large = client.send("PUT", "/bucket/large", &[], &[], &bytes(2, 3_000_000));
    assert_ne!(large.expect("an answer").status, 200);
    assert!(client.get("/bucket/small").expect(200).body == bytes(1, 200_000));
    client.get("/bucket/large").expect(404);
    child.kill().unwrap();
    child.wait().unwrap();
}
