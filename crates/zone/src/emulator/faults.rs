//! [`FaultPlan`]: which faults an emulated drive has, and when.
//!
//! - A read fails with a medium error. The next read may succeed.
//! - A write fails with a medium error. Its first blocks may be written, and the pointer moved by
//!   them. Until an actor has waited for the failed write, later requests to the zone fail, too,
//!   except for reads. A failed flush or a power cut also ends that.
//! - An open, close, finish or reset fails with a medium error, and changes nothing.
//! - A flush fails: volatile changes are lost, kept or torn as in a power cut; open zones are
//!   closed; requests in flight fail, except for reads.
//! - A block is bad: reads of it fail until it is written again.
//! - The host's disk is full: after some writes, further ones fail and change nothing, except for
//!   writes of the journal and the superblock. Or the host's disk has no room for another zone: all
//!   writes to the start of a zone fail.
//! - Zones fail: a group of zones becomes read-only or offline.
//!
//! Counting begins when the plan is given to the drive. A fault of one kind of request counts the
//! requests of that kind, and of its zone if it names one, that have not failed for another reason
//! before. The failure of zones counts requests other than reads, also those that break a rule. A
//! full disk counts writes that keep the rules, without those of the journal and the superblock.
//!
//! The plan does nothing itself: the drive asks it, under the drive's lock.

use std::collections::BTreeSet;
use std::ops::Range;

use terrace_env::random::{Random, Rng};
use terrace_env::{Cause, Lba, ZoneId};

use crate::{Op, ZoneState};

/// Requests that faults tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestKind {
    /// A read.
    Read,
    /// A write or an append.
    Write,
    /// An explicit open.
    Open,
    /// A close.
    Close,
    /// A finish.
    Finish,
    /// A reset.
    Reset,
    /// A flush.
    Flush,
}

impl RequestKind {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Read, Self::Write, Self::Open, Self::Close, Self::Finish, Self::Reset, Self::Flush];

    /// The kind of a request.
    #[must_use]
    pub fn of(op: &Op) -> Self {
        match op {
            Op::Read { .. } => Self::Read,
            Op::Write { .. } | Op::Append { .. } => Self::Write,
            Op::Open(_) => Self::Open,
            Op::Close(_) => Self::Close,
            Op::Finish(_) => Self::Finish,
            Op::Reset(_) => Self::Reset,
            Op::Flush => Self::Flush,
        }
    }

    /// The name of the kind in errors and traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Open => "open",
            Self::Close => "close",
            Self::Finish => "finish",
            Self::Reset => "reset",
            Self::Flush => "flush",
        }
    }
}

#[derive(Clone, Debug)]
struct Scripted {
    kind: RequestKind,
    zone: Option<ZoneId>,
    /// Requests of this kind that still succeed.
    spared: u64,
}

#[derive(Clone, Debug)]
struct ZoneFailure {
    /// Requests of any kind but reads that are still carried out before.
    spared: u64,
    zones: Range<u32>,
    state: ZoneState,
}

/// Which faults happen when. Counting starts when the plan is given to the drive.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    scripted: Vec<Scripted>,
    zone_failures: Vec<ZoneFailure>,
    chances: Vec<(RequestKind, u32)>,
    bad_blocks: BTreeSet<Lba>,
    /// Writes that still find room on the host's disk.
    room: Option<u64>,
    /// Writes to empty zones find no room on the host's disk.
    no_new_zones: bool,
    /// Zones that the host's disk has room for.
    host_zones: Option<u32>,
    random: Random,
}

