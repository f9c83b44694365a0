//! [`Planless`]: a decider for tests, which has no plans.
//!
//! It lets writers go freely, and sends flushes and ingests to the top of level 0.

use terrace_policy::{Choice, Compaction, Pressure, Span, TreeView, Urgency};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Planless {
    /// Whether it is asked again when scans multiply.
    pub(crate) heeds_load: bool,
}

impl Compaction for Planless {
    fn name(&self) -> &'static str {
        "planless"
    }

    fn pick(&self, _: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        None
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }

    fn heeds_load(&self) -> bool {
        self.heeds_load
    }
}
