//! [`HandlePool`]: keeps the number of open files of a store below the limit of its process.
//!
//! A store has a file of the host for every table, and a process may have some hundred files open.
//! So a [`PooledFile`](super::pooled_file::PooledFile) is open only while its handle is in the
//! pool. When the pool is full, it closes a handle to open another one, and a closed file is opened
//! again when it is used next.
//!
//! # Rules
//! - The pools of a process together use at most half of its descriptors. The other half is for the
//!   program, and for the handles that do not count here: lock, journal, directory, superblock. A
//!   pool may always have [`LEAST`] handles, even if that exceeds the half.
//! - A handle in use is never closed. If all are in use, the next one waits.
//! - Of the idle handles, the pool closes those that were not used lately (the clock algorithm),
//!   and handles with unsynced writes last. It syncs such a file before it closes it: the host
//!   reports a write-back error only to the handles that are open at that time. If that sync fails,
//!   all later syncs of the file fail.
//! - If the host refuses a further descriptor although the pool has room, other parts of the
//!   program use the rest. Then a quarter of the handles is closed, here or, if none can be closed
//!   here, in another pool of the process, and the call is made again. It fails when no handle is
//!   left to close.
//!
//! # Threads
//! The lock of the pool is taken before that of a slot. No lock is held over a file operation. An
//! actor must not open a second file while it uses a handle.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use rustix::io::Errno;
use terrace_env::runner;
use terrace_env::sync::{Condvar, Mutex};

use super::pooled_file::{Slot, Victim};
use super::{Files, HandleLimit};

/// Handles that a pool may have even if the other pools of the process use up the share of all.
const LEAST: usize = 4;

/// Descriptors without which a store cannot be written: lock, journal, its successor during a roll,
/// the superblock, the directory, and one file.
const NEEDED: usize = 6;

/// The pools whose handles are descriptors of this process.
static OF_PROCESS: Mutex<Vec<Weak<HandlePool>>> = Mutex::new(Vec::new());

/// See the [module](self).
pub(super) struct HandlePool {
    files: Arc<dyn Files>,
    /// Handles that are open or about to be.
    held: AtomicUsize,
    /// Actors that wait until a handle is closed or no longer in use.
    waiting: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The files that are open.
    slots: BTreeMap<u64, Arc<Slot>>,
    next: u64,
    /// The slot at which the next search for a handle to close begins.
    hand: u64,
}

/// Which handles may be closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Those without unsynced writes.
    Synced,
    /// Any that is not in use.
    Any,
}

impl HandlePool {
    pub(super) fn new(files: Arc<dyn Files>) -> Arc<Self> {
        let is_of_process = matches!(files.handle_limit(), HandleLimit::OfProcess(_));
        let (held, waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (state, changed) = (Mutex::default(), Condvar::new());
        let pool = Arc::new(Self { files, held, waiting, state, changed });
        // Threads and a simulation must not share a lock.
        if is_of_process && !runner::is_simulated() {
            let mut pools = OF_PROCESS.lock();
            pools.retain(|pool| pool.strong_count() > 0);
            pools.push(Arc::downgrade(&pool));
        }
        pool
    }

    /// The number of the next slot.
    pub(super) fn new_key(&self) -> u64 {
        let mut state = self.state.lock();
        state.next += 1;
        state.next
    }

    /// Makes a handle, in a place of the pool. Before that, closes other handles if the pool is
    /// full.
    pub(super) fn open<T>(&self, open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        self.take_place();
        let opened = self.retry(open);
        if opened.is_err() {
            self.give_place_back();
        }
        opened
    }

    /// Adds an open file: the pool may close it when another file needs its place.
    pub(super) fn insert(&self, key: u64, slot: &Arc<Slot>) {
        let former = self.state.lock().slots.insert(key, Arc::clone(slot));
        debug_assert!(former.is_none(), "file {key} is open twice");
    }

    /// Removes a file that its owner has closed.
    pub(super) fn remove(&self, key: u64) {
        let slot = self.state.lock().slots.remove(&key);
        drop(slot);
        self.give_place_back();
    }

    /// Wakes waiters: a handle is no longer in use.
    pub(super) fn released(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            let state = self.state.lock();
            self.changed.notify_all();
            drop(state);
        }
    }

