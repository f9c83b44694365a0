//! Start of a journal: an empty one at format, or the recovered one at a mount for writing.
//!
//! # At mount
//! - If the end is clean, the journal goes on at the end.
//! - Otherwise a torn append may follow the end. The journal then goes on in a fresh zone with a
//!   new epoch, and the superblock records a *splice* from the old end to this zone. A replay then
//!   skips the bytes after the old end.
//! - If the superblock has a splice already, a whole snapshot may be written to fresh zones
//!   instead, and the superblock names its head. This is done if the journal is small, or if the
//!   superblock has no room for another splice. So a small store that crashes again and again needs
//!   only a few zones for its journal.
//!
//! In the last two cases an older superblock would lead to the old end, which looks like a torn
//! tail. The new superblock is therefore written twice, so that one copy may be lost.
//!
//! The first transaction of a mount says that its epoch is used, and has the records that the
//! caller passes, such as where recovered logs end. Until [`Journal::resume`] returns, no file may
//! be written.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{DeviceId, FileId, Uuid, reached};
use terrace_zone::Device;

use super::journal_writer::JournalWriter;
use super::roll::{self, Roll};
use super::tail::{Ground, Tail};
use super::{Journal, JournalSpace, Replayed};
use crate::catalog::{Catalog, Effects, Record};
use crate::superblock::{
    JournalHead, SPLICES_MAX, Splice, Superblock, SuperblockArea, write_twice,
};
use crate::{AddressSpace, ZoneGrid};

/// Sixteen million ids: files that one mount may create without a commit.
const IDS_PER_MOUNT_LOG2: u32 = 24;

/// The sequence of a store's first journal frame.
const FIRST_SEQUENCE: u64 = 1;

/// Makes a device an empty store: the journal's first snapshot, then the superblock. `options` are
/// the file system's own, kept in the superblock.
pub fn format(
    device: &Arc<dyn Device>,
    area: SuperblockArea,
    space: &Arc<dyn JournalSpace>,
    uuid: Uuid,
    options: Vec<u8>,
) -> Result<(), StoreError> {
    let grid = ZoneGrid::new(DeviceId::FIRST, device.geometry());
    let superblock = Superblock { options, ..Superblock::first(uuid, device.geometry(), &area) };
    format_as(device, area, space, Catalog::new(AddressSpace::zoned(grid)), superblock)
}

/// The same for the device of the journal of a store with this catalog. The superblock is completed
/// with the start of the journal.
pub(crate) fn format_as(
    device: &Arc<dyn Device>,
    mut area: SuperblockArea,
    space: &Arc<dyn JournalSpace>,
    mut catalog: Catalog,
    mut superblock: Superblock,
) -> Result<(), StoreError> {
    let ground = Ground::new(superblock.device, device);
    let epoch = catalog.next_epoch();
    catalog.stage(&mut [Record::Mount { epoch, next_file: catalog.next_file() }])?;
    let (tail, head) = write_snapshot(ground, space, &superblock, epoch, FIRST_SEQUENCE, &catalog)?;
    superblock.head = head;
    superblock.journal_end = tail.position().cursor.sequence;
    write_twice(&mut area, &mut superblock)
}

/// Writes a snapshot of the catalog to fresh zones, as the start of a new epoch.
fn write_snapshot(
    ground: Ground,
    space: &Arc<dyn JournalSpace>,
    superblock: &Superblock,
    epoch: u32,
    sequence: u64,
    catalog: &Catalog,
) -> Result<(Tail, JournalHead), StoreError> {
    let mut tail = Tail::fresh(ground, Arc::clone(space), superblock.uuid, epoch, sequence)?;
    let mut first = None;
    for (kind, payload) in roll::whole(superblock.features, catalog) {
        let written = tail.append(kind, &payload)?;
        first.get_or_insert(written);
    }
    let head = tail.head_at(first.unwrap_or(tail.position()));
    Ok((tail, head))
}

/// The first file id of a mount. No record names ids that an earlier mount gave out and never
/// committed. So each mount starts a range of its own, too large to be used up by such ids.
fn first_file(catalog: &Catalog, epoch: u32) -> FileId {
    catalog.next_file().max(FileId(u64::from(epoch) << IDS_PER_MOUNT_LOG2))
}

/// A mount for writing that is about to go on with the journal.
struct Start<'a> {
    ground: Ground,
    /// The other devices of the store.
    others: Vec<Arc<dyn Device>>,
    space: &'a Arc<dyn JournalSpace>,
    epoch: u32,
    replayed: Replayed,
}

