//! A client's file that is deleted while its writer goes on. Explored: chance, from the seed,
//! decides which actor goes on wherever a thread could be interrupted.
//!
//! Built with debug assertions only.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::runner::{self, SimulationOptions};
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, test_seeds};
use terrace_fs::Fs;
use terrace_zone::Geometry;

use crate::cuts::facts::note;
use crate::drive::{formatted, mount};
use crate::full::delete;

/// Files that are deleted by the same transaction: the more, the longer it takes to free blocks.
const OTHERS: usize = 8;

fn create(fs: &Fs, kind: FileKind) -> Box<dyn FileWriter> {
    let options = CreateOptions {
        kind,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    };
    let mut writer = fs.create(&options).expect("a file");
    writer.append(&[7; 100]).expect("an append");
    writer
}

/// The writer replaces the last, partial block of a synced file at each sync. Until the sync ends,
/// the catalog has a block that the file does not need any more.
fn delete_while_written(seed: u64) {
    SimulationOptions::seeded(seed).explore().run(|| {
        let fs = mount(formatted(Geometry::uniform(ByteCount::mib(1), 64), seed));
        let mut writer = create(&fs, FileKind::Client);
        let mut others: Vec<_> = (0..OTHERS).map(|_| create(&fs, FileKind::Table)).collect();
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), note("begun"));
        for other in &mut others {
            other.finish().expect("a table");
            transaction.seal(other.id(), note("sealed"));
        }
        fs.commit(transaction).expect("a commit");
        let ids: Vec<FileId> = [&writer].into_iter().chain(&others).map(|it| it.id()).collect();
        drop(others);
        writer.sync().expect("a sync");
        let write = {
            let mut random = Random::seeded(seed);
            runner::spawn("writer", move || {
                loop {
                    let bytes = vec![7; random.random_range(1..9000)];
                    match writer.append(&bytes).and_then(|()| writer.sync()) {
                        Ok(()) => {}
                        Err(StoreError::NotFound(_)) => return,
                        Err(error) => panic!("seed {seed}: {error}"),
                    }
                }
            })
        };
        let actor = Arc::clone(&fs);
        let remove = runner::spawn("deletion", move || delete(&actor, &ids));
        remove.join();
        write.join();
        assert_eq!(fs.audit(), Vec::<String>::new(), "seed {seed}");
        let space = fs.space();
        assert_eq!((space.live, space.pinned), Default::default(), "seed {seed}");
        fs.unmount();
    });
}

#[test]
fn a_file_that_is_deleted_while_it_is_written_leaves_no_block() {
    test_seeds(300).for_each(delete_while_written);
}
