//! `terrace lab papers [NAME]...`: prints the claims of the papers, our values, and the verdicts.
//!
//! The values are the kept results that come with the program, or those of runs in a directory
//! (`--results`). `--keep` writes the latter into the source tree, for the next build. Nothing is
//! run.
//!
//! Causes of differences are printed where experiments or verdicts are named.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;
use terrace_lab::report::{
    Compared, KeptError, KeptResults, Paper, Papers as Found, Report, Verdict,
};
use terrace_lab::series::Results;
use terrace_zone::timing::Scale;

use crate::escape::Visible;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Print the claims of the papers, our values and the verdicts.
///
/// Nothing is run: the values come with the program, or from the results of `terrace lab run`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace lab papers\n  \
    terrace lab papers geardb/all --verdict unexplained\n  terrace lab papers bluefs/fig12")]
pub(crate) struct Papers {
    /// The experiments: `geardb/fig3`, or `geardb/all` [default: all]
    #[arg(value_name = "NAME")]
    experiments: Vec<String>,
    /// Only claims with this verdict; may be given several times
    #[arg(long = "verdict", value_name = "VERDICT")]
    verdicts: Vec<Wanted>,
    /// Take the values from the outcomes of runs in this directory
    #[arg(long, value_name = "DIRECTORY")]
    results: Option<PathBuf>,
    /// The scale of these runs
    #[arg(long, default_value = "1/64", requires = "results")]
    scale: Scale,
    /// The seed of these runs
    #[arg(long, default_value_t = 1, requires = "results")]
    seed: u64,
    /// Keep these values in this directory, crates/lab/results of the sources
    #[arg(long, value_name = "DIRECTORY", requires = "results", requires = "commit")]
    keep: Option<PathBuf>,
    /// The commit of the engine that carried out the runs
    #[arg(long, requires = "keep")]
    commit: Option<String>,
}

/// A verdict, as it is named on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum Wanted {
    /// Within 15 % of the published value
    Within,
    /// Different, and a named run shows the cause
    Explained,
    /// Different, with a cause in words only
    InWords,
    /// Different, and the cause is not known
    Unexplained,
    /// Not answered at this scale
    Unfit,
    /// Without a value for the present settings
    Missing,
}

impl Papers {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let all = [String::from("all")];
        let names = if self.experiments.is_empty() { &all[..] } else { &self.experiments };
        let kept = match &self.results {
            Some(directory) => self.gather(names, &Results::of_this_engine(directory), output)?,
            None => KeptResults::of_this_program(),
        };
        let mut found = Found::compare(&kept, names)?;
        if !self.verdicts.is_empty() {
            let verdicts: Vec<Verdict> = self.verdicts.iter().map(|it| it.verdict()).collect();
            found = found.with(&verdicts);
        }
        let with_causes = !self.experiments.is_empty() || !self.verdicts.is_empty();
        let counts = Verdict::ALL.map(|verdict| {
            let count = found.papers.iter().map(|paper| paper.count(verdict)).sum::<usize>();
            (verdict.anchor().to_owned(), count.into())
        });
        let counts: serde_json::Map<String, serde_json::Value> = counts.into_iter().collect();
        let result = json!({ "papers": found.papers, "counts": counts });
        output.result(&result, |out| print(out, &found, with_causes))
    }

    /// The values of runs of this engine, which are also written if that was asked for.
    fn gather(
        &self,
        names: &[String],
        results: &Results,
        output: &Output,
    ) -> Result<KeptResults, Failure> {
        let version = env!("CARGO_PKG_VERSION");
        let report = Report::gather(version, names, self.scale, self.seed, results)?;
        let commit = self.commit.as_deref().unwrap_or("this build");
        let mut fresh = KeptResults::default();
        let added = fresh.add(&report, commit);
        if let Some(directory) = &self.keep {
            let mut kept = KeptResults::read(directory)?;
            kept.add(&report, commit);
            kept.write(directory)?;
            output.note(format!("kept the values of {} experiments", added.len()));
        }
        Ok(fresh)
    }
}

impl Wanted {
    fn verdict(self) -> Verdict {
        match self {
            Self::Within => Verdict::Within,
            Self::Explained => Verdict::Explained,
            Self::InWords => Verdict::InWords,
            Self::Unexplained => Verdict::Differs,
            Self::Unfit => Verdict::Unfit,
            Self::Missing => Verdict::Missing,
        }
    }
}

fn print(out: &mut dyn Write, found: &Found, with_causes: bool) -> std::io::Result<()> {
    for paper in &found.papers {
        writeln!(out, "{}, {}\n\n{}\n", paper.title, paper.source, table(paper))?;
        for claim in paper.claims.iter().filter(|it| with_causes && it.is_to_be_explained()) {
            let Some(why) = &claim.answer.explanation else { continue };
            let text =
                format!("{}, {}: {}", claim.answer.experiment, claim.answer.claim, why.trim());
            let text = text.replace('\n', " ") + &evidence(claim);
            writeln!(out, "{}\n", Visible(&text))?;
        }
    }
    let counts =
        Verdict::ALL.map(|verdict| format!("{} {}", found.share(verdict), verdict.words()));
    writeln!(out, "{}", counts.join("; "))
}

/// The run that shows a cause, with the value of the same claim there.
fn evidence(claim: &Compared) -> String {
    let Some(run) = &claim.answer.shown_by else { return String::new() };
    let there = claim.there.as_ref().map(|value| format!(", which has {value}"));
    format!(" Shown by {run}{}.", there.unwrap_or_default())
}

fn table(paper: &Paper) -> Table {
    let mut table = Table::new();
    let header = [
        "experiment",
        "claim",
        "published",
        "ours",
        "difference",
        "verdict",
        "shown by",
        "measured",
    ];
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    for column in table.column_iter_mut().skip(2).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for claim in &paper.claims {
        let Compared { answer, measured, .. } = claim;
        let [published, ours, _] = answer.shown();
        let measured = measured.as_ref();
        let measured = measured.map(|it| format!("{}, {}", it.scale, it.commit));
        table.add_row([
            answer.experiment.clone(),
            Visible(&answer.claim).to_string(),
            published,
            ours,
            claim.difference(),
            answer.verdict.words().to_owned(),
            answer.shown_by.clone().unwrap_or_default(),
            measured.unwrap_or_default(),
        ]);
    }
    table
}

impl From<KeptError> for Failure {
    fn from(error: KeptError) -> Self {
        Self::new(Kind::Failed, error.to_string())
    }
}