impl FaultPlan {
    /// No faults; `seed` decides all that is random.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            scripted: Vec::new(),
            zone_failures: Vec::new(),
            chances: Vec::new(),
            bad_blocks: BTreeSet::new(),
            room: None,
            no_new_zones: false,
            host_zones: None,
            random: Random::seeded(seed),
        }
    }

    /// The request of this kind fails that comes after `spared` others.
    #[must_use]
    pub fn fail(mut self, kind: RequestKind, spared: u64) -> Self {
        self.scripted.push(Scripted { kind, zone: None, spared });
        self
    }

    /// The request of this kind to this zone fails that comes after `spared` others.
    #[must_use]
    pub fn fail_in(mut self, zone: ZoneId, kind: RequestKind, spared: u64) -> Self {
        self.scripted.push(Scripted { kind, zone: Some(zone), spared });
        self
    }

    /// One in `one_in` requests of this kind fails, by chance.
    ///
    /// # Panics
    /// When `one_in` is zero.
    #[must_use]
    pub fn fail_by_chance(mut self, kind: RequestKind, one_in: u32) -> Self {
        assert!(one_in > 0, "a chance of one in none");
        self.chances.push((kind, one_in));
        self
    }

    /// Reads of a logical block fail until it is written again.
    #[must_use]
    pub fn bad_block(mut self, lba: Lba) -> Self {
        self.bad_blocks.insert(lba);
        self
    }

    /// After `spared` writes the host's disk is full, as an image's can be: further writes fail.
    /// Those of journal and superblock succeed: an image has room ahead for them.
    #[must_use]
    pub fn host_fills(mut self, spared: u64) -> Self {
        self.room = Some(spared);
        self
    }

    /// The host's disk has no room for another zone: the first write to an empty one fails, the
    /// journal's and the superblock's, too.
    #[must_use]
    pub fn host_takes_no_new_zones(mut self) -> Self {
        self.no_new_zones = true;
        self
    }

    /// The host's disk has room for `zones` zones: a zone takes its room at its first write, and
    /// gives it back when it is reset.
    #[must_use]
    pub fn host_has_room_for(mut self, zones: u32) -> Self {
        self.host_zones = Some(zones);
        self
    }

    /// Zones that the host's disk still has room for, if that is limited and `taken` have theirs.
    pub(super) fn host_zones_left(&self, taken: u32) -> Option<u32> {
        self.host_zones.map(|zones| zones.saturating_sub(taken))
    }

    /// Whether the host's disk is full for this write. `begins`: it goes to the start of its zone.
    /// `taken`: zones that have their room on it.
    pub(super) fn is_host_full(
        &mut self,
        kind: RequestKind,
        cause: Cause,
        begins: bool,
        taken: impl Fn() -> u32,
    ) -> bool {
        let refuses_zone = || {
            let limit = self.host_zones;
            self.no_new_zones || limit.is_some_and(|zones| taken() >= zones)
        };
        if kind == RequestKind::Write && begins && refuses_zone() {
            return true;
        }
        if kind != RequestKind::Write || matches!(cause, Cause::Journal | Cause::Superblock) {
            return false;
        }
        let full = self.room == Some(0);
        self.room = self.room.map(|room| room.saturating_sub(1));
        full
    }

    /// After `spared` requests other than reads, the zones become read-only or offline.
    ///
    /// # Panics
    /// When `state` is any other.
    #[must_use]
    pub fn zones_fail(mut self, spared: u64, zones: Range<u32>, state: ZoneState) -> Self {
        assert!(matches!(state, ZoneState::ReadOnly | ZoneState::Offline), "{state:?}");
        self.zone_failures.push(ZoneFailure { spared, zones, state });
        self
    }

    /// Decides whether a request that keeps the rules fails.
    pub(super) fn strikes(&mut self, kind: RequestKind, zone: Option<ZoneId>) -> bool {
        let concerns =
            |fault: &Scripted| fault.kind == kind && (fault.zone.is_none() || fault.zone == zone);
        let mut struck = false;
        self.scripted.retain_mut(|fault| {
            if !concerns(fault) {
                return true;
            }
            let strikes = fault.spared == 0;
            fault.spared = fault.spared.saturating_sub(1);
            struck |= strikes;
            !strikes
        });
        for (_, one_in) in self.chances.iter().filter(|chance| chance.0 == kind) {
            struck |= self.random.random_range(0..*one_in) == 0;
        }
        struck
    }

    /// The zones that fail before the next request other than a read is carried out.
    pub(super) fn failing_zones(&mut self) -> Vec<(Range<u32>, ZoneState)> {
        let mut failing = Vec::new();
        self.zone_failures.retain_mut(|failure| {
            if failure.spared == 0 {
                failing.push((failure.zones.clone(), failure.state));
                return false;
            }
            failure.spared -= 1;
            true
        });
        failing
    }

    /// The first bad block among `blocks` from `lba` on.
    pub(super) fn bad_block_in(&self, lba: Lba, blocks: u64) -> Option<Lba> {
        self.bad_blocks.range(lba..Lba(lba.0 + blocks)).next().copied()
    }

    /// Blocks have been written: they are no longer bad.
    pub(super) fn heal(&mut self, lba: Lba, blocks: u64) {
        while let Some(bad) = self.bad_block_in(lba, blocks) {
            self.bad_blocks.remove(&bad);
        }
    }
}
