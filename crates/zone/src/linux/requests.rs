//! Reads, writes, appends and flushes of a [`BlockDevice`], from their submission to their
//! completion.
//!
//! 1. A request is put in [`Order`] after the earlier requests to its zone. If it conflicts with
//!    one of them, it waits until that one has ended.
//! 2. It begins: the zone table checks it, and a write is applied to the table, so that a request
//!    to another zone finds the slot taken. Its first command goes to the engine.
//! 3. When a command has completed, the [`Transfer`] tells the next step: a command, the end, or an
//!    error. After an error of a write or an append to a sequential zone, the zone is reported, and
//!    the table is set to the report. While other appends are in flight there, that report shows
//!    some of them and not others, so the zone is reported once more when none is: see
//!    [`Appending`].
//! 4. It ends: its result is kept for its ticket, and the requests that waited for it begin.
//!
//! # Whose thread does it
//! With blocking calls, the thread that begins a request carries it out: that of the submission, or
//! that of the request it waited for.
//!
//! With `io_uring`, a thread that waits takes the role of the *reaper*: it sleeps in the kernel
//! until a command has completed, and does step 3 and 4, also for others. There is one reaper at a
//! time. Other threads wait for a condition. A reaper whose own request has ended wakes another
//! thread that waits, which takes the role. A submission looks for completed commands, too, but
//! does not wait for one. No thread of its own is needed: a request without a waiter is carried on
//! by the next submission or wait, or when the device is dropped.
//!
//! A request can end while the reaper sleeps, because another thread has found it against the
//! rules. If the reaper waits for this one, it learns of it when the next command completes.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use terrace_env::sync::Condvar;
use terrace_env::{IoBuf, Lba, ZoneId};

use super::appending::Appending;
use super::block_device::BlockDevice;
use super::engine::{self, Engine};
use super::order::{Effect, Order};
use super::ring::{Finished, Moved, Ring};
use super::transfer::{Command, Kind, Step, Transfer};
use crate::{Completion, DeviceError, Op, ZoneTable, ZoneType};

/// The zones of a device and its requests, as far as they are known.
pub(super) struct State {
    pub(super) table: ZoneTable,
    pub(super) order: Order,
    /// Changes begun and ended: a report is taken over only if there were none meanwhile.
    pub(super) changes: u64,
    appending: Appending,
    /// Reads, writes, appends and flushes that have not ended.
    pending: BTreeMap<u64, Pending>,
    done: BTreeMap<u64, Result<Completion, DeviceError>>,
    next_id: u64,
    /// Threads that wait for a request to end or, if it is a zone operation, to begin.
    waiting: BTreeMap<u64, Arc<Condvar>>,
    /// Whether a thread has the role of the reaper.
    reaping: bool,
    /// Reads, writes, appends and flushes that have begun and not ended, and the most there have
    /// been.
    under_way: usize,
    under_way_max: usize,
}

/// A read, a write, an append or a flush.
struct Pending {
    kind: Kind,
    lba: Lba,
    /// Bytes of the request.
    len: usize,
    /// The zone in whose order it stands; none for a flush.
    zone: Option<ZoneId>,
    transfer: Transfer,
    /// The bytes that are to be written or appended, until it begins.
    buf: IoBuf,
}

/// A command for the engine.
struct Issue {
    id: u64,
    buf: IoBuf,
    /// Bytes of the buffer that a read needs and that are not there yet.
    room: usize,
    command: Command,
}

impl State {
    pub(super) fn new(table: ZoneTable) -> Self {
        Self {
            table,
            order: Order::default(),
            changes: 0,
            appending: Appending::default(),
            pending: BTreeMap::new(),
            done: BTreeMap::new(),
            next_id: 0,
            waiting: BTreeMap::new(),
            reaping: false,
            under_way: 0,
            under_way_max: 0,
        }
    }

    pub(super) fn under_way_max(&self) -> usize {
        self.under_way_max
    }

