//! What every [`Store`] must do, as checks that any implementation is run through.
//!
//! [`run`] needs nothing but empty stores. [`run_durable`] also closes stores, cuts their power and
//! looks at what is found again, and walks at random beside [`MemoryStore`](super::MemoryStore),
//! which serves as the model. A check that fails panics with what was expected and what was found;
//! the name of the check is printed before.
//!
//! The checks are sparing: at most three files are written at a time, and less than 4 MiB are ever
//! in use. They hold in simulations and on threads.
//!
//! What the contract leaves open is left open here: reading an uncommitted file, deleting a file
//! that is being written, reading the parts of trimmed blocks, and what becomes of unsynced bytes
//! when a store is closed without a power cut.

mod actions;
mod changes;
mod durability;
mod files;
mod names;
mod space;
mod walk;

use std::sync::Arc;

use super::Store;

/// A store that can be closed and found again.
pub trait Subject {
    /// The store, open. Checks drop every clone of it, and all handles, before they call the
    /// methods below.
    fn store(&self) -> Arc<dyn Store>;

    /// Closes the store properly and opens it again.
    fn reopen(&mut self);

    /// Cuts the power, losing unsynced bytes by seed, and opens the store again.
    fn power_cut(&mut self, seed: u64);
}

/// A check of a fresh store, under the name that is printed when it fails.
type Check = (&'static str, fn(&Arc<dyn Store>));

/// A check that closes the store and finds it again.
type DurableCheck = (&'static str, fn(&mut dyn Subject));

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
pub fn run_durable(factory: &dyn Fn() -> Box<dyn Subject>, seeds: std::ops::Range<u64>) {
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
