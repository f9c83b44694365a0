//! Finds results that another build of Terrace has left for the same plan.
//!
//! For each measured phase it takes the newest file of this plan, by the time of its last change,
//! that has the present form and is not damaged. If one measured phase has no such file, the run
//! has no result. Metrics of another build may differ from those of this one.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use super::results::{Kept, Results, VERSION, called, checksum, read_result};
use crate::run::{Outcome, RunPlan};

impl Results {
    /// Outcome of a run with another engine, by the same plan: of each phase that is measured the
    /// newest that can be trusted. Its metrics may not be this engine's.
    #[must_use]
    pub fn find_of_another_engine(&self, plan: &RunPlan) -> Option<Vec<Outcome>> {
        let measured = (0..plan.phases.len()).filter(|phase| plan.phases[*phase].measured);
        measured.map(|phase| self.phase_of_another_engine(&plan.as_far_as(phase))).collect()
    }

    fn phase_of_another_engine(&self, plan: &RunPlan) -> Option<Outcome> {
        let own = self.path(plan);
        // A name but for the hash at its end is that of the phase.
        let stem = |path: &PathBuf| -> Option<String> {
            let (stem, _hash) = path.file_name()?.to_str()?.rsplit_once('-')?;
            Some(stem.to_owned())
        };
        let entries = fs::read_dir(own.parent()?).ok()?;
        let mut found: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| *path != own && stem(path) == stem(&own))
            .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
            .collect();
        found.sort();
        found.into_iter().rev().find_map(|(_, path)| {
            let kept: Kept = serde_json::from_str(&read_result(&path).ok()?).ok()?;
            let sound = kept.version == VERSION && kept.checksum == checksum(&kept.outcome);
            let same = kept.plan.nameless() == plan.nameless();
            (sound && same).then(|| called(kept.outcome, plan))
        })
    }
}
