//! [`Group`]: regions for files that are written together and should lie together.
//!
//! A group leases a region before its first file is written. If the pool finds one, it is meant to
//! hold all files of the group; [`Pool::lease_group`] says when it is shorter. The files share the
//! lease: a file takes its *turn*, claims blocks, finishes, and leaves the rest to the next file.
//! So the files lie one after the other.
//!
//! 1. [`Group::begin`] asks the pool for a region for all files. If the pool has none without a
//!    wait, the first file leases one.
//! 2. A file takes the [`GroupTurn`] when it needs a region. If another file has the turn, or the
//!    group has ended, it leases a region of its own.
//! 3. If the region is full, too small or gone, the turn asks the pool for another one, for the
//!    rest of the group. If the pool has none, or the group has written its size already, the file
//!    leases a region as any file does, and may wait. The group goes on in that region.
//! 4. Between two turns the lease is *idle*. The pool may take it away if another writer lacks
//!    space or a lease.
//! 5. The end of the group ends the lease; if a file has the turn, the end of the turn does. Other
//!    writers get the unclaimed blocks.
//!
//! # Threads
//! No call of the pool is made under the group's lock: during the call, the region belongs to the
//! turn. Leasing for the group does not wait for space. A file that leases by itself, in steps 2
//! and 3, can wait.

use std::any::Any;
use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_env::store::{GroupSpace, StoreError};
use terrace_env::sync::Mutex;

use super::{Ask, Pool, Region};
use crate::block::BLOCK;

/// See the [module](self).
pub(crate) struct Group {
    pool: Arc<dyn Pool>,
    ask: Ask,
    size: ByteCount,
    state: Mutex<State>,
}

enum State {
    /// No file has the turn.
    Idle(Rest),
    Taken,
    /// No file gets a turn any more.
    Ended,
}

/// Rest of a group: the part that no file has taken.
struct Rest {
    region: Option<Arc<Region>>,
    /// Bytes that are not written yet, whole blocks.
    bytes: u64,
}

impl Group {
    /// Leases a region for files that take up `size` together, if that needs no wait. `ask` is the
    /// request of each file.
    pub(crate) fn begin(pool: Arc<dyn Pool>, ask: Ask, size: ByteCount) -> GroupLease {
        let bytes = size.0.div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64);
        let region = Arc::clone(&pool).lease_group(&Ask { left: Some(size), ..ask.clone() }, size);
        let mut rest = Rest { region: region.map(Arc::new), bytes };
        rest.leave();
        GroupLease(Arc::new(Self { pool, ask, size, state: Mutex::new(State::Idle(rest)) }))
    }

    /// The right to write the next file; `None` while another file has it, or after the end.
    fn turn(self: &Arc<Self>) -> Option<GroupTurn> {
        let mut state = self.state.lock();
        let State::Idle(_) = &*state else { return None };
        let State::Idle(rest) = std::mem::replace(&mut *state, State::Taken) else {
            unreachable!("the lock is held since the look")
        };
        drop(state);
        if let Some(region) = &rest.region {
            region.set_idle(false);
        }
        Some(GroupTurn { group: Arc::clone(self), rest })
    }
}

impl Rest {
    /// Marks the region as idle: no file has the turn.
    fn leave(&mut self) {
        if let Some(region) = &self.region {
            region.set_idle(true);
        }
    }
}

/// A file's part in a group, or in none.
pub(crate) struct Member {
    group: Option<Arc<Group>>,
    turn: Option<GroupTurn>,
}

impl Member {
    /// A file of this group.
    pub(crate) fn of(group: Option<Arc<Group>>) -> Self {
        Self { group, turn: None }
    }

    /// Whether the file belongs to a group.
    pub(crate) fn has_group(&self) -> bool {
        self.group.is_some()
    }

    /// Leases a region as [`Pool::lease`] does, or goes on in the group's.
    pub(crate) fn lease(
        &mut self,
        pool: &Arc<dyn Pool>,
        ask: &Ask,
    ) -> Result<Arc<Region>, StoreError> {
        if self.turn.is_none() {
            self.turn = self.group.as_ref().and_then(Group::turn);
        }
        let Some(turn) = &mut self.turn else { return Arc::clone(pool).lease(ask).map(Arc::new) };
        if let Some(region) = turn.region(ask.least) {
            return Ok(region);
        }
        let left = ask.left.max(Some(ByteCount(turn.rest.bytes)).filter(|left| left.0 > 0));
        let region = Arc::new(Arc::clone(pool).lease(&Ask { left, ..ask.clone() })?);
        turn.rest.region = Some(Arc::clone(&region));
        Ok(region)
    }

    /// Notes that this number of blocks was written to their final place.
    pub(crate) fn note_written(&mut self, blocks: u32) {
        if let Some(turn) = &mut self.turn {
            let bytes = u64::from(blocks) * BLOCK as u64;
            turn.rest.bytes = turn.rest.bytes.saturating_sub(bytes);
        }
    }

    /// Ends the turn of a file that is written: the next file may continue after it.
    pub(crate) fn end_turn(&mut self) {
        self.turn = None;
    }
}

/// One file's right to write to the group's region, from its first block to its last.
struct GroupTurn {
    group: Arc<Group>,
    rest: Rest,
}

impl GroupTurn {
    /// The group's region, or the next one if less than `least` blocks are left of it. `None` if
    /// the pool has none without a wait.
    fn region(&mut self, least: u32) -> Option<Arc<Region>> {
        let has_room = |region: &Arc<Region>| region.rest().is_some_and(|(_, room)| room >= least);
        self.rest.region = self.rest.region.take().filter(has_room);
        if self.rest.region.is_none() && self.rest.bytes > 0 {
            let left = Some(ByteCount(self.rest.bytes));
            let ask = Ask { least, left, ..self.group.ask.clone() };
            self.rest.region =
                Arc::clone(&self.group.pool).lease_group(&ask, self.group.size).map(Arc::new);
        }
        self.rest.region.clone()
    }
}

impl Drop for GroupTurn {
    fn drop(&mut self) {
        let mut rest = Rest { region: self.rest.region.take(), bytes: self.rest.bytes };
        // Before another file can take the turn.
        rest.leave();
        let mut state = self.group.state.lock();
        debug_assert!(!matches!(&*state, State::Idle(_)), "the turn was given twice");
        if matches!(&*state, State::Taken) {
            *state = State::Idle(rest);
        }
    }
}

/// The owner's handle. Dropping it ends the group.
pub(crate) struct GroupLease(Arc<Group>);

impl GroupLease {
    /// The group, if its files go to this pool.
    pub(crate) fn of(&self, pool: &Arc<dyn Pool>) -> Option<&Arc<Group>> {
        Arc::ptr_eq(&self.0.pool, pool).then_some(&self.0)
    }
}

impl GroupSpace for GroupLease {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for GroupLease {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *self.0.state.lock(), State::Ended);
        drop(state);
    }
}
