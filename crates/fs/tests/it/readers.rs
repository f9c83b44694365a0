//! Readers of deleted files while their zones are wanted.

use std::sync::Arc;

use terrace_env::store::{CreateOptions, FileKind, PlacementHint, Rank, Store, StoreError};
use terrace_env::{Cause, FileId};
use terrace_fs::{Fs, MountOptions};
use terrace_zone::Device;

use crate::cuts::facts::{note, pattern};
use crate::drive::{fewest, formatted};

const FILE: usize = 300_000;

/// Writes a sealed table of [`FILE`] bytes made from its id.
pub(crate) fn table(fs: &Fs) -> Result<FileId, StoreError> {
    let options = CreateOptions {
        kind: FileKind::Table,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    };
    let mut writer = fs.create(&options)?;
    let id = writer.id();
    writer.append(&pattern(id.0, 0, FILE))?;
    writer.finish()?;
    let mut transaction = terrace_env::store::Transaction::new();
    transaction.seal(id, note("a table"));
    fs.commit(transaction)?;
    Ok(id)
}

pub(crate) fn delete(fs: &Fs, id: FileId) {
    let mut transaction = terrace_env::store::Transaction::new();
    transaction.delete(id);
    fs.commit(transaction).expect("a delete");
}

/// Opens a file, deletes it, and writes and deletes others until every zone has been used anew.
pub(crate) fn bytes_stay_while_their_zones_are_wanted() -> Result<(), String> {
    let drive = formatted(fewest(), 3);
    let options = MountOptions { background: false, ..MountOptions::default() };
    let fs = Fs::mount(Arc::clone(&drive) as Arc<dyn Device>, &options).expect("a mount");
    let id = table(&fs).expect("a table");
    let reader = fs.open(id).expect("a reader");
    delete(&fs, id);
    if fs.space().pinned.0 == 0 {
        return Err("the reader pins nothing".into());
    }
    for _ in 0..100 {
        let other = table(&fs).map_err(|error| error.to_string())?;
        delete(&fs, other);
        let mut bytes = vec![0; FILE];
        reader.read_at(0, &mut bytes, Cause::Read).map_err(|error| error.to_string())?;
        if bytes != pattern(id.0, 0, FILE) {
            return Err("the reader finds other bytes".into());
        }
    }
    drop(reader);
    match fs.space().pinned.0 {
        0 => Ok(()),
        pinned => Err(format!("{pinned} bytes stay pinned without a reader")),
    }
}

#[test]
fn a_reader_keeps_its_bytes_while_all_zones_are_reused() {
    assert_eq!(bytes_stay_while_their_zones_are_wanted(), Ok(()));
}

#[test]
fn a_reader_of_a_file_that_is_moved_reads_on_and_pins_nothing() {
    let drive = formatted(fewest(), 4);
    let options = MountOptions { background: false, ..MountOptions::default() };
    let fs = Fs::mount(Arc::clone(&drive) as Arc<dyn Device>, &options).expect("a mount");
    let files: Vec<FileId> = (0..9).map(|_| table(&fs).expect("a table")).collect();
    let reader = fs.open(files[0]).expect("a reader");
    files.iter().skip(1).step_by(2).for_each(|id| delete(&fs, *id));
    let mut reclaimed = 0;
    while fs.reclaim_one().expect("a store that takes commits") {
        reclaimed += 1;
        assert!(reclaimed < 100, "reclaim never ends");
    }
    assert!(reclaimed > 0, "there was nothing to reclaim");
    let mut bytes = vec![0; FILE];
    reader.read_at(0, &mut bytes, Cause::Read).expect("a read");
    assert_eq!(bytes, pattern(files[0].0, 0, FILE));
    assert_eq!(fs.space().pinned.0, 0, "the old place of a moved file");
    assert_eq!(fs.audit(), Vec::<String>::new());
}