    /// Makes a call that needs a descriptor. If none is left, closes handles, and makes the call
    /// again.
    pub(super) fn retry<T>(&self, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            let error = match call() {
                Err(error) if is_exhausted(&error) => error,
                other => return other,
            };
            let has_closed = self.shrink() || self.others().iter().any(|pool| pool.shrink());
            if !has_closed && !self.wait_for_change() {
                return Err(explained(&error, self.files.handle_limit()));
            }
        }
    }

    /// The most handles that this pool may have now.
    fn most(&self) -> usize {
        match self.files.handle_limit() {
            HandleLimit::None => usize::MAX,
            HandleLimit::OfFiles(limit) => (limit / 2).max(1),
            HandleLimit::OfProcess(limit) => {
                let others = self.others();
                let held = others.iter().map(|pool| pool.held.load(Ordering::SeqCst));
                (limit / 2).saturating_sub(held.sum()).max(LEAST)
            }
        }
    }

    fn take_place(&self) {
        loop {
            let most = self.most();
            let mut state = self.state.lock();
            if self.held.load(Ordering::SeqCst) < most {
                self.held.fetch_add(1, Ordering::SeqCst);
                return;
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let victim = state.pick(Choice::Any);
            if victim.is_none() {
                self.changed.wait(&mut state);
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            drop(state);
            if let Some(victim) = victim {
                self.close(victim);
            }
        }
    }

    fn give_place_back(&self) {
        let state = self.state.lock();
        let held = self.held.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(held > 0, "no handle is held");
        self.changed.notify_all();
        drop(state);
    }

    fn close(&self, victim: Victim) {
        victim.close();
        self.give_place_back();
    }

    /// Closes a quarter of the handles, at least one. Returns whether one was closed.
    fn shrink(&self) -> bool {
        let victims: Vec<_> = {
            let mut state = self.state.lock();
            let count = state.slots.len() / 4;
            let first = state.pick(Choice::Any);
            let others = (1..count).map_while(|_| state.pick(Choice::Synced));
            first.into_iter().chain(others).collect()
        };
        let has_closed = !victims.is_empty();
        for victim in victims {
            self.close(victim);
        }
        has_closed
    }

    /// Waits until a handle is closed or no longer in use. Returns `false` at once if the pool has
    /// no handle.
    fn wait_for_change(&self) -> bool {
        let mut state = self.state.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let is_hopeful = !state.slots.is_empty();
        // A handle that became idle before `waiting` was raised has woken no waiter.
        if is_hopeful && !state.slots.values().any(|slot| slot.is_idle()) {
            self.changed.wait(&mut state);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        is_hopeful
    }

    /// The other pools of this process.
    fn others(&self) -> Vec<Arc<Self>> {
        if runner::is_simulated() {
            return Vec::new();
        }
        let pools = OF_PROCESS.lock();
        let others = pools.iter().filter(|pool| !std::ptr::eq(pool.as_ptr(), self));
        others.filter_map(Weak::upgrade).collect()
    }
}

impl State {
    /// Takes a handle that is not in use out of the pool.
    fn pick(&mut self, choice: Choice) -> Option<Victim> {
        let choices: &[_] = match choice {
            Choice::Synced => &[Choice::Synced],
            Choice::Any => &[Choice::Synced, Choice::Any],
        };
        for choice in choices {
            // In the first round a handle that was used lately gets another chance.
            for _ in 0..2 {
                let from_hand = self.slots.range(self.hand..).chain(self.slots.range(..self.hand));
                let is_any = *choice == Choice::Any;
                let found = from_hand
                    .map(|(key, slot)| (*key, slot))
                    .find_map(|(key, slot)| Some((key, slot.take_if_idle(is_any)?)));
                if let Some((key, victim)) = found {
                    self.slots.remove(&key);
                    self.hand = key + 1;
                    return Some(victim);
                }
            }
        }
        None
    }
}

/// Makes a call that needs a descriptor before its store has a pool.
pub(super) fn retry_in_process<T>(
    limit: HandleLimit,
    mut call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        let error = match call() {
            Err(error) if is_exhausted(&error) => error,
            other => return other,
        };
        let pools: Vec<_> = if runner::is_simulated() {
            Vec::new()
        } else {
            OF_PROCESS.lock().iter().filter_map(Weak::upgrade).collect()
        };
        if !pools.iter().any(|pool| pool.shrink()) {
            return Err(explained(&error, limit));
        }
    }
}

/// Whether the process, or the host, has no descriptor left.
fn is_exhausted(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::MFILE, Errno::NFILE].contains(&errno))
}

fn explained(error: &io::Error, limit: HandleLimit) -> io::Error {
    let (HandleLimit::OfProcess(limit) | HandleLimit::OfFiles(limit)) = limit else {
        return io::Error::new(error.kind(), error.to_string());
    };
    let advice = "raise the limit, for example with \"ulimit -n\"";
    io::Error::new(
        error.kind(),
        format!(
            "{error}: expected {NEEDED} open files for the store in addition to those of \
             the program, found all in use that the limit of {limit} allows; {advice}"
        ),
    )
}
