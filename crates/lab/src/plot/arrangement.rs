//! [`Arrangement`]: the outcomes of one experiment, sorted into settings (a variant and a phase)
//! and systems, in the order of its description. Names that the description lacks come last.
//!
//! A system has the same number in all settings, also where an outcome is missing. So a plot can
//! give it the same colour everywhere. Outcomes of other experiments are left out.

use crate::experiment::Experiment;
use crate::run::Outcome;

/// The outcomes of an experiment, sorted into settings. A system has the same place in every
/// picture, and so its colour, also where a result is missing.
pub(crate) struct Arrangement<'a> {
    /// The systems, as the experiment has them; then others that there are outcomes of.
    pub(crate) systems: Vec<&'a str>,
    /// The settings that there are outcomes of.
    pub(crate) settings: Vec<Setting<'a>>,
}

/// A variant and a phase, and their outcomes.
pub(crate) struct Setting<'a> {
    /// Name that tells it from other settings; empty where there is only one.
    pub(crate) name: String,
    /// The outcomes with the places of their systems, in order.
    pub(crate) outcomes: Vec<(usize, &'a Outcome)>,
}

impl<'a> Arrangement<'a> {
    /// Sorts the outcomes that are of this experiment.
    pub(crate) fn of(experiment: &'a Experiment, outcomes: &'a [Outcome]) -> Self {
        let own: Vec<&Outcome> =
            outcomes.iter().filter(|outcome| outcome.experiment == experiment.name).collect();
        let mut systems: Vec<&str> = experiment.systems.iter().map(String::as_str).collect();
        let mut variants: Vec<Option<&str>> =
            experiment.variants.iter().map(|variant| Some(variant.name.as_str())).collect();
        let mut phases: Vec<&str> = experiment.phases.iter().map(|phase| phase.name()).collect();
        for outcome in &own {
            remember(&mut systems, outcome.system.as_str());
            remember(&mut variants, outcome.variant.as_deref());
            remember(&mut phases, outcome.phase.as_str());
        }
        let mut settings = Vec::new();
        for variant in &variants {
            for phase in &phases {
                let mut here: Vec<(usize, &Outcome)> = own
                    .iter()
                    .filter(|it| it.variant.as_deref() == *variant && it.phase == *phase)
                    .filter_map(|it| Some((systems.iter().position(|s| *s == it.system)?, *it)))
                    .collect();
                here.sort_by_key(|(place, _)| *place);
                if !here.is_empty() {
                    settings.push((*variant, *phase, here));
                }
            }
        }
        let varies = |of: fn(&(Option<&'a str>, &'a str)) -> Option<&'a str>| {
            let mut seen = settings.iter().map(|(variant, phase, _)| of(&(*variant, *phase)));
            let first = seen.next();
            seen.any(|other| Some(other) != first)
        };
        let (variant_varies, phase_varies) =
            (varies(|(variant, _)| *variant), varies(|(_, phase)| Some(phase)));
        let settings = settings.into_iter().map(|(variant, phase, outcomes)| {
            let variant = variant.filter(|_| variant_varies);
            let phase = Some(phase).filter(|_| phase_varies);
            let name = variant.into_iter().chain(phase).collect::<Vec<_>>().join(", ");
            Setting { name, outcomes }
        });
        Self { settings: settings.collect(), systems }
    }

    /// The systems that there are outcomes of, with their places.
    pub(crate) fn present(&self) -> Vec<(usize, &'a str)> {
        let systems = self.systems.iter().copied().enumerate();
        systems
            .filter(|(place, _)| {
                let mut outcomes = self.settings.iter().flat_map(|setting| &setting.outcomes);
                outcomes.any(|(other, _)| other == place)
            })
            .collect()
    }

    /// Every outcome.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &'a Outcome> {
        self.settings.iter().flat_map(|setting| &setting.outcomes).map(|(_, outcome)| *outcome)
    }
}

fn remember<T: PartialEq>(known: &mut Vec<T>, new: T) {
    if !known.contains(&new) {
        known.push(new);
    }
}

/// The row of a system, and the parameters in which it differs from the row.
pub(crate) fn row(system: &str) -> (&str, &str) {
    system.split_once(':').unwrap_or((system, ""))
}
