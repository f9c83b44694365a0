//! [`Readers`]: a list of all snapshots, scans, cursors and checkpoints; a salvage is listed as a
//! scan. Each of them may keep space, so when a store is short of space, [`SpaceHolders`] has the
//! number and the oldest age of each kind.
//!
//! - A reader is listed from [`Readers::begin`] until its [`Reading`] is dropped.
//! - The bytes that a reader keeps are not known. A snapshot keeps old entries in tables. The
//!   others keep files that are deleted meanwhile, and several readers may keep the same file.
//!
//! Threads: any. The list has its own lock, which is held for short accesses.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_env::store::{LogSpace, SpaceInfo, Store};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, MemoryLease, SeqNo, Time, runner};

use crate::limits::MOVED_FOR_SPACE_MAX;

/// Kind of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReaderKind {
    /// A snapshot.
    Snapshot,
    /// A scan.
    Scan,
    /// A cursor.
    Cursor,
    /// A checkpoint that is being copied.
    Checkpoint,
}

impl fmt::Display for ReaderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Snapshot => "snapshot",
            Self::Scan => "scan",
            Self::Cursor => "cursor",
            Self::Checkpoint => "checkpoint",
        })
    }
}

/// The current readers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderStats {
    /// Kind of the readers.
    pub kind: ReaderKind,
    /// Number of readers.
    pub count: u64,
    /// Age of the oldest, in nanoseconds.
    pub oldest_nanos: u64,
    /// The newest write that the oldest sees.
    pub oldest_sequence: u64,
}

impl fmt::Display for ReaderStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, count, sequence) = (self.kind, self.count, self.oldest_sequence);
        let seconds = Duration::from_nanos(self.oldest_nanos).as_secs_f64();
        let plural = if count == 1 { "" } else { "s, the oldest" };
        write!(f, "{count} {kind}{plural} of write {sequence}, {seconds:.1} s old")
    }
}

/// Holders of a store's space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceHolders {
    /// Use of space: of the tables' device, or of the log device if that is the full one.
    pub space: SpaceInfo,
    /// The log device, if that is the full one.
    #[serde(default)]
    pub log_device: Option<LogSpace>,
    /// Readers, which may keep pinned space, or old entries among the live ones.
    pub readers: Vec<ReaderStats>,
}

impl fmt::Display for SpaceHolders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SpaceInfo { capacity, live, dead, pinned, reserved, kept, for_puts, .. } = self.space;
        match self.log_device {
            Some(LogSpace { device, size, .. }) => {
                let journal = ByteCount(size.0.saturating_sub(capacity.0));
                write!(f, "of {size} of the log device, which is device {device}, {journal} are ")?;
                write!(f, "the journal's, with the superblock, and {live} are logs")?;
            }
            None => write!(f, "of {capacity}, {live} are live")?,
        }
        let parts = [
            (dead, "dead, in zones that are not emptied yet or as guards of tracks"),
            (pinned, "deleted and pinned by readers"),
            (reserved, "set aside for jobs and flushes that are due"),
            (kept, "kept for deletes, flushes, compaction and the journal"),
        ];
        for (bytes, what) in parts.into_iter().filter(|(bytes, _)| *bytes > ByteCount(0)) {
            write!(f, ", {bytes} {what}")?;
        }
        write!(f, "; puts can take {for_puts}")?;
        let share = ByteCount(live.0 / MOVED_FOR_SPACE_MAX);
        if self.log_device.is_none() && share.0 > 0 {
            write!(f, ", and more once up to {share} are deleted")?;
        }
        for (at, readers) in self.readers.iter().enumerate() {
            let lead = match (at, readers.count) {
                (0, 1) => "; there is ",
                (0, _) => "; there are ",
                _ => ", ",
            };
            write!(f, "{lead}{readers}")?;
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Listed {
    readers: BTreeMap<u64, (ReaderKind, SeqNo, Time)>,
    next: u64,
}

/// All current readers. Any number of threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readers(Arc<Mutex<Listed>>);

/// Approximate memory of a reader in the list.
pub(crate) const READING_BYTES: usize = 64;

/// A reader's place in the list, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Reading {
    readers: Readers,
    id: u64,
    /// Lease that counts its memory.
    _memory: Option<MemoryLease>,
}

impl Reading {
    /// The same, counted by a lease.
    pub(crate) fn counted(self, memory: MemoryLease) -> Self {
        // `Reading` implements `Drop`, so it is changed in place.
        let mut reading = self;
        reading._memory = Some(memory);
        reading
    }
}

