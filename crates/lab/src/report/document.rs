//! [`Report`]: experiments with their outcomes at one scale and from one seed. `page` and
//! `markdown` print it. It holds what it shows: nothing is read or run to print it.

use super::{Answer, Chapter};

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
    /// Answers of our runs to the claims of all papers.
    #[must_use]
    pub fn answers(&self) -> Vec<Answer> {
        self.chapters.iter().flat_map(Chapter::answers).collect()
    }

    /// The commands that lead to it.
    #[must_use]
    pub fn commands(&self) -> [String; 2] {
        let names = self.names.join(" ");
        let rest = format!("{names} --scale {} --seed {}", self.scale, self.seed);
        ["run", "report"].map(|word| format!("terrace lab {word} {rest}"))
    }
}
