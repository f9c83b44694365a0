//! A file that one actor deletes while another one seals it: in whatever order the two commits
//! meet, the file is gone in the end, and its blocks are free.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, runner};
use terrace_fs::Fs;
use terrace_zone::Geometry;
use terrace_zone::emulator::{Command, Progress, Timing};

use crate::cuts::facts::{note, pattern};
use crate::drive::{formatted, mount};

/// Each request takes a millisecond.
struct Slow;

impl Timing for Slow {
    fn submit(&mut self, now: terrace_env::Time, _: u64, _: &Command) -> Progress {
        Progress::Decided { start: now, end: now + Duration::from_millis(1) }
    }
}

/// A file of the catalog that is being written.
fn begun(fs: &Fs, kind: FileKind) -> Box<dyn FileWriter> {
    let options = CreateOptions { kind, ..crate::full::options(Rank::Log, 1, None) };
    let mut writer = fs.create(&CreateOptions { cause: Cause::Client, ..options }).expect("a file");
    writer.append(&pattern(writer.id().0, 0, 20_000)).expect("room");
    writer.sync().expect("a sync");
    let mut transaction = Transaction::new();
    transaction.create(writer.id(), note("begun"));
    fs.commit(transaction).expect("a commit");
    writer
}

fn seal(fs: &Fs, id: FileId) -> Result<(), StoreError> {
    let mut transaction = Transaction::new();
    transaction.seal(id, note("sealed"));
    fs.commit(transaction)
}

fn delete(fs: &Fs, id: FileId) -> Result<(), StoreError> {
    let mut transaction = Transaction::new();
    transaction.delete(id);
    fs.commit(transaction)
}

/// Commits the deletion of a finished file `micros` microseconds after the commit that seals it, or
/// before it if `micros` is negative. Returns whether the seal found the file.
fn meet(kind: FileKind, micros: i64) -> bool {
    let delay = Duration::from_micros(micros.unsigned_abs());
    runner::simulate(1, move || {
        let drive = formatted(Geometry::uniform(ByteCount::kib(256), 32), 1);
        let fs = mount(&drive);
        drive.set_timing(Some(Box::new(Slow)));
        let mut writer = begun(&fs, kind);
        writer.finish().expect("a finished file");
        let id = writer.id();
        let deletion = {
            let fs = Arc::clone(&fs);
            runner::spawn("deletion", move || {
                if micros > 0 {
                    runner::sleep(delay);
                }
                delete(&fs, id)
            })
        };
        if micros <= 0 {
            runner::sleep(delay);
        }
        let sealed = seal(&fs, id);
        drop(writer);
        deletion.join().expect("the file was there");
        assert!(matches!(sealed, Ok(()) | Err(StoreError::NotFound(_))), "{sealed:?}");
        assert!(fs.info(id).is_none(), "{kind:?} {micros}: the file is back");
        assert_eq!(fs.audit(), Vec::<String>::new(), "{kind:?} {micros}");
        fs.unmount();
        drop(fs);
        let fs = mount(&drive);
        assert!(fs.info(id).is_none(), "{kind:?} {micros}: the file is back after a mount");
        fs.unmount();
        sealed.is_ok()
    })
}

#[test]
fn a_file_that_is_deleted_while_it_is_sealed_stays_deleted() {
    for kind in [FileKind::Log, FileKind::Table, FileKind::Client] {
        let met: Vec<bool> = (-30..30).map(|step| meet(kind, step * 100)).collect();
        assert!(met.contains(&true) && met.contains(&false), "{kind:?}: {met:?}");
    }
}