    /// An id for a request: that of its ticket.
    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Keeps the result of a request for its waiter.
    pub(super) fn finish(&mut self, id: u64, result: Result<Completion, DeviceError>) {
        self.done.insert(id, result);
        self.wake(id);
    }

    pub(super) fn wake(&mut self, id: u64) {
        if let Some(condition) = self.waiting.remove(&id) {
            condition.notify_all();
        }
    }

    /// Wakes one waiting thread if there is no reaper, so that it becomes the reaper.
    fn wake_a_reaper(&self) {
        if !self.reaping
            && let Some(condition) = self.waiting.values().next()
        {
            condition.notify_all();
        }
    }

    /// Begins requests that wait for nothing more, and those that may begin because one of these is
    /// refused. A zone operation begins in the thread that has submitted it.
    fn begin(&mut self, requests: Vec<u64>, issues: &mut VecDeque<Issue>) {
        let mut requests = VecDeque::from(requests);
        while let Some(id) = requests.pop_front() {
            let Some(pending) = self.pending.get_mut(&id) else {
                self.wake(id);
                continue;
            };
            let bytes = pending.len as u64;
            let planned = match (pending.kind, pending.zone) {
                (Kind::Flush, _) => Ok(None),
                (Kind::Read, _) => {
                    let blocks = bytes / u64::from(self.table.geometry().logical_block);
                    self.table.plan_read(pending.lba, blocks).map(|_| None)
                }
                (Kind::Write { .. }, _) => self.table.plan_write(pending.lba, bytes).map(Some),
                (Kind::Append { .. }, zone) => {
                    let zone = zone.expect("an append is in the order of its zone");
                    let planned = self.table.plan_append(zone, bytes);
                    planned.inspect(|_| self.appending.begin(zone)).map(Some)
                }
            };
            let planned = planned.map(|transition| {
                if let Some(transition) = transition {
                    self.table.apply(transition);
                    self.changes += 1;
                }
            });
            if let Err(error) = planned {
                requests.extend(self.end(id, Err(error)));
                continue;
            }
            let buf = std::mem::take(&mut pending.buf);
            let room = if pending.kind == Kind::Read { pending.len } else { 0 };
            issues.push_back(Issue { id, buf, room, command: pending.transfer.command() });
            self.under_way += 1;
            self.under_way_max = self.under_way_max.max(self.under_way);
        }
    }

    /// Ends a read, a write, an append or a flush. Returns the requests that may begin now.
    fn end(&mut self, id: u64, result: Result<Completion, DeviceError>) -> Vec<u64> {
        let pending = self.pending.remove(&id).expect("a request that has not ended");
        self.finish(id, result);
        pending.zone.map_or(Vec::new(), |zone| self.order.end(id, zone))
    }
}

impl BlockDevice {
    /// Submits a read, a write, an append or a flush; returns its id.
    pub(super) fn submit_transfer(&self, op: Op) -> u64 {
        let block = self.geometry.logical_block as usize;
        let (kind, lba, len, buf) = match op {
            Op::Read { lba, blocks } => {
                (Kind::Read, lba, blocks as usize * block, IoBuf::default())
            }
            Op::Write { lba, data, fua } => (Kind::Write { fua }, lba, data.len(), data),
            Op::Append { zone, data, fua } => {
                (Kind::Append { fua }, self.geometry.zone_start(zone), data.len(), data)
            }
            _ => (Kind::Flush, Lba(0), 0, IoBuf::default()),
        };
        let zone = if kind == Kind::Flush { None } else { self.geometry.zone_of(lba) };
        let moves_pointer = |zone| self.geometry.zone_type(zone) == ZoneType::Sequential;
        let (effect, is_cut) = match (kind, zone) {
            (Kind::Write { .. }, Some(zone)) if moves_pointer(zone) => (Effect::MovesPointer, true),
            (Kind::Write { .. }, _) => (Effect::Writes, false),
            (Kind::Append { .. }, _) => (Effect::Appends, false),
            _ => (Effect::Reads, false),
        };
        let transfer = Transfer::new(kind, self.offset(lba), len, self.piece, is_cut);
        let mut issues = VecDeque::new();
        let mut state = self.state.lock();
        let id = state.new_id();
        state.pending.insert(id, Pending { kind, lba, len, zone, transfer, buf });
        let blocks = match (kind, zone) {
            (Kind::Append { .. }, Some(zone)) => self.geometry.zone_size(zone),
            _ => len.div_ceil(block) as u64,
        };
        if zone.is_none_or(|zone| state.order.add(id, zone, lba, blocks, effect)) {
            state.begin(vec![id], &mut issues);
        }
        drop(state);
        self.carry_on(issues);
        if let Engine::IoUring(ring) = &self.engine
            && ring.has_completions()
            && let Some(reaper) = Reaper::begin(self)
        {
            reaper.reap(ring);
        }
        id
    }