impl Start<'_> {
    /// Whether a splice is better than a new snapshot. A splice costs a zone that stays half used
    /// until the next roll; a snapshot costs its bytes.
    fn is_worth_a_splice(&self) -> bool {
        let splices = self.replayed.superblock.splices.len();
        splices == 0 || splices < SPLICES_MAX && !roll::is_cheap(self.replayed.since_head)
    }

    fn right_there(self) -> (JournalWriter, Catalog) {
        let Replayed { area, superblock, catalog, end, zones, .. } = self.replayed;
        let device = Arc::clone(&self.ground.device);
        let space = Arc::clone(self.space);
        let mut tail = Tail::new(self.ground, space, superblock.uuid, end, zones);
        tail.since_head = self.replayed.since_head;
        let (others, roll, snapshot) = (self.others, Roll::Idle, self.replayed.snapshot);
        (JournalWriter { device, others, tail, area, superblock, roll, snapshot }, catalog)
    }

    fn spliced(self) -> Result<(JournalWriter, Catalog), StoreError> {
        let Replayed { mut area, mut superblock, catalog, end, zones, orphans, .. } = self.replayed;
        let device = Arc::clone(&self.ground.device);
        let (space, epoch) = (Arc::clone(self.space), self.epoch);
        let mut tail = Tail::splice(self.ground, space, superblock.uuid, end, epoch, zones)?;
        tail.since_head += self.replayed.since_head;
        let at = tail.zone_start();
        superblock.splices.push(Splice { sequence: end.cursor.sequence, at, epoch });
        superblock.journal_end = tail.position().cursor.sequence;
        write_twice(&mut area, &mut superblock)?;
        orphans.iter().for_each(|orphan| self.space.release(orphan.zone));
        let (others, roll, snapshot) = (self.others, Roll::Idle, self.replayed.snapshot);
        Ok((JournalWriter { device, others, tail, area, superblock, roll, snapshot }, catalog))
    }

    fn anew(self) -> Result<(JournalWriter, Catalog), StoreError> {
        let Replayed { mut area, mut superblock, catalog, end, zones, orphans, .. } = self.replayed;
        let device = Arc::clone(&self.ground.device);
        let sequence = end.cursor.sequence;
        let (tail, head) =
            write_snapshot(self.ground, self.space, &superblock, self.epoch, sequence, &catalog)?;
        superblock.head = head;
        superblock.journal_end = tail.position().cursor.sequence;
        superblock.splices.clear();
        write_twice(&mut area, &mut superblock)?;
        zones.iter().chain(&orphans).for_each(|old| self.space.release(old.zone));
        let (others, roll, snapshot) = (self.others, Roll::Idle, tail.since_head);
        Ok((JournalWriter { device, others, tail, area, superblock, roll, snapshot }, catalog))
    }
}

impl Journal {
    /// Goes on with a journal, and commits the first records of this mount: that its epoch is used,
    /// and `first` (the ends of recovered logs, made with [`Replayed::epoch`]). Nothing else may be
    /// written to the device before this returns. `others` are the devices of the store that the
    /// journal is not on: they are flushed before a transaction that needs their data durable.
    pub fn resume(
        device: &Arc<dyn Device>,
        others: Vec<Arc<dyn Device>>,
        replayed: Replayed,
        space: &Arc<dyn JournalSpace>,
        first: Vec<Record>,
    ) -> Result<(Self, Effects), StoreError> {
        let epoch = replayed.epoch();
        let next_file = first_file(&replayed.catalog, epoch);
        let ground = Ground::new(replayed.superblock.device, device);
        let start = Start { ground, others, space, epoch, replayed };
        if !start.replayed.orphans.is_empty() {
            reached!("fs: a torn append led the journal to another zone");
        }
        let (writer, catalog) = if start.replayed.is_clean {
            reached!("fs: the journal goes on where it ended");
            start.right_there()
        } else if start.is_worth_a_splice() {
            reached!("fs: the journal goes on by a splice");
            start.spliced()?
        } else {
            reached!("fs: the journal goes on by a new snapshot");
            start.anew()?
        };
        let journal = Self::new(catalog, writer, epoch);
        journal.give_ids_from(next_file);
        let mut records = vec![Record::Mount { epoch, next_file }];
        records.extend(first);
        let effects = journal.commit(records, false)?;
        Ok((journal, effects))
    }

    /// A journal that is only read: it writes nothing, and refuses commits.
    #[must_use]
    pub fn read_only(replayed: Replayed) -> Self {
        let zones = replayed.journal_zones().collect();
        Self::frozen(replayed.catalog, zones)
    }
}
