//! [`Report`]: experiments with their outcomes, at one scale and from one seed.
//!
//! An experiment may have a smallest scale at which it still says something. If the report's scale
//! is smaller, the outcomes of the experiment's chapter are at that smallest one.

use super::{Answer, Chapter};
use crate::experiment::names;

/// Experiments with their outcomes, at one scale and from one seed.
#[derive(Clone, Debug)]
pub struct Report {
    /// The program's version.
    pub program: String,
    /// The scale: `1/64`.
    pub scale: String,
    /// The seed.
    pub seed: u64,
    /// Names asked for: of experiments, or paths of their files.
    pub names: Vec<String>,
    /// The experiments.
    pub chapters: Vec<Chapter>,
}

impl Report {
    /// Answers of our runs to the claims of all papers, each claim once: one that repeats the claim
    /// of another experiment of the report is left out.
    #[must_use]
    pub fn answers(&self) -> Vec<Answer> {
        let has = |name: &str| self.chapters.iter().any(|it| it.experiment.name == name);
        let answers = self.chapters.iter().flat_map(Chapter::answers);
        answers.filter(|answer| !answer.repeats.as_deref().is_some_and(has)).collect()
    }

    /// The heading: that of the papers' figures or, where an experiment is the user's own, the
    /// experiment's title.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.chapters[..] {
            _ if self.is_of_papers() => "Figures of the papers, redrawn".to_owned(),
            [chapter] => chapter.experiment.title.clone(),
            _ => "Experiments on zoned storage".to_owned(),
        }
    }

    /// Whether all experiments come with the project.
    pub(super) fn is_of_papers(&self) -> bool {
        let comes = |name: &str| names().any(|known| known == name);
        self.chapters.iter().all(|chapter| comes(&chapter.experiment.name))
    }

    /// The commands that lead to it.
    #[must_use]
    pub fn commands(&self) -> [String; 2] {
        let names = self.names.join(" ");
        let rest = format!("{names} --scale {} --seed {}", self.scale, self.seed);
        ["run", "report"].map(|word| format!("terrace lab {word} {rest}"))
    }
}
