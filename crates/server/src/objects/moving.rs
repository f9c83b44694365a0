//! [`Moving`]: the puts that are on their way to a group, and the wait for them. [`Lane`]: the turn
//! to write a small body.
//!
//! Any thread may call. Waits have limits, and hold no other lock.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::runner;
use terrace_env::sync::{Condvar, Mutex};

/// Puts on their way: bodies that are being written, and members of a group whose entries are being
/// committed. Their clients may come back with the next body.
#[derive(Default)]
pub(super) struct Moving {
    puts: Mutex<usize>,
    changed: Condvar,
}

/// A put on its way, until this is dropped.
pub(super) struct Move(Arc<Moving>);

impl Moving {
    /// Counts a put.
    pub(super) fn begin(self: &Arc<Self>) -> Move {
        *self.puts.lock() += 1;
        self.changed.notify_all();
        Move(Arc::clone(self))
    }

    /// Waits until no put has been on its way for `linger`, but for at most `limit`.
    pub(super) fn await_end(&self, limit: Duration, linger: Duration) {
        let deadline = runner::now() + limit;
        let mut puts = self.puts.lock();
        while runner::now() < deadline {
            let quiet = deadline.min(runner::now() + linger);
            while *puts == 0 && runner::now() < quiet {
                self.changed.wait_until(&mut puts, quiet);
            }
            if *puts == 0 {
                return;
            }
            while *puts > 0 && !self.changed.wait_until(&mut puts, deadline).timed_out() {}
        }
    }
}

impl Drop for Move {
    fn drop(&mut self) {
        *self.0.puts.lock() -= 1;
        self.0.changed.notify_all();
    }
}

/// The turn to write a small body. Two that are written at the same time go to two zones, and the
/// head of the disk to both.
#[derive(Default)]
pub(super) struct Lane {
    is_taken: Mutex<bool>,
    freed: Condvar,
}

/// The turn, until it is dropped.
pub(super) struct LaneTurn<'a>(&'a Lane);

impl Lane {
    /// Waits for the turn. None after `limit`: its holder may wait for space.
    pub(super) fn take(&self, limit: Duration) -> Option<LaneTurn<'_>> {
        let deadline = runner::now() + limit;
        let mut is_taken = self.is_taken.lock();
        while *is_taken {
            if runner::now() >= deadline {
                return None;
            }
            self.freed.wait_until(&mut is_taken, deadline);
        }
        *is_taken = true;
        Some(LaneTurn(self))
    }
}

impl Drop for LaneTurn<'_> {
    fn drop(&mut self) {
        *self.0.is_taken.lock() = false;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    /// Time that a wait takes while puts are on their way from and to these milliseconds.
    fn wait_with(puts: &[(u32, u32)], limit: u32, linger: u32) -> Duration {
        let puts = puts.to_vec();
        runner::simulate(1, move || {
            let moving = Arc::<Moving>::default();
            let begun = runner::now();
            let actors: Vec<_> = puts
                .into_iter()
                .map(|(from, to)| {
                    let moving = Arc::clone(&moving);
                    runner::spawn("put", move || {
                        runner::sleep(MILLI * from);
                        let put = moving.begin();
                        runner::sleep(MILLI * (to - from));
                        drop(put);
                    })
                })
                .collect();
            runner::sleep(MILLI / 2);
            moving.await_end(MILLI * limit - MILLI / 2, MILLI * linger);
            let waited = runner::now() - begun;
            actors.into_iter().for_each(runner::JoinHandle::join);
            waited
        })
    }

    #[test]
    fn a_wait_ends_after_the_last_put_and_at_its_limit() {
        assert_eq!(wait_with(&[], 50, 0), MILLI / 2);
        assert_eq!(wait_with(&[(0, 7), (3, 9)], 50, 0), MILLI * 9);
        assert_eq!(wait_with(&[(0, 90)], 50, 0), MILLI * 50);
    }

    #[test]
    fn a_wait_lingers_for_puts_that_come_back() {
        assert_eq!(wait_with(&[(0, 7), (8, 20)], 50, 2), MILLI * 22);
        assert_eq!(wait_with(&[(0, 7), (10, 20)], 50, 2), MILLI * 9);
        assert_eq!(wait_with(&[(0, 49)], 50, 2), MILLI * 50);
    }

    #[test]
    fn one_put_at_a_time_has_the_turn_and_none_waits_for_it_beyond_the_limit() {
        runner::simulate(1, || {
            let lane = Arc::new(Lane::default());
            let turn = lane.take(MILLI).expect("the first turn");
            let begun = runner::now();
            assert!(lane.take(MILLI * 3).is_none());
            assert_eq!(runner::now() - begun, MILLI * 3);
            let other = {
                let lane = Arc::clone(&lane);
                runner::spawn("put", move || assert!(lane.take(MILLI * 3).is_some()))
            };
            runner::sleep(MILLI);
            drop(turn);
            other.join();
        });
    }
}
