//! Which tables are merged next, and where the result goes.

use std::fmt::Debug;

use crate::plan::Plan;
use crate::tree::{Span, TreeView};

/// How much a compaction is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Only what keeps the tree in shape.
    Shape,
    /// Space is short: whatever may drop overwritten or deleted entries.
    Space,
}

/// How far the tree is from its shape, as writers are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backlog {
    /// Nothing to worry about.
    None,
    /// Writers should slow down a little.
    Slow,
    /// Writers must wait for a compaction.
    Stop,
}

/// A plan, and the decider's state once it is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What to do.
    pub plan: Plan,
    /// Committed in the same transaction as the plan's outcome.
    pub state: Vec<u8>,
}

/// A way to keep a tree in shape. Pure: the same tree and state give the same choice.
///
/// Every decider accepts every legal tree, and state that it does not understand is no state. It
/// first drains what breaks its layout, so that a store can be opened under another decider.
pub trait Compaction: Send + Sync + Debug {
    /// The name in options, reports, goldens and the store's annotation.
    fn name(&self) -> &'static str;

    /// The next plan, or `None` when nothing is due.
    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice>;

    /// The next plan on the way to where all keys of `span` are in one run; `None` when they are.
    fn push_down(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice>;

    /// Whether writers should hold back.
    fn backlog(&self, tree: &TreeView) -> Backlog;
}
