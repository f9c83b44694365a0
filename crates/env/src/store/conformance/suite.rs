//! Runs the conformance checks of a store, each on a new, empty store. The first check that fails
//! ends the run with a panic.

use std::ops::Range;
use std::sync::Arc;

use super::{Subject, changes, durability, files, names, space, walk};
use crate::Store;

/// A check of a fresh store, under the name that is printed when it fails.
pub(super) type Check = (&'static str, fn(&Arc<dyn Store>));

/// A check that closes the store and finds it again.
pub(super) type DurableCheck = (&'static str, fn(&mut dyn Subject));

/// Runs all checks that need no power cut, each on a fresh and empty store from `factory`.
///
/// # Panics
/// When a check fails.
pub fn run(factory: &dyn Fn() -> Arc<dyn Store>) {
    let checks = [files::CHECKS, changes::CHECKS, names::CHECKS, space::CHECKS];
    for (name, check) in checks.into_iter().flatten() {
        let _named = Named(name);
        check(&factory());
    }
}

/// Runs all checks of [`run`], and those that reopen the store and cut its power, each on a fresh
/// and empty store; the random walks by these seeds.
///
/// # Panics
/// When a check fails.
pub fn run_durable(factory: &dyn Fn() -> Box<dyn Subject>, seeds: Range<u64>) {
    let checks = [files::CHECKS, changes::CHECKS, names::CHECKS, space::CHECKS];
    for (name, check) in checks.into_iter().flatten() {
        let _named = Named(name);
        let subject = factory();
        check(&subject.store());
    }
    for (name, check) in durability::CHECKS {
        let _named = Named(name);
        check(&mut *factory());
    }
    for seed in seeds {
        let name = format!("a random walk by seed {seed}");
        let _named = Named(&name);
        walk::walk(&mut *factory(), seed);
    }
}

/// Tells which check was running when a panic passes.
struct Named<'a>(&'a str);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("store conformance failed: {}", self.0);
        }
    }
}
