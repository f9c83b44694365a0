//! The simulated runner: order, time, panics, leaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::Time;
use terrace_env::random::Rng;
use terrace_env::runner::{self, SimulationOptions, simulate};
use terrace_env::sync::{Condvar, Mutex};

use crate::panic_of;

const MS: Duration = Duration::from_millis(1);

/// Some actors that sleep at random; returns their steps, in order, and the hash of the schedule.
fn random_history(seed: u64) -> (Vec<(u64, usize)>, u64) {
    simulate(seed, || {
        let log = Arc::new(Mutex::new(Vec::new()));
        let actors: Vec<_> = (0..8)
            .map(|actor| {
                let log = Arc::clone(&log);
                runner::spawn("walker", move || {
                    let mut random = runner::fork_random();
                    for _ in 0..20 {
                        runner::sleep(Duration::from_micros(random.random_range(0..5)));
                        log.lock().push((runner::now().0, actor));
                    }
                })
            })
            .collect();
        actors.into_iter().for_each(|actor| actor.join());
        let log = log.lock().clone();
        (log, runner::history().expect("a simulation"))
    })
}

#[test]
fn the_same_seed_gives_the_same_history_and_another_seed_another() {
    for seed in 0..20 {
        assert_eq!(random_history(seed), random_history(seed));
        assert_ne!(random_history(seed).1, random_history(seed + 1).1);
    }
}

#[test]
fn the_smallest_time_runs_first_and_ids_break_ties() {
    let (log, _) = random_history(3);
    assert!(log.is_sorted_by_key(|(time, _)| *time));
    let order = simulate(0, || {
        let log = Arc::new(Mutex::new(Vec::new()));
        let actors: Vec<_> = [30, 10, 20, 10]
            .into_iter()
            .enumerate()
            .map(|(actor, ms)| {
                let log = Arc::clone(&log);
                runner::spawn("sleeper", move || {
                    runner::sleep(MS * ms);
                    log.lock().push(actor);
                })
            })
            .collect();
        actors.into_iter().for_each(|actor| actor.join());
        log.lock().clone()
    });
    assert_eq!(order, [1, 3, 2, 0]);
}

#[test]
fn virtual_time_stands_still_while_actors_compute_and_jumps_while_they_sleep() {
    simulate(0, || {
        assert!(runner::is_simulated());
        assert_eq!(runner::now(), Time(0));
        runner::sleep(Duration::from_secs(86_400));
        assert_eq!(runner::now(), Time(86_400_000_000_000));
        runner::sleep_until(Time(5));
        assert_eq!(runner::now(), Time(86_400_000_000_000), "the past is not waited for");
        runner::charge(MS);
        assert_eq!(runner::now(), Time(86_400_001_000_000));
    });
    assert!(!runner::is_simulated());
}

#[test]
fn a_precise_sleep_in_virtual_time_ends_at_its_time_and_takes_no_processor() {
    let ends = simulate(1, || {
        [500, 2_000_000_000, 7].map(|nanos| {
            let time = Time(runner::now().0 + nanos);
            runner::sleep_until_precisely(time);
            runner::now().since(time)
        })
    });
    assert_eq!(ends, [Duration::ZERO; 3]);
}

#[test]
fn an_actor_may_take_more_with_it_than_fits_a_kib() {
    simulate(1, || {
        let large = [7_u8; 5000];
        let sum =
            runner::spawn("large", move || large.iter().map(|byte| u64::from(*byte)).sum::<u64>());
        assert_eq!(sum.join(), 35_000);
    });
}

#[test]
fn yielding_in_a_loop_lets_everybody_run() {
    simulate(0, || {
        let done = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&done);
        let actor = runner::spawn("late", move || {
            runner::sleep(Duration::from_micros(1));
            set.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            runner::yield_now();
        }
        actor.join();
    });
}

#[test]
fn a_panic_of_an_actor_reaches_the_caller_with_its_payload() {
    let unjoined = panic_of(|| {
        simulate(1, || {
            let _actor = runner::spawn("faulty", || panic!("found 3 of 4"));
            runner::sleep(Duration::from_secs(1));
            unreachable!("the root goes on after an actor has panicked");
        })
    });
    assert_eq!(unjoined, "found 3 of 4");
    let chained = panic_of(|| {
        simulate(1, || {
            let outer = runner::spawn("outer", || {
                let inner = runner::spawn("inner", || panic!("at the bottom"));
                inner.join();
            });
            outer.join();
        })
    });
    assert_eq!(chained, "at the bottom");
}

#[test]
fn a_panic_can_be_collected_by_who_joins() {
    let body = || {
        let actor = runner::spawn("faulty", || panic!("on purpose"));
        assert!(actor.try_join().is_err());
        runner::spawn("sound", || 5).join()
    };
    assert_eq!(simulate(0, body), 5);
    assert_eq!(body(), 5);
}

#[test]
fn a_deadlock_names_each_actor_and_what_it_waits_for() {
    let report = panic_of(|| {
        simulate(0, || {
            let pair = Arc::new((Mutex::new(()), Condvar::new()));
            let waiter = runner::spawn("reader", move || pair.1.wait(&mut pair.0.lock()));
            waiter.join();
        })
    });
    assert!(report.starts_with("deadlock"), "{report}");
    assert!(report.contains("reader: waits for a notification at crates/env/tests/it/runner.rs"));
    assert!(report.contains("root: waits for the end of reader at crates/env/tests/it/runner.rs"));
}

