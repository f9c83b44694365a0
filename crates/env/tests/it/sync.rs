//! Locks and conditions. Most tests run one body on threads and in simulations; the others need the
//! order that a simulation has.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::runner::{self, simulate};
use terrace_env::sync::{Condvar, Mutex, RwLock};

use crate::panic_of;

/// Runs a body on threads and in several simulations.
fn in_both_worlds(body: impl Fn()) {
    body();
    for seed in 0..10 {
        simulate(seed, &body);
    }
}

/// A queue of at most two items between two producers and two consumers.
#[test]
fn items_pass_a_bounded_queue_once_each() {
    in_both_worlds(|| {
        let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new(), Condvar::new()));
        let producers: Vec<_> = (0..2)
            .map(|producer| {
                let queue = Arc::clone(&queue);
                runner::spawn("producer", move || {
                    for item in 0..50 {
                        let mut items = queue.0.lock();
                        queue.1.wait_while(&mut items, |items| items.len() == 2);
                        items.push(producer * 50 + item);
                        queue.2.notify_one();
                        drop(items);
                        runner::yield_now();
                    }
                })
            })
            .collect();
        let consumers: Vec<_> = (0..2)
            .map(|_| {
                let queue = Arc::clone(&queue);
                runner::spawn("consumer", move || {
                    let mut taken = Vec::new();
                    for _ in 0..50 {
                        let mut items = queue.0.lock();
                        while items.is_empty() {
                            queue.2.wait(&mut items);
                        }
                        taken.push(items.remove(0));
                        queue.1.notify_one();
                    }
                    taken
                })
            })
            .collect();
        producers.into_iter().for_each(|producer| producer.join());
        let mut all: Vec<i32> = consumers.into_iter().flat_map(|c| c.join()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn a_wait_with_a_limit_times_out_when_nobody_notifies() {
    in_both_worlds(|| {
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let begin = runner::now();
        let limit = Duration::from_millis(5);
        let mut guard = lock.lock();
        assert!(condition.wait_for(&mut guard, limit).timed_out());
        assert!(runner::now() - begin >= limit);
        let past = begin;
        assert!(condition.wait_until(&mut guard, past).timed_out());
    });
}

#[test]
fn a_notification_in_time_is_not_a_timeout() {
    in_both_worlds(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let notifier = runner::spawn("notifier", move || {
            runner::sleep(Duration::from_millis(1));
            *other.0.lock() = true;
            other.1.notify_all();
        });
        let mut ready = pair.0.lock();
        while !*ready {
            let wait = pair.1.wait_for(&mut ready, Duration::from_secs(100));
            assert!(!wait.timed_out());
        }
        drop(ready);
        notifier.join();
    });
}

#[test]
fn notify_all_wakes_everybody_and_notify_one_wakes_one() {
    simulate(0, || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let waiters: Vec<_> = (0..5)
            .map(|_| {
                let pair = Arc::clone(&pair);
                runner::spawn("waiter", move || {
                    let mut woken = pair.0.lock();
                    pair.1.wait(&mut woken);
                    *woken += 1;
                })
            })
            .collect();
        runner::yield_now();
        pair.1.notify_one();
        runner::yield_now();
        assert_eq!(*pair.0.lock(), 1);
        pair.1.notify_all();
        waiters.into_iter().for_each(|waiter| waiter.join());
        assert_eq!(*pair.0.lock(), 5);
    });
}

#[test]
fn the_lock_is_free_during_a_wait_and_held_after_it() {
    in_both_worlds(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&pair);
        let mut value = pair.0.lock();
        let writer = runner::spawn("writer", move || {
            *other.0.lock() = 7;
            other.1.notify_one();
        });
        pair.1.wait_while(&mut value, |value| *value == 0);
        assert_eq!(*value, 7);
        assert!(pair.0.try_lock().is_none());
        drop(value);
        writer.join();
    });
}

#[cfg(debug_assertions)]
#[test]
fn a_lock_held_over_a_wait_panics_with_its_place() {
    use terrace_env::sync::assert_no_lock_held;

    let held_over = |what: &str, wait: &dyn Fn()| {
        for report in [panic_of(wait), panic_of(|| simulate(0, wait))] {
            let place = "the lock taken at crates/env/tests/it/sync.rs:";
            assert!(report.starts_with(place) && report.ends_with(what), "{report}");
        }
    };
    let (lock, other) = (Mutex::new(0), RwLock::new(0));
    held_over("a sleep", &|| {
        let _guard = lock.lock();
        runner::sleep(Duration::from_millis(1));
    });
    held_over("a yield", &|| {
        let _guard = other.read();
        runner::yield_now();
    });
    held_over("a charge of processor time", &|| {
        let _guard = other.write();
        runner::charge(Duration::from_millis(1));
    });
    held_over("a join", &|| {
        let actor = runner::spawn("actor", || ());
        let _guard = lock.lock();
        actor.join();
    });
    held_over("a wait for a condition", &|| {
        let _outer = other.read();
        Condvar::new().wait(&mut lock.lock());
    });
    held_over("a device call", &|| {
        let _guard = lock.lock();
        assert_no_lock_held("a device call");
    });
    assert_no_lock_held("the end of the test");
}

#[test]
fn a_contended_lock_in_a_simulation_panics_instead_of_stopping_the_world() {
    let (lock, both) = (Mutex::new(()), RwLock::new(()));
    let twice = panic_of(|| {
        simulate(0, || {
            let _first = lock.lock();
            let _second = lock.lock();
        })
    });
    assert!(twice.contains("contended mutex in a simulation"), "{twice}");
    simulate(0, || {
        let _readers = (both.read(), both.read());
        assert!(both.try_write().is_none());
        let writer = panic_of(|| drop(both.write()));
        assert!(writer.contains("contended reader-writer lock"), "{writer}");
    });
}
