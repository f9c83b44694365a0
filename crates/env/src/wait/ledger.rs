//! [`WaitLedger`]: collects the measured waits of one actor that end while the ledger is open, to
//! break down the time of one operation.
//!
//! # Threads
//! The list of open ledgers belongs to the OS thread. Simulated actors share it, so each entry
//! names its actor. A ledger must be closed or dropped by the actor that opened it.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::Duration;

use super::{WaitCause, Waits};
use crate::Time;
use crate::runner::{self, ActorKey};

thread_local! {
    static OPEN: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

struct Entry {
    actor: ActorKey,
    number: u64,
    /// Most operations do not wait. The counts are large, so they are made by the first wait.
    noted: Option<Box<Noted>>,
}

struct Noted {
    first: Time,
    waits: Waits,
}

/// Collects the waits of the actor that opened it, until it is closed or dropped. A ledger that is
/// open already goes on collecting, too. Without a wait, it costs no look at the clock.
#[derive(Debug)]
#[must_use = "a ledger that is dropped collects nothing"]
pub struct WaitLedger {
    number: u64,
    /// Keeps the ledger on its thread.
    _thread: PhantomData<*const ()>,
}

impl WaitLedger {
    /// An empty one, of the calling actor.
    pub fn open() -> Self {
        let actor = runner::actor();
        let number = OPEN.with_borrow_mut(|open| {
            let number = open.last().map_or(0, |last| last.number + 1);
            open.push(Entry { actor, number, noted: None });
            number
        });
        Self { number, _thread: PhantomData }
    }

    /// The waits since it was opened, and the time from the first one's begin up to now; `None` if
    /// there were none.
    #[must_use]
    pub fn close(self) -> Option<(Duration, Waits)> {
        let entry = remove(self.number);
        std::mem::forget(self);
        let noted = entry?.noted?;
        Some((runner::now().since(noted.first), noted.waits))
    }
}

impl Drop for WaitLedger {
    fn drop(&mut self) {
        drop(remove(self.number));
    }
}

fn remove(number: u64) -> Option<Entry> {
    let remove = |open: &RefCell<Vec<Entry>>| {
        let mut open = open.borrow_mut();
        let at = open.iter().rposition(|entry| entry.number == number)?;
        Some(open.remove(at))
    };
    OPEN.try_with(remove).ok().flatten()
}

/// An actor has waited.
pub(super) fn note(cause: WaitCause, since: Time, time: Duration) {
    let actor = runner::actor();
    let _ = OPEN.try_with(|open| {
        for entry in open.borrow_mut().iter_mut().filter(|entry| entry.actor == actor) {
            let fresh = || Box::new(Noted { first: since, waits: Waits::default() });
            entry.noted.get_or_insert_with(fresh).waits.note(cause, time);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::wait::WaitCounts;

    fn sleep(counts: &WaitCounts, cause: WaitCause, millis: u64) {
        counts.during(cause, || runner::sleep(Duration::from_millis(millis)));
    }

    #[test]
    fn a_ledger_has_the_waits_of_its_actor_and_the_counts_have_those_of_all() {
        runner::simulate(1, || {
            let counts = Arc::new(WaitCounts::default());
            let actors: Vec<_> = (1..=3)
                .map(|number| {
                    let counts = Arc::clone(&counts);
                    runner::spawn("actor", move || {
                        let ledger = WaitLedger::open();
                        sleep(&counts, WaitCause::Queue, number);
                        runner::sleep(Duration::from_millis(5));
                        sleep(&counts, WaitCause::Memtables, number * 10);
                        let (time, waits) = ledger.close().unwrap();
                        assert_eq!(waits.time(), Duration::from_millis(number * 11));
                        assert_eq!(time, waits.time() + Duration::from_millis(5));
                        assert_eq!(waits.of(WaitCause::Queue).nanos, number * 1_000_000);
                    })
                })
                .collect();
            actors.into_iter().for_each(runner::JoinHandle::join);
            let all = counts.read();
            let queue = all.of(WaitCause::Queue);
            assert_eq!((queue.count, queue.time()), (3, Duration::from_millis(6)));
            assert_eq!(all.of(WaitCause::Memtables).longest(), Duration::from_millis(30));
            assert_eq!(all.of(WaitCause::Pinned).count, 0);
        });
    }

    #[test]
    fn a_wait_that_is_looked_at_again_and_again_is_one_wait() {
        runner::simulate(1, || {
            let counts = WaitCounts::default();
            let mut clock = counts.clock();
            let ledger = WaitLedger::open();
            for cause in [WaitCause::Pinned, WaitCause::OpenZones, WaitCause::Pinned] {
                for _ in 0..10 {
                    clock.on(cause);
                    runner::sleep(Duration::from_millis(1));
                }
            }
            // Of no length.
            clock.on(WaitCause::Queue);
            drop(clock);
            let (time, waits) = ledger.close().unwrap();
            assert_eq!(
                (time, waits.time()),
                (Duration::from_millis(30), Duration::from_millis(30))
            );
            assert_eq!(waits, counts.read());
            assert_eq!(waits.of(WaitCause::Pinned).count, 2);
            assert_eq!(waits.of(WaitCause::Pinned).longest(), Duration::from_millis(10));
            assert_eq!(waits.iter().count(), 2);
            assert!(WaitLedger::open().close().is_none(), "an actor that has not waited");
        });
    }
}
