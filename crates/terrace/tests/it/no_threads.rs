//! A process to which the operating system grants no thread: an opening for writing is an error,
//! and leaves the store to later ones. The process is this test binary, started again with
//! [`PLACE`] set.

use std::path::Path;
use std::process::Command;

use terrace::{Db, ErrorKind, Options};

/// The variable that makes the test binary the process without threads: the path of the store.
const PLACE: &str = "TERRACE_WITHOUT_THREADS";

/// More bytes for the stack of a thread than a process has addresses.
const STACK: u64 = 1 << 47;

fn read(path: &Path, options: Options) -> Option<Vec<u8>> {
    let db = Db::open_directory(path, options).unwrap();
    let found = db.get(b"key").unwrap().map(|value| value.to_vec());
    db.close().unwrap();
    found
}

#[test]
fn child_without_threads() {
    let Some(path) = std::env::var_os(PLACE) else { return };
    let path = Path::new(&path);
    for _ in 0..2 {
        let error = Db::open_directory(path, Options::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("starting the thread \"flush\""), "{error}");
    }
    assert_eq!(read(path, Options::default().read_only(true)).as_deref(), Some(&b"value"[..]));
}

#[test]
fn an_opening_that_gets_no_thread_is_an_error_and_leaves_the_store_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let db = Db::open_directory(&path, Options::default()).unwrap();
    db.put(b"key", b"value").unwrap();
    db.close().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["no_threads::child_without_threads", "--exact", "--test-threads=1"])
        .env(PLACE, &path)
        .env("RUST_MIN_STACK", STACK.to_string())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{child:?}");
    assert_eq!(read(&path, Options::default()).as_deref(), Some(&b"value"[..]));
}
