//! A whole directory, kept in the repository: it must open for ever, and a store written today must
//! have the same bytes. `golden.rs` next to this directory says how to write it anew.

use std::sync::Arc;

use terrace_env::Cause;
use terrace_fs::Access;
use terrace_fs::dir::{Files, MemoryFiles};
use terrace_fs::inspect::Inspector;

use super::specimen::{listing, specimen};
use super::world::{open, open_for, sealed};
use crate::golden::{earlier, golden};

#[test]
fn the_specimen_of_a_directory_opens_and_goes_on() {
    let specimen = specimen();
    let kept = MemoryFiles::new();
    for name in specimen.files.list().expect("a list") {
        let fresh = specimen.files.bytes(&name).expect("a file that is listed");
        let bytes = golden(&format!("directory/{name}"), &fresh);
        assert!(bytes == fresh, "{name} is written in another way");
        kept.create(&name).expect("a file");
        kept.overwrite(&name, bytes);
    }
    let store = open_for(&kept, Access::ReadOnly).expect("the specimen opens");
    let text = listing(&store).join("\n") + "\n";
    assert_eq!(String::from_utf8_lossy(&golden("directory.txt", text.as_bytes())), text);
    drop(store);

    let store = open(&kept).expect("the specimen opens for writing");
    let expected = specimen.log_bytes.concat();
    let mut bytes = vec![0; expected.len()];
    let log = store.open(specimen.log).expect("the log");
    log.read_at(0, &mut bytes, Cause::Read).expect("a read");
    assert!(bytes == expected, "the log's bytes");
    let table = store.lookup("b").expect("the table's name");
    let mut bytes = vec![0; specimen.table_bytes.len() - 4096];
    let table = store.open(table).expect("the table");
    table.read_at(4096, &mut bytes, Cause::Read).expect("a read");
    assert!(bytes == specimen.table_bytes[4096..], "the table's bytes");
    sealed(&store, b"more");
}

#[test]
fn a_directory_of_an_earlier_version_is_refused_by_name_and_version() {
    let kept = MemoryFiles::new();
    kept.create("CURRENT").expect("a file");
    kept.overwrite("CURRENT", earlier("directory-2/CURRENT"));
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let error = open_for(&kept, access).err().expect("a store of version 2").to_string();
        assert!(error.contains("expected format version 4, found version 2"), "{error}");
    }
    let seen = Inspector::files(Arc::new(kept)).expect("files that can be read");
    assert!(seen.damage()[0].to_string().contains("found version 2"), "{:?}", seen.damage());
}
