//! Linearizability check of one key (Herlihy and Wing, "Linearizability", 1990). The answers that
//! threads got are linearizable if the operations could have taken effect one after the other, each
//! at some moment between its call and its return.
//!
//! The check goes through the calls and returns in the order of time. It keeps a set of possible
//! *explanations*: a value of the key, and which running operations have taken effect (Lowe,
//! "Testing for linearizability", 2017).
//!
//! 1. A call adds its operation to the running ones.
//! 2. A return requires that its operation has taken effect. Where an explanation lacks it, running
//!    operations take effect in every possible order until it has. Explanations for which this
//!    fails are dropped.
//! 3. If no explanation is left, the history is not linearizable.
//!
//! Limits: the key holds nothing at first, and all calls have returned. A write that failed, and
//! may or may not have happened, cannot be expressed. Two calls also overlap if one ends at the
//! very time at which the other starts. The more calls run at once, the more explanations there can
//! be.

use std::collections::BTreeSet;

use terrace_env::Time;

/// A write, or a read and the value that it saw, or both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Wrote a value, or deleted the key.
    Write(Option<u64>),
    /// Found a value, or nothing. A conditional write that did not take place is a read, too.
    Read(Option<u64>),
    /// A conditional write: found the first value, and wrote the second one in its place.
    Swap(Option<u64>, Option<u64>),
}

impl Action {
    /// The value that the key holds after the action, if the action is possible on a key that holds
    /// `holds`.
    fn on(self, holds: Option<u64>) -> Option<Option<u64>> {
        match self {
            Self::Write(value) => Some(value),
            Self::Read(value) => (value == holds).then_some(holds),
            Self::Swap(found, value) => (found == holds).then_some(value),
        }
    }
}

/// An operation on the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// A time not later than the call's beginning.
    pub start: Time,
    /// A time not earlier than the call's return.
    pub end: Time,
    /// The action, with its observation.
    pub action: Action,
}

/// An operation up to whose return there is an explanation, and beyond it none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no order explains {call:?} together with {beside:?}, when the key can hold {held:?}")]
pub struct Inexplicable {
    /// The operation.
    pub call: Call,
    /// Calls that were running when it returned.
    pub beside: Vec<Call>,
    /// Values that the key can hold then.
    pub held: Vec<Option<u64>>,
}

/// A way to explain the observations so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Explanation {
    holds: Option<u64>,
    /// Running operations that have taken effect.
    done: BTreeSet<usize>,
}

impl Explanation {
    /// The explanation in which `call` takes effect next, if its observation allows that.
    fn with(&self, number: usize, call: &Call) -> Option<Self> {
        let holds = call.action.on(self.holds)?;
        let mut done = self.done.clone();
        done.insert(number).then_some(Self { holds, done })
    }
}

/// Checks the history of a key that held nothing at first. All calls have returned.
pub fn check(calls: &[Call]) -> Result<(), Inexplicable> {
    let starts = calls.iter().enumerate().map(|(number, call)| (call.start, false, number));
    let ends = calls.iter().enumerate().map(|(number, call)| (call.end, true, number));
    // At the same time, starts come first: the operations may have overlapped.
    let mut events: Vec<(Time, bool, usize)> = starts.chain(ends).collect();
    events.sort_unstable();
    let first = Explanation { holds: None, done: BTreeSet::new() };
    let mut explanations = BTreeSet::from([first]);
    let mut under_way = BTreeSet::new();
    for (_, returned, number) in events {
        if !returned {
            under_way.insert(number);
            continue;
        }
        let possible = extended(&explanations, &under_way, calls, number);
        if possible.is_empty() {
            under_way.remove(&number);
            let beside = under_way.iter().map(|&number| calls[number]).collect();
            let held = explanations.iter().map(|one| one.holds).collect();
            return Err(Inexplicable { call: calls[number], beside, held });
        }
        under_way.remove(&number);
        explanations = possible;
    }
    Ok(())
}