    /// Hands commands to the engine. Blocking calls are carried out here, with the commands that
    /// follow from them.
    fn carry_on(&self, mut issues: VecDeque<Issue>) {
        if issues.is_empty() {
            return;
        }
        match &self.engine {
            Engine::IoUring(ring) => {
                for Issue { id, buf, room, command } in issues {
                    let buf = if buf.len() < room { IoBuf::zeroed(room) } else { buf };
                    ring.push(id, buf, command);
                }
                ring.submit();
                self.state.lock().wake_a_reaper();
            }
            Engine::Blocking(append) => {
                while let Some(Issue { id, buf, room, command }) = issues.pop_front() {
                    let mut buf = if buf.len() < room { IoBuf::zeroed(room) } else { buf };
                    let result = engine::carry_out(&self.node, append.as_ref(), &command, &mut buf);
                    self.advance(Finished { id, buf, result }, &mut issues);
                }
            }
        }
    }

    /// Step 3 and 4: see the [module](self).
    fn advance(&self, finished: Finished, issues: &mut VecDeque<Issue>) {
        let Finished { id, buf, result } = finished;
        let mut state = self.state.lock();
        let pending = state.pending.get_mut(&id).expect("a request that has not ended");
        let (kind, lba, zone, len) = (pending.kind, pending.lba, pending.zone, pending.len);
        let Moved { placed, .. } = result.as_ref().copied().unwrap_or_default();
        let step = pending.transfer.step(result.map(|moved| moved.bytes));
        let again = pending.transfer.command();
        drop(state);
        let result = match step {
            Step::Issue(command) => return issues.push_back(Issue { id, buf, room: 0, command }),
            Step::MakeRoom(error) => match zone {
                Some(zone) if self.has_made_room(zone) => {
                    return issues.push_back(Issue { id, buf, room: 0, command: again });
                }
                _ => Err(self.explain(kind, lba, zone, len, error)),
            },
            Step::Failed(error) => Err(self.explain(kind, lba, zone, len, error)),
            Step::Done => Ok(match kind {
                Kind::Read => Completion::Read(buf),
                Kind::Write { .. } => Completion::Written { lba, data: buf },
                Kind::Append { .. } => Completion::Written { lba: Lba(placed), data: buf },
                Kind::Flush => Completion::Done,
            }),
        };
        let is_append = matches!(kind, Kind::Append { .. });
        if let Some(zone) = zone.filter(|_| is_append) {
            self.end_append(zone, result.is_err());
        }
        let mut state = self.state.lock();
        state.under_way -= 1;
        state.changes += u64::from(kind.changes());
        let ready = state.end(id, result);
        state.begin(ready, issues);
    }

    /// One of the appends to a zone ends. A zone that is unsettled is reported.
    fn end_append(&self, zone: ZoneId, has_failed: bool) {
        let mut state = self.state.lock();
        state.appending.end(zone, has_failed);
        while let Some(pause) = state.appending.pause(zone) {
            drop(state);
            let report = self.look(zone).ok();
            state = self.state.lock();
            if state.appending.settle(zone, pause)
                && let Some(report) = report
            {
                state.take_over(&report);
            }
        }
    }