#[test]
fn an_actor_that_outlives_the_root_is_a_named_leak() {
    let report = panic_of(|| {
        simulate(0, || {
            runner::spawn("ticker", || {
                loop {
                    runner::sleep(MS);
                }
            });
            runner::sleep(MS * 5);
        })
    });
    assert!(report.contains("outlived") && report.contains("ticker"), "{report}");
}

/// A worker that is told to stop, and joined, by its owner's destructor.
struct Service {
    state: Arc<(Mutex<bool>, Condvar)>,
    worker: Option<runner::JoinHandle<()>>,
    stopped: Arc<AtomicU64>,
}

impl Service {
    fn start(stopped: &Arc<AtomicU64>) -> Self {
        let state = Arc::new((Mutex::new(false), Condvar::new()));
        let shared = Arc::clone(&state);
        let worker = runner::spawn("worker", move || {
            let mut stop = shared.0.lock();
            shared.1.wait_while(&mut stop, |stop| !*stop);
        });
        Self { state, worker: Some(worker), stopped: Arc::clone(stopped) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        *self.state.0.lock() = true;
        self.state.1.notify_all();
        let worker = self.worker.take().expect("a worker that runs");
        if worker.try_join().is_ok() {
            self.stopped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn destructors_may_wait_while_the_root_unwinds() {
    let stopped = Arc::new(AtomicU64::new(0));
    let message = panic_of(|| {
        simulate(0, || {
            let _service = Service::start(&stopped);
            runner::sleep(MS);
            panic!("the root fails");
        })
    });
    assert_eq!(message, "the root fails");
    assert_eq!(stopped.load(Ordering::Relaxed), 1);
}

#[test]
fn cancelled_actors_run_their_destructors_youngest_first() {
    let stopped = Arc::new(AtomicU64::new(0));
    let message = panic_of(|| {
        simulate(0, || {
            let service = Arc::new(Service::start(&stopped));
            for _ in 0..3 {
                let service = Arc::clone(&service);
                runner::spawn("client", move || {
                    runner::sleep(Duration::from_secs(1_000));
                    drop(service);
                });
            }
            drop(service);
            runner::sleep(MS);
            panic!("the root fails");
        })
    });
    assert_eq!(message, "the root fails");
    assert_eq!(stopped.load(Ordering::Relaxed), 1, "the last client stopped the worker");
}

#[test]
fn a_destructor_that_waits_for_ever_does_not_hang_or_abort() {
    struct Stuck(Arc<(Mutex<()>, Condvar)>);
    impl Drop for Stuck {
        fn drop(&mut self) {
            self.0.1.wait(&mut self.0.0.lock());
        }
    }
    // On a thread of its own: the leaked actor stays half unwound.
    let body = || {
        simulate(0, || {
            let pair = Arc::new((Mutex::new(()), Condvar::new()));
            runner::spawn("stuck", move || {
                let _stuck = Stuck(pair);
                runner::sleep(Duration::from_secs(1));
            });
            runner::sleep(MS);
        })
    };
    let report = runner::spawn("isolated", move || panic_of(body)).join();
    assert!(report.contains("outlived"), "{report}");
}

#[test]
fn a_limit_on_virtual_time_ends_actors_that_poll_for_ever() {
    let report = panic_of(|| {
        SimulationOptions::seeded(0).time_max(Duration::from_secs(60)).run(|| {
            loop {
                runner::sleep(MS);
            }
        })
    });
    assert!(report.contains("past its limit of 60s"), "{report}");
}

#[test]
fn actors_that_poll_for_each_other_are_a_livelock_that_names_them() {
    for rest in [Duration::from_nanos(1), MS * 100] {
        let report = panic_of(|| {
            simulate(0, || {
                let never = Arc::new(AtomicBool::new(false));
                let poller = runner::spawn("poller", move || {
                    while !never.load(Ordering::Relaxed) {
                        runner::sleep(rest);
                    }
                });
                poller.join();
            })
        });
        assert!(report.starts_with("livelock"), "{report}");
        let place = "poller: can run, waited last at crates/env/tests/it/runner.rs";
        assert!(report.contains(place), "{report}");
    }
}

#[test]
fn a_simulation_without_limits_runs_for_years() {
    let year = Duration::from_secs(365 * 86_400);
    SimulationOptions::seeded(0).unlimited().run(|| runner::sleep(year));
}

#[test]
fn a_thread_can_run_another_simulation_after_one_failed() {
    panic_of(|| simulate(0, || panic!("first")));
    assert_eq!(simulate(0, runner::now), Time(0));
    assert!(panic_of(|| simulate(0, || simulate(1, || ()))).contains("inside a simulation"));
}

#[test]
fn simulations_run_side_by_side_on_several_threads() {
    let threads: Vec<_> =
        (0..4).map(|seed| runner::spawn("host", move || random_history(seed))).collect();
    for (seed, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join(), random_history(seed as u64));
    }
}

#[test]
fn thousands_of_simulations_take_a_moment() {
    let begin = runner::now();
    for seed in 0..5_000 {
        let sum = simulate(seed, || {
            let actors: Vec<_> = (0..4u64)
                .map(|n| {
                    runner::spawn("adder", move || {
                        for _ in 0..10 {
                            runner::sleep(MS);
                        }
                        n
                    })
                })
                .collect();
            actors.into_iter().map(|actor| actor.join()).sum::<u64>()
        });
        assert_eq!(sum, 6);
    }
    let took = runner::now() - begin;
    // Less than a second on an idle machine; the rest is for slow and busy ones.
    assert!(took < Duration::from_secs(30), "5,000 simulations of 40 sleeps took {took:?}");
}