/// The explanations in which `number`, which returns, has taken effect; it is not running any more.
fn extended(
    explanations: &BTreeSet<Explanation>,
    under_way: &BTreeSet<usize>,
    calls: &[Call],
    number: usize,
) -> BTreeSet<Explanation> {
    let mut possible = BTreeSet::new();
    let mut seen = explanations.clone();
    let mut open: Vec<Explanation> = explanations.iter().cloned().collect();
    while let Some(mut one) = open.pop() {
        if one.done.remove(&number) {
            possible.insert(one);
            continue;
        }
        let next = under_way.iter().filter_map(|&other| one.with(other, &calls[other]));
        open.extend(next.filter(|next| seen.insert(next.clone())));
    }
    possible
}

#[cfg(test)]
mod tests {
    use terrace_env::random::{Random, Rng};

    use super::*;

    fn call(start: u64, end: u64, action: Action) -> Call {
        Call { start: Time(start), end: Time(end), action }
    }

    #[test]
    fn overlapping_operations_may_take_effect_in_either_order() {
        for seen in [None, Some(1), Some(2)] {
            let calls = [
                call(0, 10, Action::Write(Some(1))),
                call(0, 10, Action::Write(Some(2))),
                call(5, 8, Action::Read(seen)),
            ];
            assert_eq!(check(&calls), Ok(()));
        }
    }

    #[test]
    fn a_stale_a_lost_and_an_invented_value_cannot_be_explained() {
        let write = |start, end, value| call(start, end, Action::Write(value));
        let read = |start, end, value| call(start, end, Action::Read(value));
        let swap = |start, end, found, value| call(start, end, Action::Swap(found, value));
        for calls in [
            vec![write(0, 1, Some(1)), write(2, 3, Some(2)), read(4, 5, Some(1))],
            vec![write(0, 1, Some(1)), read(2, 3, None)],
            vec![write(0, 1, None), read(2, 3, Some(7))],
            // Seen once, a value cannot be unseen.
            vec![write(0, 9, Some(1)), read(1, 2, Some(1)), read(3, 4, None)],
            // Of two conditional writes that expect the same value, one loses.
            vec![swap(0, 9, None, Some(1)), swap(0, 9, None, Some(2))],
            // A write between the read of a conditional write and its own write would be lost.
            vec![swap(0, 9, None, Some(1)), write(2, 3, Some(2)), read(4, 5, None)],
        ] {
            assert!(check(&calls).is_err(), "{calls:?}");
        }
    }

    /// Tries every order.
    fn by_brute_force(calls: &[Call], done: &mut Vec<usize>, holds: Option<u64>) -> bool {
        if done.len() == calls.len() {
            return true;
        }
        (0..calls.len()).any(|next| {
            let earlier = |other: usize| calls[other].end < calls[next].start;
            let waits = (0..calls.len()).any(|other| earlier(other) && !done.contains(&other));
            let Some(holds) = calls[next].action.on(holds) else { return false };
            if done.contains(&next) || waits {
                return false;
            }
            done.push(next);
            let explained = by_brute_force(calls, done, holds);
            done.pop();
            explained
        })
    }

    #[test]
    fn small_histories_are_judged_as_by_trying_every_order() {
        let mut good = 0;
        for seed in 0..3_000 {
            let random = &mut Random::seeded(seed);
            let value = |random: &mut Random| Some(random.random_range(0..3)).filter(|&v| v > 0);
            let calls: Vec<Call> = (0..random.random_range(1..7))
                .map(|_| {
                    let start = random.random_range(0..12);
                    let end = start + random.random_range(1..6);
                    let action = match random.random_range(0..5) {
                        0..2 => Action::Write(value(random)),
                        2..4 => Action::Read(value(random)),
                        _ => Action::Swap(value(random), value(random)),
                    };
                    call(start, end, action)
                })
                .collect();
            let expected = by_brute_force(&calls, &mut Vec::new(), None);
            assert_eq!(check(&calls).is_ok(), expected, "seed {seed}: {calls:?}");
            good += u32::from(expected);
        }
        assert!((300..2_700).contains(&good), "{good} good histories prove little");
    }
}
