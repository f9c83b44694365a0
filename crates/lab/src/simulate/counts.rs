//! [`Counts`]: events of the worlds that were played. A world in which nothing fails and nothing is
//! lost proves little, so a long run must have met each kind of event.

use std::fmt;

use super::cuts;
use crate::crash::Activity;
use crate::crash::crowd::Met;
use crate::model;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Worlds.
    pub worlds: u64,
    /// Events of scripts.
    pub scripts: model::Tally,
    /// Events of cuts and recoveries.
    pub cuts: cuts::Tally,
    /// Events of crowds.
    pub crowds: Met,
}

impl Counts {
    /// The sums of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            worlds: self.worlds + other.worlds,
            scripts: self.scripts.and(other.scripts),
            cuts: self.cuts.and(other.cuts),
            crowds: self.crowds.and(other.crowds),
        }
    }

    /// Events of all worlds, by name.
    #[must_use]
    pub fn events(&self) -> [(&'static str, u64); 14] {
        let model::Tally { flushes, compactions, openings, reads, refused, pairs } = self.scripts;
        let Activity { offloaded_bytes, reclaimed_bytes, zones_reset, journal_rolls, .. } =
            self.cuts.activity;
        let crowds = self.crowds;
        [
            ("compared reads", reads),
            ("openings", openings),
            ("flushes", flushes + self.cuts.activity.flushes),
            ("compactions", compactions + self.cuts.activity.compactions),
            ("writes refused for lack of space", refused),
            ("pairs of features", pairs.count()),
            ("power cuts", self.cuts.trials),
            ("zones reset", zones_reset),
            ("bytes moved by reclaim", reclaimed_bytes),
            ("bytes written to an offload drive", offloaded_bytes),
            ("journal rolls", journal_rolls),
            ("writes refused after a failure", crowds.refused),
            ("stores resumed after a failure", crowds.resumed),
            ("writes that joined a group", crowds.acked.saturating_sub(crowds.groups)),
        ]
    }

    /// Names of the events that have not happened.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let missing = self.events().into_iter().filter(|(_, count)| *count == 0);
        missing.map(|(name, _)| name).collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.events().iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        writeln!(f, "{:width$}  {}", "worlds", self.worlds)?;
        self.events().iter().try_for_each(|(name, count)| writeln!(f, "{name:width$}  {count}"))
    }
}
