//! [`EffectOrder`]: the effects of transactions are carried out one after the other, in the order
//! in which the transactions were staged.
//!
//! A commit takes its [`Place`] while it is staged. It waits for its turn, carries out its effects,
//! and drops the place. A place may be dropped before its turn, as by a panic: the order then skips
//! it.
//!
//! Threads: any. The lock is taken under the journal's. The caller of a wait must hold no lock.

use std::collections::BTreeSet;

use terrace_env::sync::{Condvar, Mutex};

/// See the [module](self).
#[derive(Default)]
pub(super) struct EffectOrder {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of the next place that is given out.
    given: u64,
    /// The place whose turn it is.
    next: u64,
    /// Places after that one that were dropped before their turn.
    dropped: BTreeSet<u64>,
}

/// A place in the order, until it is dropped.
pub(super) struct Place<'a> {
    order: &'a EffectOrder,
    number: u64,
}

impl EffectOrder {
    /// The place after all that were taken before.
    pub(super) fn take_place(&self) -> Place<'_> {
        let mut state = self.state.lock();
        state.given += 1;
        Place { order: self, number: state.given - 1 }
    }
}

impl Place<'_> {
    /// Waits until all places before this one are dropped.
    pub(super) fn await_turn(&self) {
        let mut state = self.order.state.lock();
        self.order.ended.wait_while(&mut state, |state| state.next != self.number);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.order.state.lock();
        debug_assert!(self.number < state.given && self.number >= state.next, "{}", self.number);
        let State { next, dropped, .. } = &mut *state;
        dropped.insert(self.number);
        while dropped.remove(next) {
            *next += 1;
        }
        debug_assert!(dropped.first().is_none_or(|first| *first > *next), "a turn was passed over");
        drop(state);
        self.order.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use terrace_env::runner;

    use super::*;

    #[test]
    fn turns_come_in_the_order_of_places_and_pass_those_that_were_dropped() {
        runner::simulate(1, || {
            let (order, ended) = (Arc::new(EffectOrder::default()), Arc::new(Mutex::new(vec![])));
            let actor = |number: u64| {
                let (order, ended) = (Arc::clone(&order), Arc::clone(&ended));
                runner::spawn("committer", move || {
                    // The places are taken in the order of the actors.
                    runner::sleep(Duration::from_micros(number));
                    let place = order.take_place();
                    runner::sleep(Duration::from_millis(10 - number));
                    if number == 2 {
                        return;
                    }
                    place.await_turn();
                    ended.lock().push(number);
                })
            };
            let actors: Vec<_> = (0..5).map(actor).collect();
            actors.into_iter().for_each(runner::JoinHandle::join);
            assert_eq!(*ended.lock(), [0, 1, 3, 4]);
            order.take_place().await_turn();
        });
    }
}
