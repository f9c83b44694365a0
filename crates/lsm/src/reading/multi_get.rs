//! Reading several keys at once, as they were at one moment.
//!
//! 1. One view and one sequence serve all keys.
//! 2. The keys are looked up in the memtables, then in run after run, from the newest to the
//!    oldest. A key that a place knows of is not looked up further down.
//! 3. In each run the keys come in their order, and so do its tables and their blocks: a disk reads
//!    in one direction, and a block that holds several of the keys is read once.
//!
//! Blocks are read one after the other, because a reader of a file cannot submit a read yet.

use bytes::Bytes;
use terrace_env::SeqNo;

use crate::cost;
use crate::key::{self, KeySpaceId};
use crate::memtable::Found;
use crate::shared::Shared;
use crate::table::PointReads;
use crate::tree::{Sought, View};
use crate::{Error, ReadOptions};

/// A key that no place so far knows of, and its place among the keys that were asked for.
struct Left<'a> {
    at: usize,
    sought: Sought<'a>,
}

impl Shared {
    /// Value of each of the keys, in their order; `None` for a key without one.
    pub(crate) fn multi_get(
        &self,
        space: KeySpaceId,
        keys: &[&[u8]],
        at: Option<SeqNo>,
        options: ReadOptions,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        let view = self.tree.view();
        view.closed.check()?;
        view.spaces.check_read(space)?;
        let sequence = at.unwrap_or_else(|| self.tree.visible());
        self.counters.gets.add(keys.len() as u64);
        let seek_keys: Vec<_> =
            keys.iter().map(|key| key::seek_key(space, key, sequence)).collect();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&at| keys[at]);
        let (mut found, mut left) = (vec![None; keys.len()], Vec::new());
        for at in order {
            cost::charge_get();
            let seek_key = &seek_keys[at];
            match view.memtables().find_map(|memtable| memtable.get(seek_key)) {
                Some(known) => found[at] = known.value(),
                None => left.push(Left { at, sought: Sought::new(seek_key) }),
            }
        }
        let searched = search_runs(&view, left, &mut found, options);
        self.counters.tables_searched.add(searched.map_err(|error| view.closed.explain(error))?);
        Ok(found)
    }
}

/// Looks the keys up in all runs; returns how many tables were searched.
fn search_runs(
    view: &View,
    mut left: Vec<Left<'_>>,
    found: &mut [Option<Bytes>],
    options: ReadOptions,
) -> Result<u64, Error> {
    let (mut reads, mut searched) = (PointReads::several(options), 0);
    for (_, run) in view.version.places() {
        let mut further = Vec::with_capacity(left.len());
        for mut key in left {
            match run.get(&mut key.sought, &mut reads)? {
                Some(known) => {
                    searched += u64::from(key.sought.searched());
                    found[key.at] = Found::value(known);
                }
                None => further.push(key),
            }
        }
        left = further;
        if left.is_empty() {
            break;
        }
    }
    let absent = left.iter().map(|key| u64::from(key.sought.searched()));
    Ok(searched + absent.sum::<u64>())
}