    /// The error of a request that the kernel has failed, after a look at the zone.
    fn explain(
        &self,
        kind: Kind,
        lba: Lba,
        zone: Option<ZoneId>,
        len: usize,
        error: io::Error,
    ) -> DeviceError {
        let Some(zone) = zone else {
            // The device may have taken writes back.
            drop(self.report_now(ZoneId(0), self.geometry.zones));
            return DeviceError::FlushFailed;
        };
        if kind == Kind::Read {
            let report = self.look(zone).ok();
            return self.failed(zone, lba, None, "read").error(error, report.as_ref());
        }
        if self.geometry.zone_type(zone) == ZoneType::Conventional {
            return self.failed(zone, lba, None, "write").error(error, None);
        }
        let report = self.look_again(zone);
        if let Kind::Append { .. } = kind {
            return self.failed(zone, lba, None, "append to").error(error, report.as_ref());
        }
        let blocks = len as u64 / u64::from(self.geometry.logical_block);
        self.failed(zone, lba, Some(blocks), "write").error(error, report.as_ref())
    }

    /// Begins the requests that waited for one that has ended.
    pub(super) fn begin(&self, requests: Vec<u64>) {
        let mut issues = VecDeque::new();
        self.state.lock().begin(requests, &mut issues);
        self.carry_on(issues);
    }

    /// Waits for a request to end; returns its result.
    pub(super) fn wait_for(&self, id: u64) -> Result<Completion, DeviceError> {
        self.wait_until(id, |state| {
            let done = state.done.remove(&id);
            assert!(
                done.is_some() || state.pending.contains_key(&id),
                "ticket {id} is waited for once"
            );
            done
        })
    }

    /// Waits until all changes of these zones have ended that were submitted before.
    pub(super) fn settle(&self, zones: Range<ZoneId>) {
        let before = self.state.lock().next_id;
        let change = || self.state.lock().order.change_before(before, zones.clone());
        while let Some((id, zone)) = change() {
            self.wait_until(id, |state| (!state.order.has(id, zone)).then_some(()));
        }
    }

    /// Waits until a condition gives a value. It may change when this request ends or, if it is a
    /// zone operation, when it may begin.
    pub(super) fn wait_until<T>(
        &self,
        id: u64,
        mut condition: impl FnMut(&mut State) -> Option<T>,
    ) -> T {
        let mut has_slept = false;
        loop {
            let mut state = self.state.lock();
            if let Some(value) = condition(&mut state) {
                if has_slept {
                    // It may have been woken to be the reaper: another one takes the role.
                    state.wake_a_reaper();
                }
                return value;
            }
            if let Engine::IoUring(ring) = &self.engine
                && ring.is_busy()
                && !state.reaping
            {
                state.reaping = true;
                drop(state);
                let reaper = Reaper(self);
                ring.wait();
                reaper.reap(ring);
                continue;
            }
            let waited_for = Arc::clone(state.waiting.entry(id).or_default());
            waited_for.wait(&mut state);
            has_slept = true;
        }
    }

    /// Carries all requests on until they have ended, for a device that is given up.
    pub(super) fn drain(&self) {
        let Engine::IoUring(ring) = &self.engine else { return };
        while ring.is_busy()
            && let Some(reaper) = Reaper::begin(self)
        {
            ring.wait();
            reaper.reap(ring);
        }
    }
}

/// The role of the reaper, until it is dropped.
struct Reaper<'a>(&'a BlockDevice);

impl<'a> Reaper<'a> {
    /// Takes the role, unless another thread has it.
    fn begin(device: &'a BlockDevice) -> Option<Self> {
        let mut state = device.state.lock();
        let free = !std::mem::replace(&mut state.reaping, true);
        free.then(|| Self(device))
    }

    /// Carries on the requests of which a command has completed.
    fn reap(&self, ring: &Ring) {
        let mut issues = VecDeque::new();
        for finished in ring.reap() {
            self.0.advance(finished, &mut issues);
        }
        self.0.carry_on(issues);
        // Commands that waited for a slot may have got one.
        ring.submit();
    }
}

impl Drop for Reaper<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.reaping = false;
        state.wake_a_reaper();
    }
}
