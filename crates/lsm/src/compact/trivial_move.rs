//! Trivial moves: segments (tables, or ranges of tables) go to another place of the tree by
//! metadata alone. Segments that hold only deletes with nothing below them can leave the tree in
//! the same way. No entry is read or written; a move of a part of a segment reads the table's
//! index.
//!
//! 1. The caller has chosen the first moves, and has checked them.
//! 2. The caller's chooser is asked for the next choice, for the tree after these moves, and so on.
//!    The series ends when it has the number of choices that the decider (the compaction policy)
//!    allows, when nothing is chosen, or when a choice cannot be committed with these moves. A
//!    choice with a move out of the tree is committed alone.
//! 3. One transaction commits all moves and the decider's state after the last choice. So data that
//!    arrives in key order can go down many levels for the price of one commit.
//!
//! If a choice of the series is illegal, nothing is moved. The caller must have the turn to choose
//! a plan, or a claim for its choice.

use terrace_env::ByteCount;
use terrace_policy::{Choice, Move, Place, Plan, TreeView};

use super::compactor::Compactor;
use crate::Error;
use crate::tree::{DeciderState, Edit, Version};

/// Chooses the next plan for a tree, given the decider's state.
pub(crate) type Chooser<'a> = &'a dyn Fn(&TreeView, &[u8]) -> Option<Choice>;

/// Consecutive moves, as one change.
struct TrivialMoves {
    /// The most choices that are committed together.
    most: u64,
    /// From the first to the last place of each part.
    moves: Vec<Move>,
    choices: u64,
    /// Bytes that came to each place, including places in between.
    sizes: Vec<(Place, ByteCount)>,
}

impl TrivialMoves {
    fn new(most: usize) -> Self {
        Self { most: most as u64, moves: Vec::new(), choices: 0, sizes: Vec::new() }
    }

    /// Adds the moves of one choice on the tree after the earlier moves.
    fn add(&mut self, ahead: &Version, moves: Vec<Move>) -> Result<(), Error> {
        let mut edit = Edit::default();
        for one in moves {
            self.sizes.extend(edit.carry(ahead, &one)?);
            match self.moves.iter_mut().find(|before| goes_on(before, &one)) {
                Some(before) => before.to = one.to,
                None => self.moves.push(one),
            }
        }
        self.choices += 1;
        Ok(())
    }

    /// Whether these moves can be made by the same change: dropped parts are freed only by the
    /// commit, and a part moves on unchanged.
    fn takes(&self, moves: &[Move]) -> bool {
        let follows = |one: &Move| {
            let mut of_table = self.moves.iter().filter(|before| before.part.file == one.part.file);
            of_table.all(|before| goes_on(before, one))
        };
        self.choices < self.most
            && self.moves.iter().chain(moves).all(|one| one.to.is_some())
            && moves.iter().all(follows)
    }

    fn edit(&self, version: &Version) -> Result<Edit, Error> {
        let mut edit = Edit::default();
        for one in &self.moves {
            edit.carry(version, one)?;
        }
        Ok(edit)
    }
}

/// Whether a move begins where the other ends.
fn goes_on(before: &Move, one: &Move) -> bool {
    before.part == one.part && before.to == Some(one.from)
}

impl Compactor {
    /// Carries out these moves, and the next choices while these are only moves.
    pub(crate) fn move_trivially(
        &self,
        version: &Version,
        moves: Vec<Move>,
        mut state: DeciderState,
        choose: Chooser<'_>,
    ) -> Result<(), Error> {
        let mut trivial = TrivialMoves::new(self.decider.moves_together());
        trivial.add(version, moves)?;
        while trivial.takes(&[]) {
            let edit = trivial.edit(version)?;
            let kept = edit.kept(version)?;
            let ahead = edit.version(version, kept, &*self.store, &self.memory)?;
            let Some(choice) = choose(ahead.view(), &state.bytes) else { break };
            let Plan::TrivialMove(moves) = &choice.plan else { break };
            if !trivial.takes(moves) || self.unloading(&ahead, &choice.plan)?.is_some() {
                break;
            }
            self.check_plan(&ahead, &choice.plan)?;
            let Plan::TrivialMove(moves) = choice.plan else { break };
            trivial.add(&ahead, moves)?;
            state.bytes = choice.state;
        }
        self.commit(trivial.edit(version)?, Some(state))?;
        self.count_moved(trivial.sizes);
        self.counters.trivial_moves.add(trivial.choices);
        Ok(())
    }
}
