//! [`NameTurns`]: lets calls change what a name stands for one after the other.
//!
//! A call takes a turn for all its names at once, and waits while another call has one for any of
//! them. So no two calls wait for each other. A turn is no lock: its holder may wait for the
//! device.
//!
//! Any thread. One lock and one condition.

use std::collections::BTreeSet;

use terrace_env::sync::{Condvar, Mutex};

/// See the [module](self).
#[derive(Default)]
pub(crate) struct NameTurns {
    taken: Mutex<Taken>,
    ended: Condvar,
}

#[derive(Default)]
struct Taken {
    names: BTreeSet<String>,
    /// Somebody has a turn for all names.
    all: bool,
}

/// A turn, until it is dropped.
pub(crate) struct NameTurn<'a> {
    turns: &'a NameTurns,
    /// The names; `None`: all.
    names: Option<BTreeSet<String>>,
}

impl NameTurns {
    /// Waits for a turn for these names.
    pub(crate) fn take<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> NameTurn<'_> {
        let names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
        let mut taken = self.taken.lock();
        while taken.all || !taken.names.is_disjoint(&names) {
            self.ended.wait(&mut taken);
        }
        taken.names.extend(names.iter().cloned());
        NameTurn { turns: self, names: Some(names) }
    }

    /// Waits for a turn for all names.
    pub(crate) fn take_all(&self) -> NameTurn<'_> {
        let mut taken = self.taken.lock();
        while taken.all || !taken.names.is_empty() {
            self.ended.wait(&mut taken);
        }
        taken.all = true;
        NameTurn { turns: self, names: None }
    }
}

impl Drop for NameTurn<'_> {
    fn drop(&mut self) {
        let mut taken = self.turns.taken.lock();
        match &self.names {
            Some(names) => taken.names.retain(|name| !names.contains(name)),
            None => taken.all = false,
        }
        drop(taken);
        self.turns.ended.notify_all();
    }
}
