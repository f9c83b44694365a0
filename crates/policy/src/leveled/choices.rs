//! Several choices of leveled compaction at one moment, and not only the first of them: for a
//! decider around it that carries out the first one that pays.
//!
//! The first choice is that of `pick`. While another layout is drained, there is no other choice.
//! Otherwise the choices are, in this order: one for each level that is due, by falling scores; the
//! first one of steps 5, 7 and 8; and, if space is short, level 0 and one table of each deeper
//! level that overlaps a level below. A choice may be listed twice. Each choice is legal by itself:
//! it does not need those before it.

use super::Leveled;
use crate::compaction::{Choice, Urgency};
use crate::pointers::Pointers;
use crate::tree::TreeView;

impl Leveled {
    /// The choices. `turn` says which tables a level that is too large sends down.
    pub(crate) fn choices_with(
        &self,
        tree: &TreeView,
        state: &Pointers,
        urgency: Urgency,
        turn: impl Fn(usize) -> Option<Choice>,
    ) -> Vec<Choice> {
        if let Some(drain) = self.drain(tree, state) {
            return vec![drain];
        }
        let scores = (0..self.last(tree)).map(|level| (level, self.score(tree, level)));
        let mut due: Vec<(usize, f64)> = scores.filter(|(_, score)| *score >= 1.0).collect();
        due.sort_by(|a, b| b.1.total_cmp(&a.1));
        let due = due.into_iter().filter_map(|(level, _)| match level {
            0 => self.level0_oldest(tree, state),
            level => turn(level),
        });
        let beyond = self.beyond(tree, state, urgency);
        let space = matches!(urgency, Urgency::Space | Urgency::All).then(|| {
            let level0 = self.level0_oldest(tree, state);
            let deeper = 1..self.last(tree);
            level0
                .into_iter()
                .chain(deeper.filter_map(|level| self.covering_in(tree, state, level, None)))
        });
        due.chain(beyond).chain(space.into_iter().flatten()).collect()
    }
}
