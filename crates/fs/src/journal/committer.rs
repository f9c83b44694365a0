//! Group commit of the journal, by [`GroupCommit`]: transactions are staged under its lock, and one
//! committer, the *leader*, writes those of the whole group without a lock.
//!
//! # Steps
//! 1. A commit stages its records on the catalog and adds them to the current group.
//! 2. The leader takes the group, and the next step of a roll if one is in flight, due or asked
//!    for. It flushes the devices if a transaction of the group asks for it. It writes the group,
//!    forced, and wakes the members.
//! 3. Still leading, it writes the step of the roll. Meanwhile commits join the next group.
//!
//! # Failure
//! - A transaction that cannot be staged fails alone, and changes nothing.
//! - After a failed write or step of a roll, or a failed flush for a group, the content of the
//!   medium is unknown. (A write that is tried again in another zone has not failed.) The journal
//!   then takes no more commits, and those that wait fail with `Stopped`. A group that was durable
//!   before is still acknowledged. The catalog can be read, and may include changes that were not
//!   acknowledged.
//! - The same holds if the leader panics.
//! - A journal that is only read refuses commits with `ReadOnly`.
//!
//! # Threads
//! Any number of actors may commit, and wait until their group is durable. They must hold no lock,
//! as the leader calls the device. Commits return in any order. A caller that needs the order of
//! staging takes a number in the closure of `commit_with`, which runs under the journal's lock.
//! Readers of the catalog see transactions that are staged and not yet durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::store::StoreError;
use terrace_env::sync::{CommitQueue, GroupCommit};
use terrace_env::wait::{WaitCause, WaitCounts, Waits};
use terrace_env::{FileId, ZoneId};

use super::journal_writer::JournalWriter;
use super::roll::{self, Roll, Step};
use crate::catalog::{Catalog, Effects, Record};

/// The journal of a mounted store, and its catalog. Commits are grouped. In addition to groups, a
/// commit waits for at most one step of a roll.
pub struct Journal {
    commits: GroupCommit<State>,
    next_file: AtomicU64,
    epoch: u32,
    waits: WaitCounts,
}

struct State {
    catalog: Catalog,
    /// The current group: the bytes of its records, and whether they need a flush.
    gathering: Vec<u8>,
    flush: bool,
    /// The number of the current group; all groups before `durable` are on the medium.
    group: u64,
    durable: u64,
    roll_wanted: bool,
    rolls: u64,
    /// Payload bytes of the last complete snapshot.
    snapshot: u64,
    zones: Vec<ZoneId>,
    refusal: Option<StoreError>,
}

impl Journal {
    /// A journal that takes commits.
    pub(super) fn new(catalog: Catalog, writer: JournalWriter, epoch: u32) -> Self {
        let zones = writer.tail.zones().collect();
        Self::with(catalog, Some(Box::new(writer)), zones, None, epoch)
    }

    /// A journal that is only read.
    pub(super) fn frozen(catalog: Catalog, zones: Vec<ZoneId>) -> Self {
        let epoch = catalog.next_epoch();
        Self::with(catalog, None, zones, Some(StoreError::ReadOnly("a commit")), epoch)
    }

    fn with(
        catalog: Catalog,
        writer: Option<Box<JournalWriter>>,
        zones: Vec<ZoneId>,
        refusal: Option<StoreError>,
        epoch: u32,
    ) -> Self {
        let next_file = AtomicU64::new(catalog.next_file().0);
        let snapshot = writer.as_ref().map_or(0, |writer| writer.snapshot);
        let state = State {
            catalog,
            gathering: Vec::new(),
            flush: false,
            group: 1,
            durable: 1,
            roll_wanted: false,
            rolls: 0,
            snapshot,
            zones,
            refusal,
        };
        let (commits, waits) = (GroupCommit::new(state, writer), WaitCounts::default());
        Self { commits, next_file, epoch, waits }
    }

    /// Looks at the catalog. The closure runs under the journal's lock: it must be short and touch
    /// no device.
    pub fn read<T>(&self, look: impl FnOnce(&Catalog) -> T) -> T {
        look(&self.commits.lock().catalog)
    }

    /// Gives out file ids from `first` on.
    pub(super) fn give_ids_from(&self, first: FileId) {
        self.next_file.fetch_max(first.0, Ordering::Relaxed);
    }

