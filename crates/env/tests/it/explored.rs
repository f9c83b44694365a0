//! Explored schedules: mistakes that threads show by chance only are found by some seeds, and the
//! same seed finds them again.

use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::runner::{self, SimulationOptions};
use terrace_env::sync::{Condvar, Mutex, switch_point};

/// Runs `body` under explored schedules; for how many of the seeds it returns true.
fn explored(seeds: u64, body: impl Fn() -> bool) -> usize {
    (0..seeds).filter(|seed| SimulationOptions::seeded(*seed).explore().run(&body)).count()
}

/// Two actors that add to a number; whether an addition was lost.
fn adders(add: impl Fn(&Mutex<u64>) + Send + Clone + 'static) -> bool {
    let number = Arc::new(Mutex::new(0));
    let adders: Vec<_> = (0..2)
        .map(|_| {
            let (number, add) = (Arc::clone(&number), add.clone());
            runner::spawn("adder", move || (0..5).for_each(|_| add(&number)))
        })
        .collect();
    adders.into_iter().for_each(|adder| adder.join());
    let sum = *number.lock();
    sum != 10
}

fn add_in_two_steps(number: &Mutex<u64>) {
    let before = *number.lock();
    *number.lock() = before + 1;
}

#[test]
fn a_value_that_is_read_under_one_lock_and_written_under_another_is_lost() {
    assert!(!runner::simulate(0, || adders(add_in_two_steps)), "a plain simulation sees nothing");
    assert!(explored(20, || adders(add_in_two_steps)) > 5);
    assert_eq!(explored(20, || adders(|number| *number.lock() += 1)), 0);
}

#[test]
fn others_come_in_at_a_switch_point_between_two_looks_at_atomics() {
    let torn = || {
        let pair = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let written = Arc::clone(&pair);
        let writer = runner::spawn("writer", move || {
            for number in 1..10 {
                written.0.store(number, Ordering::Release);
                switch_point();
                written.1.store(number, Ordering::Release);
                switch_point();
            }
        });
        let mut torn = false;
        for _ in 0..10 {
            let first = pair.0.load(Ordering::Acquire);
            switch_point();
            torn |= pair.1.load(Ordering::Acquire) < first;
            switch_point();
        }
        writer.join();
        torn
    };
    assert!(!runner::simulate(0, torn));
    assert!(explored(20, torn) > 5);
}

#[test]
fn the_same_seed_explores_the_same_schedule_and_another_seed_another() {
    let history = |seed| {
        SimulationOptions::seeded(seed).explore().run(|| {
            adders(add_in_two_steps);
            runner::history()
        })
    };
    for seed in 0..20 {
        assert_eq!(history(seed), history(seed));
        assert_ne!(history(seed), history(seed + 1));
    }
}

#[test]
fn a_simulation_that_fails_leaves_the_thread_fit_for_the_next() {
    for seed in 0..100 {
        let simulation = SimulationOptions::seeded(seed).explore();
        let failed = catch_unwind(|| {
            simulation.run(|| {
                let number = Arc::new(Mutex::new(0));
                for _ in 0..3 {
                    let number = Arc::clone(&number);
                    runner::spawn("adder", move || *number.lock() += 1);
                }
                runner::sleep(Duration::from_nanos(seed));
                resume_unwind(Box::new("the root fails"));
            })
        });
        assert!(failed.unwrap_err().is::<&str>(), "seed {seed}");
        assert!(!runner::is_simulated(), "seed {seed}");
    }
}

#[test]
fn nobody_comes_in_between_while_a_lock_is_held() {
    explored(20, || {
        let outer = Arc::new((Mutex::new(0_u64), Mutex::new(0_u64), Condvar::new()));
        let actors: Vec<_> = (0..3)
            .map(|_| {
                let outer = Arc::clone(&outer);
                runner::spawn("nester", move || {
                    for _ in 0..10 {
                        let mut sum = outer.0.lock();
                        switch_point();
                        *outer.1.lock() += 1;
                        *sum += 1;
                        assert_eq!(*sum, *outer.1.lock());
                        outer.2.notify_all();
                    }
                })
            })
            .collect();
        let mut sum = outer.0.lock();
        outer.2.wait_while(&mut sum, |sum| *sum < 30);
        drop(sum);
        actors.into_iter().for_each(|actor| actor.join());
        true
    });
}
