//! A client's file that is deleted while its writer goes on. Explored: chance, from the seed,
//! decides which actor goes on wherever a thread could be interrupted.
//!
//! Built with debug assertions only.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::runner::{self, SimulationOptions};
use terrace_env::store::{
    CreateOptions, FileKind, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, test_seeds};
use terrace_zone::Geometry;

use crate::cuts::facts::note;
use crate::drive::{formatted, mount};
use crate::full::delete;

/// The writer replaces the last, partial block of a synced file at each sync. The file then has a
/// block that the catalog does not know yet, and the catalog one that the file does not need.
fn delete_while_written(seed: u64) {
    SimulationOptions::seeded(seed).explore().run(|| {
        let fs = mount(formatted(Geometry::uniform(ByteCount::mib(1), 64), seed));
        let options = CreateOptions {
            kind: FileKind::Client,
            hint: PlacementHint::default(),
            size: None,
            rank: Rank::Log,
            reservation: None,
            group: None,
            offload: false,
            cause: Cause::Client,
        };
        let mut writer = fs.create(&options).expect("a file");
        let id = writer.id();
        let mut transaction = Transaction::new();
        transaction.create(id, note("begun"));
        fs.commit(transaction).expect("a commit");
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
        let remove = runner::spawn("deletion", move || delete(&actor, &[id]));
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