    /// A file id that no file has.
    pub fn new_file(&self) -> FileId {
        FileId(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// The epoch of this mount: of the frames of all logs written in it.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The zones that the journal takes up now.
    pub fn zones(&self) -> Vec<ZoneId> {
        self.commits.lock().zones.clone()
    }

    /// The bytes of the last complete snapshot.
    pub(crate) fn snapshot_bytes(&self) -> u64 {
        self.commits.lock().snapshot
    }

    /// Waits of transactions that another actor wrote.
    pub(crate) fn waits(&self) -> Waits {
        self.waits.read()
    }

    /// Number of rolls completed since the mount.
    pub fn rolls(&self) -> u64 {
        self.commits.lock().rolls
    }

    /// Applies a transaction and returns once it is durable. Blocks that it gives back may then be
    /// used again. With `covers_unflushed_data`, all writes that the devices have completed so far
    /// are made durable before it.
    pub fn commit(
        &self,
        records: Vec<Record>,
        covers_unflushed_data: bool,
    ) -> Result<Effects, StoreError> {
        self.commit_with(covers_unflushed_data, |_| Ok(records))
    }

    /// Like [`commit`](Self::commit), with records that are made from the catalog at the moment at
    /// which they are staged. The closure runs under the journal's lock.
    pub fn commit_with(
        &self,
        covers_unflushed_data: bool,
        make: impl FnOnce(&Catalog) -> Result<Vec<Record>, StoreError>,
    ) -> Result<Effects, StoreError> {
        let mut state = self.commits.lock();
        state.check()?;
        let mut records = make(&state.catalog)?;
        let effects = state.catalog.stage(&mut records)?;
        for record in &records {
            record.encode(&mut state.gathering);
        }
        state.flush |= covers_unflushed_data;
        let group = state.group;
        drop(state);
        self.await_group(group)?;
        Ok(effects)
    }

    /// Asks for a roll: the next commits carry it out, one step each.
    pub fn request_roll(&self) {
        self.commits.lock().roll_wanted = true;
    }

    /// Rolls now: returns when a snapshot with all earlier commits is in force.
    pub fn roll(&self) -> Result<(), StoreError> {
        let target = {
            let mut state = self.commits.lock();
            state.check()?;
            state.roll_wanted = true;
            state.rolls + 1
        };
        loop {
            let group = {
                let state = self.commits.lock();
                state.check()?;
                if state.rolls >= target {
                    return Ok(());
                }
                state.group
            };
            self.await_group(group)?;
        }
    }

    /// Records that the store is closed: commits the records, which end with
    /// [`Close`](Record::Close), and writes a superblock with the end of the journal. Frames
    /// missing before that end are then known to be lost.
    pub fn close(&self, make: impl FnOnce(&Catalog) -> Vec<Record>) -> Result<(), StoreError> {
        self.commit_with(false, |catalog| Ok(make(catalog)))?;
        self.while_leading(JournalWriter::vouch)
    }

    /// Writes a superblock that knows no device but the journal's. No record since the last
    /// snapshot may name another device.
    pub(crate) fn forget_others(&self) -> Result<(), StoreError> {
        self.while_leading(JournalWriter::forget_others)
    }

    /// Runs `work` between two groups of transactions.
    fn while_leading(
        &self,
        work: impl FnOnce(&mut JournalWriter) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.commits.leading(State::check, |writer| work(writer))?
    }

    /// Waits until a group is durable; leads if there is no leader.
    fn await_group(&self, group: u64) -> Result<(), StoreError> {
        self.commits.commit(
            self.commits.lock(),
            (&self.waits, WaitCause::Journal),
            |state| match state.durable > group {
                true => Some(Ok(())),
                false => state.check().err().map(Err),
            },
            |state, writer| state.take_group(writer),
            |lead, Group { number, records, flush, step }| {
                let written = lead.writer().write(&records, flush);
                lead.publish(|state| match &written {
                    Ok(()) => {
                        debug_assert_eq!(state.durable, number, "groups become durable in order");
                        state.durable = number + 1;
                    }
                    Err(error) => drop(state.stop(error)),
                });
                let Some(step) = step.filter(|_| written.is_ok()) else { return };
                let stepped = lead.writer().step(&step);
                lead.publish(|state| match stepped {
                    Ok(completed) => state.rolls += u64::from(completed),
                    Err(error) => drop(state.stop(&error)),
                });
            },
        )
    }
}

/// A group to be written, and the step of a roll after it.
struct Group {
    number: u64,
    records: Vec<u8>,
    flush: bool,
    step: Option<Step>,
}

impl CommitQueue for State {
    type Writer = Box<JournalWriter>;
    type Error = StoreError;

    fn lose_writer(&mut self) -> StoreError {
        let panicked = std::io::Error::other("a bug: its leader panicked");
        self.stop(&StoreError::io("a group of commits", panicked))
    }

    fn note_writer(&mut self, writer: &Box<JournalWriter>) {
        self.snapshot = writer.snapshot;
        self.zones = writer.tail.zones().collect();
    }
}

impl State {
    fn check(&self) -> Result<(), StoreError> {
        self.refusal.clone().map_or(Ok(()), Err)
    }

    fn stop(&mut self, error: &StoreError) -> StoreError {
        let stopped = || StoreError::Stopped(Arc::new(error.clone()));
        self.refusal.get_or_insert_with(stopped).clone()
    }

    /// Takes the current group, and begins the next one.
    fn take_group(&mut self, writer: &JournalWriter) -> Group {
        debug_assert!(self.durable <= self.group, "{} of {}", self.durable, self.group);
        let (records, number) = (std::mem::take(&mut self.gathering), self.group);
        let flush = std::mem::take(&mut self.flush);
        self.group += 1;
        debug_assert!(self.durable < self.group, "a group is taken before it is begun");
        Group { number, records, flush, step: self.next_step(writer) }
    }

    /// The step of a roll that is to follow the group that was just taken.
    fn next_step(&mut self, writer: &JournalWriter) -> Option<Step> {
        match writer.roll {
            Roll::Chunks { next, .. } => Some(roll::chunk(&self.catalog, next)),
            Roll::Idle => {
                let due = roll::is_due(writer.tail.since_head, writer.snapshot);
                let wanted = std::mem::take(&mut self.roll_wanted);
                (due || wanted).then(|| roll::head(writer.superblock.features, &self.catalog))
            }
        }
    }
}
