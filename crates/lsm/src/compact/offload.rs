//! Write-offloading: while a compaction runs, flushes write to the offload device of the store, if
//! it has one, so that they do not compete with the compaction for the device of the tables
//! (Pitchumani, PhD thesis, section 5.2).
//!
//! 1. A flush that begins while a compaction is in flight, or is being chosen, asks for the offload
//!    device. Bytes for which it has no space go to the usual place of tables.
//! 2. A merge reads offloaded tables from the offload device, and writes its own to the device of
//!    the tables. So compaction moves offloaded data away.
//! 3. A move changes no bytes, so an offloaded table would stay. Before a plan moves such a table,
//!    a merge rewrites the table to the same place of the tree. Then the decider is asked again. If
//!    there is no space for that, the table is moved and stays on the offload device.
//!
//! Threads: any. The caller holds no lock, because an index may have to be read from the device.

use terrace_env::ByteCount;
use terrace_env::store::{Rank, Store};
use terrace_policy::{Cut, Input, Merge, Plan, Route};

use crate::Error;
use crate::tree::Version;

/// Whether a flush that begins now uses the offload device. `compacting`: a compaction is in
/// flight.
pub(crate) fn offloads(store: &dyn Store, compacting: bool) -> bool {
    compacting && store.offload_space().is_some()
}

/// The merge that rewrites the first offloaded table of a plan's moves; `None` if the plan moves
/// none.
pub(super) fn unloading(
    store: &dyn Store,
    version: &Version,
    plan: &Plan,
    table_size: ByteCount,
) -> Result<Option<Merge>, Error> {
    let moves = match plan {
        Plan::Merge(merge) => &merge.moves,
        Plan::TrivialMove(moves) => moves,
    };
    if store.offload_space().is_none() {
        return Ok(None);
    }
    let stays = |file| store.is_offloaded(file);
    let offloaded = moves.iter().find(|one| one.to.is_some() && stays(one.part.file));
    let Some(moved) = offloaded else { return Ok(None) };
    let segment = version.part(moved.from, &moved.part)?;
    let size = ByteCount(segment.size.0.max(table_size.0));
    match store.reserve(Rank::Compaction, size) {
        Err(error) if error.is_space() => return Ok(None),
        reserved => drop(reserved?),
    }
    let stream = segment.table.stream();
    let inputs = vec![Input { place: moved.from, parts: vec![moved.part.clone()] }];
    let routes = vec![Route { end: None, to: moved.from, stream, cut: Cut::at(size) }];
    Ok(Some(Merge { inputs, routes, moves: Vec::new(), set: false }))
}
