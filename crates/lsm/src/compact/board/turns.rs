//! Turns and claims of the [`Board`]: each ends when it is dropped, also by a panic.
//!
//! - [`Choosing`]: the turn to choose a plan, which one actor has at a time.
//! - [`Claimed`]: the part of the tree that a plan in flight may change. Claims do not overlap.
//! - [`Admitted`]: new data on its way below level 0, which keeps compactions from beginning.
//!
//! Any thread. Each takes the lock of the board for one access.

use terrace_policy::{Choice, Claim};

use super::Board;
use crate::canary::{self, Rule};

/// The turn to choose a plan, until a choice is made or this is dropped.
pub(crate) struct Choosing<'a> {
    pub(super) board: &'a Board,
}

impl<'a> Choosing<'a> {
    /// The number of a choice. Later choices have higher ones.
    pub(crate) fn number(&self) -> u64 {
        let mut state = self.board.state.lock();
        state.choices += 1;
        state.choices
    }

    /// Claims the part of the tree that the chosen plan may change, and ends the turn to choose.
    /// The error is the claim of a plan in flight that overlaps this one.
    pub(crate) fn claim(self, choice: &Choice) -> Result<Claimed<'a>, Claim> {
        let number = self.number();
        let mut state = self.board.state.lock();
        if let Some(claim) = Claim::of(&choice.plan) {
            let met = state.claims.values().find(|other| other.meets(&claim));
            if let Some(met) = met
                && !canary::is_broken(Rule::ClaimsDoNotMeet)
            {
                return Err(met.clone());
            }
            let before = state.claims.insert(number, claim);
            debug_assert!(before.is_none(), "choice {number} claims twice");
            debug_assert!(state.claims.len() <= state.running, "a claim without a task");
        }
        state.chosen_state.clone_from(&choice.state);
        drop(state);
        Ok(Claimed { board: self.board, number })
    }
}

impl Drop for Choosing<'_> {
    fn drop(&mut self) {
        self.board.change(|state| {
            debug_assert!(state.choosing && state.running > 0, "the turn of a task");
            state.choosing = false;
        });
    }
}

/// New data on its way below level 0, until this is dropped.
pub(crate) struct Admitted<'a> {
    pub(super) board: &'a Board,
    pub(super) number: u64,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.board.change(|state| drop(state.admitted.remove(&self.number)));
    }
}

/// The claim of a plan in flight, until it is dropped.
pub(crate) struct Claimed<'a> {
    pub(super) board: &'a Board,
    pub(super) number: u64,
}

impl Claimed<'_> {
    /// The number of the choice.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        self.board.change(|state| drop(state.claims.remove(&self.number)));
    }
}
