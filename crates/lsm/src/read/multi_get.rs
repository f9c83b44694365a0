//! Reads several keys at once, as they were at one moment. The keys may come in any order, and more
//! than once; the values are returned in the order of the keys.
//!
//! 1. All keys are looked up in the memtables, with one view, sequence number and date.
//! 2. The remaining keys go on in key order, in groups. For each key of a group, the read of a
//!    block is submitted, in the first run whose filter admits the key, unless the block is in
//!    memory. So a flash drive works on many blocks at a time. A group ends when [`READS_MAX`]
//!    reads are in flight.
//!    If the store does not queue reads, none is submitted, and all keys are one group.
//! 3. The keys of the group are looked up in run after run, from the newest to the oldest, until a
//!    run knows the key.
//!
//! Keys with operands come last, one by one.
//!
//! Some reads are not submitted ahead: for example of an index that is not in memory, or of a
//! further run if a filter was wrong. These are waited for one by one.
//!
//! An error of one key is the error of the whole call. Any thread may call; the call may wait for
//! the device, so its caller holds no lock.

use bytes::Bytes;
use terrace_env::{Date, SeqNo, runner};

use super::reader::Reader;
use super::search::Search;
use crate::cost;
use crate::key::{self, KeySpaceId};
use crate::memtable::Found;
use crate::table::PointReads;
use crate::tree::{Sought, View};
use crate::{Error, ReadOptions};

/// The most reads in flight. Each read holds the memory of a block.
const READS_MAX: usize = 32;

/// A key without an answer so far, and its index among the keys of the call.
struct Left<'a> {
    at: usize,
    sought: Sought<'a>,
    search: Search<'a>,
    /// Whether a run has an answer.
    is_known: bool,
}

impl Reader {
    /// Value of each of the keys, in their order; `None` for a key without one.
    pub(crate) fn multi_get(
        &self,
        space: KeySpaceId,
        keys: &[&[u8]],
        at: Option<SeqNo>,
        options: ReadOptions,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        let (view, sequence) = self.tree.view_at(at);
        view.closed.check()?;
        view.spaces.check_read(space)?;
        let date = runner::date();
        self.counters.got(keys.len() as u64);
        let seek_keys: Vec<_> =
            keys.iter().map(|key| key::seek_key(space, key, sequence)).collect();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&at| keys[at]);
        let (mut found, mut left) = (vec![None; keys.len()], Vec::new());
        // Keys with operands are read one by one at the end.
        let mut chained = Vec::new();
        let copy = |value: &[u8]| self.memory.large_buffers.copy_of(value);
        for at in order {
            cost::charge_get();
            let seek_key = &seek_keys[at];
            match view.memtables().find_map(|memtable| memtable.get(seek_key, copy)) {
                Some(Found::Operand(..)) => chained.push(at),
                Some(known) => found[at] = known.value_at(date),
                None => {
                    let (sought, search) = (Sought::new(seek_key), Search::new(self));
                    left.push(Left { at, sought, search, is_known: false });
                }
            }
        }
        let searched = search_runs(&view, left, &mut found, &mut chained, (options, date));
        searched.map_err(|error| view.closed.explain(error))?;
        debug_assert!(chained.iter().all(|at| found[*at].is_none()), "a key has one answer");
        for at in chained {
            let combined = self.combined(&view, (space, keys[at]), sequence, (options, date))?;
            found[at] = Found::of(combined).value_at(date);
        }
        Ok(found)
    }
}

/// Looks the keys up in all runs.
fn search_runs(
    view: &View,
    mut left: Vec<Left<'_>>,
    found: &mut [Option<Bytes>],
    chained: &mut Vec<usize>,
    (options, date): (ReadOptions, Date),
) -> Result<(), Error> {
    let mut reads = PointReads::several(options);
    let queues = view.version.places().any(|(_, run)| run.queues_reads());
    let mut rest = &mut left[..];
    while !rest.is_empty() {
        let mut count = 0;
        while count < rest.len() && (count == 0 || reads.left() < READS_MAX) {
            if queues {
                submit(view, &mut rest[count].sought, &mut reads);
            }
            count += 1;
        }
        let (keys, further) = rest.split_at_mut(count);
        for (place, run) in view.version.places() {
            for key in keys.iter_mut().filter(|key| !key.is_known) {
                let searched = |table: &_| key.search.searched(place.level, table);
                let known = run.get(&mut key.sought, &mut reads, searched)?;
                if let Some(known) = known {
                    match known {
                        Found::Operand(..) => chained.push(key.at),
                        known => found[key.at] = known.value_at(date),
                    }
                    key.is_known = true;
                }
            }
        }
        debug_assert_eq!(reads.left(), 0, "a block was read that no key needed");
        rest = further;
    }
    Ok(())
}

/// Submits the read of a key's block in the first run that may hold the key.
fn submit(view: &View, sought: &mut Sought<'_>, reads: &mut PointReads) {
    let mut places = view.version.places();
    let _ = places.find(|(_, run)| run.submit(sought, reads));
}
