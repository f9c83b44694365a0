//! The size of a run's log device: a plain device in memory for the journal and all logs, where
//! these are not among the tables.
//!
//! The device should not become full: the engine would end a log early, and the run would differ
//! from one with a larger device. So the size is a generous estimate of the data on it at once:
//!
//! - *Logs.* There is one for the active memtable, [`memtables_max`](StorePlan::memtables_max) for
//!   immutable ones, one that was just flushed, and the next one. Each counts three times its
//!   bytes, because space for a log is claimed before it is written.
//! - *Padding.* The bytes of one write are padded to a block. If entries may be written alone, each
//!   counts a block and its heads more than its bytes: if some writes are synced, if the log has a
//!   buffer, if it is not [gathered](LogWrites::Gathered) and has no chunks, or if a phase that
//!   writes also reads. Otherwise padding counts as half of the entries and a block.
//! - *Journal.* It counts four snapshots and 5 MiB. A snapshot has a record for each table, with
//!   keys. Tables are counted as a quarter of the usual size, or of a memtable if that is smaller,
//!   because a compaction may end them early.

use terrace::{ByteCount, System};

use super::{LogWrites, PhasePlan, PlanError, StorePlan};
use crate::workload::Preset;

/// Blocks of the file system.
const BLOCK: u64 = 4 << 10;
/// The least that an entry takes of a memtable, in addition to key and value: of its record 8
/// bytes, and 12 for key space, sequence and kind; and of a leaf of the tree more than 12.
const ENTRY_LEAST: u64 = 32;
/// Heads of a frame and of a batch, at most, in addition to the entry's bytes in a memtable.
const HEADS: u64 = 64;
/// The part of a log that is padding, at most, if entries are written together.
const PADDING_PART: u64 = 2;
/// Logs in addition to those of immutable memtables: of the active memtable, of one that was just
/// flushed, and the next one.
const LOGS_BESIDE: u64 = 3;
/// Claim of a preallocated log, as a multiple of the log before: 17/8 of 17/16, rounded up.
const PREALLOCATED: u64 = 3;
/// Tables are this part of the usual size on average, or larger.
const TABLE_PART: u64 = 4;
/// A file in a snapshot of the journal, but for its keys.
const RECORD: u64 = 256;
/// The journal without its snapshots, and the superblock: in stretches of a MiB.
const JOURNAL_BESIDE: u64 = 5 << 20;

/// The size of the log device of a store whose tables have `space` bytes on the drive.
pub(super) fn size(
    store: &StorePlan,
    phases: &[PhasePlan],
    space: ByteCount,
) -> Result<ByteCount, PlanError> {
    let logs = logs_at_once(store) * PREALLOCATED * log(store, phases)?;
    let key = phases.iter().map(|phase| phase.key_size as u64).max().unwrap_or(0);
    let table = store.system.parse::<System>()?.table_size.map_or(u64::MAX, |size| size.0);
    let table = (table.min(store.memtable_size) / TABLE_PART).max(BLOCK);
    let snapshot = space.0 / table * (RECORD + 4 * key);
    let bytes = logs + 4 * snapshot + JOURNAL_BESIDE;
    Ok(ByteCount(bytes.next_multiple_of(1 << 20)))
}

/// Bytes of entries in all logs together, at most: about the memory of a log device. Blocks
/// of a deleted log are written again by the next.
pub(super) fn logs(store: &StorePlan) -> u64 {
    logs_at_once(store) * store.memtable_size
}

fn logs_at_once(store: &StorePlan) -> u64 {
    store.memtables_max as u64 + LOGS_BESIDE
}

/// The bytes of one log, at most.
fn log(store: &StorePlan, phases: &[PhasePlan]) -> Result<u64, PlanError> {
    let waiting = store.log_writes != LogWrites::Gathered && store.log_chunk == 0;
    let is_synced = store.synced || store.synced_every.is_some() || store.log_buffer.is_some();
    let mut alone = is_synced || waiting;
    let (mut least, mut most, mut clients, mut writes) = (u64::MAX, 0, 0, 0);
    for phase in phases {
        let (preset, values) = (phase.preset()?, phase.values()?);
        if !preset.writes() {
            continue;
        }
        alone |= preset.reads();
        let deletes = [Preset::DeleteRandom, Preset::OverwriteDelete, Preset::Queue];
        let value_least = if deletes.contains(&preset) { 0 } else { values.min() };
        let entry = |value: u32| ENTRY_LEAST + phase.key_size as u64 + u64::from(value);
        least = least.min(entry(value_least));
        most = most.max(entry(values.max()));
        clients = clients.max(u64::from(phase.clients));
        writes += phase.operations;
    }
    // The group that fills the memtable may go beyond.
    let filled = store.memtable_size + clients * most;
    let padding = if alone {
        (filled / least).min(writes) * (BLOCK + HEADS)
    } else {
        filled / PADDING_PART + BLOCK
    };
    Ok(filled + padding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::run::{RunChoice, RunPlan};

    /// The load of BlueFS's figures at full scale, with log and metadata in conventional zones.
    const LOAD: &str = r#"
        title = "a load"
        source = "none"
        about = "for a test"
        drive = "hgst-hsh721414al"
        space = "256GiB"
        systems = ["bluefs"]
        sample_every = "1 s"
        store = { memtable_size = "256MiB", memtables_max = 2, log = "conventional" }
        [[phase]]
        workload = "fillrandom"
        operations = 150_000_000
        key_size = 20
        value_size = "200"
    "#;

    fn plan(text: &str) -> Result<RunPlan, PlanError> {
        let experiment = Experiment::parse("test", "test.toml", text).unwrap();
        let scale = "1".parse().unwrap();
        RunPlan::new(&experiment, RunChoice { system: "bluefs", variant: None, scale, seed: 1 })
    }

    fn size_of(text: &str) -> ByteCount {
        let plan = plan(text).unwrap();
        size(&plan.store, &plan.phases, ByteCount::gib(256)).unwrap()
    }

    #[test]
    fn logs_of_large_memtables_fit_into_conventional_zones() {
        // A part of them would do, as long as entries are written together.
        let gathered = size_of(LOAD);
        assert!(gathered > ByteCount::gib(4) && gathered < ByteCount(7600 << 20), "{gathered}");
        // If each takes a block, a log of 256 MiB has a million of them.
        let waiting = size_of(&LOAD.replace("log =", "log_writes = \"waiting\", log ="));
        assert!(waiting > ByteCount::gib(60) && waiting < ByteCount::gib(130), "{waiting}");
        // No more than all that is written.
        let few = LOAD.replace("150_000_000", "150_000").replace("log =", "synced = true, log =");
        assert!(size_of(&few) < ByteCount::gib(14), "{}", size_of(&few));
        // Each entry of the smallest size, written between reads, takes a block, too.
        let small = LOAD.replace("fillrandom", "ycsb-a").replace("\"200\"", "\"16-200\"");
        let refused = plan(&small).unwrap_err().to_string();
        assert!(refused.contains("in conventional zones: expected at most 130.8 GiB"), "{refused}");
    }
}
