//! A directory on a disk of the host that becomes full.

use terrace_env::store::{Annotation, FileKind, Rank, StoreError, Transaction};
use terrace_env::{ByteCount, FileId, Store};
use terrace_fs::dir::MemoryFiles;

use super::world::{create, open, sealed};

/// Writes clients' files of a size until one is refused; returns those that were written, and the
/// room that the refusal tells.
fn fill(store: &std::sync::Arc<dyn Store>, size: usize) -> (Vec<FileId>, ByteCount) {
    let mut written = Vec::new();
    loop {
        let mut writer = create(store, FileKind::Client);
        match writer.append(&vec![7; size]) {
            Ok(()) => {}
            Err(StoreError::NoSpace { rank: Rank::Log, available, on_host: true, .. }) => {
                assert_eq!(writer.len(), 0, "a refused append has no effect");
                return (written, available);
            }
            Err(other) => panic!("{other}"),
        }
        writer.finish().expect("a finish");
        let mut transaction = Transaction::new();
        transaction.seal(writer.id(), Annotation::default());
        store.commit(transaction).expect("a commit");
        written.push(writer.id());
        assert!(written.len() < 1_000, "the disk never gets full");
    }
}

#[test]
fn clients_files_leave_the_room_that_deletes_need() {
    for size in [50_000, 400_000, 3_000_000] {
        let capacity = ByteCount::mib(40);
        let files = MemoryFiles::new().with_capacity(capacity);
        let store = open(&files).expect("an empty store");
        let (written, available) = fill(&store, size);
        assert!(available.0 < size as u64, "{available} were left for {size} bytes");
        // Twenty MiB are for the ranks above, and a look at the room holds for 256 KiB.
        let left = capacity.0 - (written.len() * size) as u64;
        assert!((19 << 20..24 << 20).contains(&left), "{left} bytes left by files of {size}");
        // A table, which the engine has reserved for, is written all the same.
        sealed(&store, &vec![8; 1 << 20]);
        let mut transaction = Transaction::new();
        for id in &written {
            transaction.delete(*id);
        }
        store.commit(transaction).expect("deletes");
        assert!(fill(&store, size).0.len() + (2 << 20) / size >= written.len());
    }
}
