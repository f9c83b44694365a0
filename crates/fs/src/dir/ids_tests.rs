//! Tests of the ids of files in a directory.

use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::{CreateOptions, FileKind, PlacementHint, Rank, Store};
use terrace_env::{Cause, runner};

use super::volume::IDS;
use super::{DirOptions, DirStore, MemoryFiles};
use crate::Access;

/// Files that were not committed, at about the end of the ids that are set aside.
#[test]
fn no_id_is_given_out_twice_whenever_the_power_is_cut() {
    runner::simulate(1, || {
        let open = |files: &MemoryFiles| {
            let access = DirOptions { access: Access::ReadWrite };
            DirStore::open_on(Arc::new(files.clone()), access).expect("a store")
        };
        let new = CreateOptions {
            kind: FileKind::Client,
            hint: PlacementHint { level: None, stream: 0 },
            size: None,
            rank: Rank::Log,
            reservation: None,
            group: None,
            offload: false,
            cause: Cause::Client,
        };
        let files = MemoryFiles::new();
        let store = open(&files);
        for number in 0..2 * IDS + 4 {
            let id = store.create(&new).expect("a file").id();
            if number % IDS < 4 || number % IDS > IDS - 4 {
                let found = open(&files.power_cut(&mut Random::seeded(number)));
                let next = found.create(&new).expect("a file").id();
                assert!(next > id, "{next:?} after {id:?}");
            }
        }
    });
}
