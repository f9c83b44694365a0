//! [`JournalWriter`]: the writing part of a group commit. It flushes the devices if a transaction
//! asks for it, then appends the group to the journal. It also carries out the steps of a roll.
//!
//! The last step of a roll writes the superblock, and then releases the zones that lie wholly
//! before the new head. The writer also writes a superblock when the store is closed (`vouch`), and
//! when the store gives up its other devices (`forget_others`).
//!
//! # Threads
//! One actor at a time has the writer, and must hold no lock: its calls wait for the device. After
//! a write, a flush or a step that failed, nothing more may be written.

use std::sync::Arc;

use terrace_env::Cause;
use terrace_env::store::StoreError;
use terrace_zone::{Device, Op, Request};

use super::payload::kind;
use super::roll::{Roll, Step};
use super::tail::Tail;
use crate::canary::{self, Rule};
use crate::superblock::{Features, MountMark, Superblock, SuperblockArea, write_twice};

/// State of the writing part. One actor at a time has it.
pub(super) struct JournalWriter {
    pub(super) device: Arc<dyn Device>,
    /// The devices of the store that the journal is not on.
    pub(super) others: Vec<Arc<dyn Device>>,
    pub(super) tail: Tail,
    pub(super) area: SuperblockArea,
    pub(super) superblock: Superblock,
    pub(super) roll: Roll,
    /// Payload bytes of the last complete snapshot.
    pub(super) snapshot: u64,
}

impl JournalWriter {
    /// Writes a group of transactions; durable when this returns.
    pub(super) fn write(&mut self, group: &[u8], flush: bool) -> Result<(), StoreError> {
        if flush && !canary::is_broken(Rule::JournalDurableBeforeAck) {
            self.flush_all()?;
        }
        if group.is_empty() {
            return Ok(());
        }
        self.tail.append(kind::TRANSACTIONS, group).map(drop)
    }

    /// Makes the completed writes of all devices durable. All devices flush at the same time.
    fn flush_all(&self) -> Result<(), StoreError> {
        let flush = || Request { op: Op::Flush, cause: Cause::Journal };
        let others: &[_] =
            if canary::is_broken(Rule::OtherDevicesFlushed) { &[] } else { &self.others };
        let all = std::iter::once(&self.device).chain(others);
        let under_way: Vec<_> = all.map(|device| (device, device.submit(flush()))).collect();
        let ended = under_way.into_iter().map(|(device, ticket)| device.wait(ticket));
        // Each flush is waited for, even if another one fails.
        let results: Vec<_> = ended.collect();
        let failed = results.into_iter().find_map(Result::err);
        failed.map_or(Ok(()), |error| Err(StoreError::io("flush before a commit", error)))
    }

    /// Writes a superblock with the durable end of the journal. Frames missing before that end are
    /// then lost frames, not a torn tail.
    pub(super) fn vouch(&mut self) -> Result<(), StoreError> {
        let end = self.tail.position().cursor.sequence;
        debug_assert!(
            self.superblock.head.sequence <= end,
            "the journal ends at {end}, before {:?}",
            self.superblock.head
        );
        self.superblock.journal_end = end;
        self.area.write(&mut self.superblock)
    }

    /// Writes a superblock of a store on the journal's device alone.
    pub(super) fn forget_others(&mut self) -> Result<(), StoreError> {
        self.superblock.devices = 1;
        self.superblock.members.clear();
        self.superblock.marks = [MountMark::default(); 2];
        self.superblock.features.incompat &= !Features::OFFLOAD;
        self.superblock.journal_end = self.tail.position().cursor.sequence;
        write_twice(&mut self.area, &mut self.superblock)
    }

    /// Carries out a step of a roll; returns whether it completed the roll.
    pub(super) fn step(&mut self, step: &Step) -> Result<bool, StoreError> {
        let (mut roll, since_head) = (self.roll, self.tail.since_head);
        for (kind, payload) in &step.payloads {
            let written = self.tail.append(*kind, payload)?;
            roll = match roll {
                Roll::Idle => {
                    let head = self.tail.head_at(written);
                    let next = step.next.unwrap_or_default();
                    Roll::Chunks { head, since_head, next, bytes: 0 }
                }
                Roll::Chunks { head, since_head, next, bytes } => {
                    let next = step.next.unwrap_or(next);
                    Roll::Chunks { head, since_head, next, bytes: bytes + payload.len() as u64 }
                }
            };
        }
        self.roll = roll;
        let Roll::Chunks { head, since_head, bytes, .. } = roll else {
            return Ok(false);
        };
        if step.next.is_some() {
            return Ok(false);
        }
        debug_assert!(
            self.superblock.head.sequence < head.sequence,
            "a roll goes back from {} to {}",
            self.superblock.head.sequence,
            head.sequence
        );
        debug_assert!(since_head <= self.tail.since_head, "{since_head} bytes since a roll's head");
        self.superblock.head = head;
        self.superblock.splices.retain(|splice| splice.sequence > head.sequence);
        if canary::is_broken(Rule::SuperblockBeforeRelease) {
            self.tail.release_before(head.sequence);
        }
        self.vouch()?;
        self.tail.release_before(head.sequence);
        self.tail.since_head -= since_head;
        self.snapshot = bytes;
        self.roll = Roll::Idle;
        Ok(true)
    }
}
