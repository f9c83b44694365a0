//! [`NameTurns`]: orders calls that change the file of a name one after the other.
//!
//! A call takes a turn for all its names at once, and waits while another call has one for any of
//! them. So no two calls wait for each other, if no holder of a turn asks for another one. A call
//! that waits for all names goes first: later calls wait for it. A turn is no lock: its holder may
//! wait for the device.
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
    /// Whether a call has a turn for all names.
    all: bool,
    /// Number of calls that wait for a turn for all names.
    waiting: usize,
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
        while taken.all || taken.waiting > 0 || !taken.names.is_disjoint(&names) {
            self.ended.wait(&mut taken);
        }
        taken.names.extend(names.iter().cloned());
        NameTurn { turns: self, names: Some(names) }
    }

    /// Waits for a turn for all names.
    pub(crate) fn take_all(&self) -> NameTurn<'_> {
        let mut taken = self.taken.lock();
        taken.waiting += 1;
        while taken.all || !taken.names.is_empty() {
            self.ended.wait(&mut taken);
        }
        taken.waiting -= 1;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use terrace_env::runner;

    use super::*;

    #[test]
    fn a_call_for_all_names_goes_before_those_that_come_later() {
        runner::simulate(1, || {
            let turns = Arc::new(NameTurns::default());
            let order = Arc::new(Mutex::new(Vec::new()));
            let first = turns.take(["a"]);
            let begin = |what: &'static str| {
                let (turns, order) = (Arc::clone(&turns), Arc::clone(&order));
                let call = runner::spawn(what, move || {
                    let turn = if what == "all" { turns.take_all() } else { turns.take([what]) };
                    order.lock().push(what);
                    drop(turn);
                });
                runner::sleep(Duration::from_millis(1));
                call
            };
            let calls = [begin("b"), begin("all"), begin("c")];
            assert_eq!(*order.lock(), ["b"]);
            drop(first);
            calls.into_iter().for_each(runner::JoinHandle::join);
            assert_eq!(*order.lock(), ["b", "all", "c"]);
        });
    }
}