impl Readers {
    /// Lists a reader that begins now and sees writes up to `sequence`.
    pub(crate) fn begin(&self, kind: ReaderKind, sequence: SeqNo) -> Reading {
        let now = runner::now();
        let mut listed = self.0.lock();
        let id = listed.next;
        listed.next += 1;
        listed.readers.insert(id, (kind, sequence, now));
        drop(listed);
        Reading { readers: self.clone(), id, _memory: None }
    }

    /// Number of scans and cursors.
    pub(crate) fn walks(&self) -> u64 {
        let is_walk = |kind| matches!(kind, ReaderKind::Scan | ReaderKind::Cursor);
        self.0.lock().readers.values().filter(|(kind, ..)| is_walk(*kind)).count() as u64
    }

    /// Holders of a store's space: of the log device's space if that is the full one.
    pub(crate) fn space_holders(&self, store: &dyn Store, of_logs: bool) -> SpaceHolders {
        let log_device = of_logs.then(|| store.log_space()).flatten();
        let space = log_device.map_or_else(|| store.space(), |log| log.space);
        SpaceHolders { space, log_device, readers: self.stats() }
    }

    /// The current readers, by kind.
    pub(crate) fn stats(&self) -> Vec<ReaderStats> {
        let now = runner::now();
        let mut kinds: BTreeMap<ReaderKind, ReaderStats> = BTreeMap::new();
        // In the order of their begin: the first of a kind is its oldest.
        for (kind, sequence, begun) in self.0.lock().readers.values() {
            let age = u64::try_from(now.since(*begun).as_nanos()).unwrap_or(u64::MAX);
            let (kind, oldest_sequence) = (*kind, sequence.0);
            let first = ReaderStats { kind, count: 0, oldest_nanos: age, oldest_sequence };
            kinds.entry(kind).or_insert(first).count += 1;
        }
        kinds.into_values().collect()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let ended = self.readers.0.lock().readers.remove(&self.id);
        debug_assert!(ended.is_some(), "a reader is listed until it ends");
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::DeviceId;

    use super::*;

    #[test]
    fn readers_are_listed_by_kind_with_the_oldest_of_each_until_they_end() {
        let readers = Readers::default();
        let first = readers.begin(ReaderKind::Scan, SeqNo(7));
        let second = readers.begin(ReaderKind::Scan, SeqNo(9));
        let snapshot = readers.begin(ReaderKind::Snapshot, SeqNo(8));
        let seen = |readers: &Readers| -> Vec<_> {
            readers.stats().iter().map(|r| (r.kind, r.count, r.oldest_sequence)).collect()
        };
        assert_eq!(seen(&readers), [(ReaderKind::Snapshot, 1, 8), (ReaderKind::Scan, 2, 7)]);
        let cursor = readers.begin(ReaderKind::Cursor, SeqNo(9));
        assert_eq!(readers.walks(), 3, "two scans and a cursor, and no snapshot");
        drop(cursor);
        assert_eq!(readers.walks(), 2);
        drop((first, snapshot));
        assert_eq!(seen(&readers), [(ReaderKind::Scan, 1, 9)]);
        drop(second);
        assert_eq!(seen(&readers), []);
    }

    #[test]
    fn the_holders_of_space_are_told_in_a_sentence() {
        let space = SpaceInfo {
            capacity: ByteCount::mib(256),
            live: ByteCount::mib(150),
            pinned: ByteCount::mib(20),
            kept: ByteCount::mib(12),
            ..SpaceInfo::default()
        };
        let of = |kind, count| ReaderStats {
            kind,
            count,
            oldest_nanos: 1_500_000_000,
            oldest_sequence: 42,
        };
        let readers = vec![of(ReaderKind::Snapshot, 1), of(ReaderKind::Scan, 3)];
        assert_eq!(
            SpaceHolders { space, log_device: None, readers }.to_string(),
            "of 256 MiB, 150 MiB are live, 20 MiB deleted and pinned by readers, 12 MiB \
             kept for deletes, flushes, compaction and the journal; puts can take 0 B, and more \
             once up to 6 MiB are deleted; there is 1 snapshot of write 42, 1.5 s old, 3 scans, \
             the oldest of write 42, 1.5 s old"
        );
        let space = SpaceInfo {
            capacity: ByteCount::mib(6),
            live: ByteCount::mib(2),
            kept: ByteCount::mib(4),
            ..space
        };
        let log = LogSpace { device: DeviceId(1), size: ByteCount::mib(8), space };
        assert_eq!(
            SpaceHolders { space, log_device: Some(log), readers: Vec::new() }.to_string(),
            "of 8 MiB of the log device, which is device 1, 2 MiB are the journal's, with the \
             superblock, and 2 MiB are logs, 20 MiB deleted and pinned by readers, 4 MiB kept for \
             deletes, flushes, compaction and the journal; puts can take 0 B"
        );
    }
}
