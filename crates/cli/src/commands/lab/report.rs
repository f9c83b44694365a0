//! `terrace lab report`: writes a page of HTML with plots that compares kept results with the
//! papers, on request also the plots as SVG and the tables in Markdown. It runs nothing.
//!
//! The results are those of one seed in a directory, at the scale that was asked for; for an
//! experiment that is not run at so small a scale, at its smallest one. The page names the runs
//! that have no result. If there is no result at all, the command fails with exit code 5 and writes
//! nothing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use terrace_env::ByteCount;
use terrace_lab::plot::PlotError;
use terrace_lab::report::{Answer, GatherError, Report as Findings, RunStanding};
use terrace_lab::series::Results;
use terrace_zone::timing::Scale;

use crate::escape::{Visible, shown};
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Compare the outcomes of runs with the papers, as one page of HTML with plots.
///
/// Nothing is run: the results are those that `terrace lab run` has kept. The page says which are
/// missing, and which another engine has left.
#[derive(clap::Args)]
pub(crate) struct Report {
    /// The experiments: `geardb/fig3`, `geardb/all`, or the path of a file [default: all]
    #[arg(value_name = "NAME")]
    experiments: Vec<String>,
    /// The scale of the runs
    #[arg(long, default_value = "1/64")]
    scale: Scale,
    /// The seed of the runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory in which the outcomes of runs are kept
    #[arg(long, value_name = "DIRECTORY", default_value = "lab-results")]
    results: PathBuf,
    /// The page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Also write the plots to this directory, each as an SVG file
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
    /// Also write the tables to this file, as a page in Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Files that were written, and their findings.
#[derive(Serialize)]
struct Written {
    page: PathBuf,
    page_bytes: u64,
    files: Vec<PathBuf>,
    claims: Vec<Answer>,
    runs: Vec<Run>,
}

/// A run, and whether there is a result of it.
#[derive(Serialize)]
struct Run {
    experiment: String,
    #[serde(flatten)]
    run: RunStanding,
}

impl Report {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let results = Results::of_this_engine(&self.results);
        let version = env!("CARGO_PKG_VERSION");
        let all = [String::from("all")];
        let names = if self.experiments.is_empty() { &all[..] } else { &self.experiments };
        let found = Findings::gather(version, names, self.scale, self.seed, &results)?;
        if found.is_empty() {
            return Err(self.nothing(&found, &results));
        }
        let page = found.html()?;
        write(&self.output, &page)?;
        let mut files = Vec::new();
        if let Some(directory) = &self.plots {
            fs::create_dir_all(directory).map_err(|error| Failure::path(directory, &error))?;
            for chapter in &found.chapters {
                for (plot, number) in chapter.plots()?.iter().zip(1..) {
                    let path = directory.join(chapter.plot_file(number));
                    write(&path, &plot.standalone())?;
                    files.push(path);
                }
            }
        }
        if let Some(path) = &self.markdown {
            let plots = self.plots.as_deref().map(|plots| from(path, plots));
            write(path, &found.markdown(plots.as_deref()))?;
            files.push(path.clone());
        }
        let written = Written::of(&self.output, page.len() as u64, files, &found);
        output.result(&written, |out| written.print(out, &found))
    }

    /// There is nothing to report on: why, and what to do.
    fn nothing(&self, found: &Findings, results: &Results) -> Failure {
        let remarks: Vec<String> = found
            .chapters
            .iter()
            .flat_map(|chapter| {
                let name = &chapter.experiment.name;
                chapter.remarks().into_iter().map(move |remark| format!("{name}: {remark}"))
            })
            .collect();
        let has_any = |scale: &Scale| {
            let (program, names) = (&found.program, &found.names);
            let there = Findings::gather(program, names, *scale, self.seed, results);
            there.is_ok_and(|there| !there.is_empty())
        };
        let scales = results.scales().into_iter().filter(has_any);
        let scales: Vec<String> = scales.map(|scale| format!("`--scale {scale}`")).collect();
        let elsewhere = match &scales[..] {
            [] => String::new(),
            some => format!("; there are results for {}", some.join(", ")),
        };
        let message = format!(
            "{}: expected results at {} from seed {}, found none ({}){elsewhere}; make them with: \
             {} --results {}",
            self.results.display(),
            self.scale,
            self.seed,
            remarks.join(" ").trim_end_matches('.'),
            found.commands()[0],
            self.results.display()
        );
        Failure::new(Kind::NotFound, message)
    }
}

impl Written {
    fn of(page: &Path, page_bytes: u64, files: Vec<PathBuf>, found: &Findings) -> Self {
        let runs = found.chapters.iter().flat_map(|chapter| {
            let experiment = &chapter.experiment.name;
            let run = |run: &RunStanding| Run { experiment: experiment.clone(), run: run.clone() };
            chapter.runs.iter().map(run)
        });
        let runs = runs.collect();
        Self { page: page.to_owned(), page_bytes, files, claims: found.answers(), runs }
    }

    fn print(&self, out: &mut dyn Write, found: &Findings) -> std::io::Result<()> {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header(["figure", "claim", "published", "ours", "ratio", "verdict"]);
        for column in table.column_iter_mut().skip(2).take(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for answer in &self.claims {
            let [published, ours, ratio] = answer.shown();
            let words = answer.verdict.words();
            let texts = [&answer.experiment, &answer.claim].map(|text| Visible(text).to_string());
            let [experiment, claim] = &texts;
            table.add_row([experiment, claim, &published, &ours, &ratio, words]);
        }
        writeln!(out, "{table}\n")?;
        for chapter in &found.chapters {
            for remark in chapter.remarks() {
                let name = &chapter.experiment.name;
                writeln!(out, "{}: {}", Visible(name), Visible(&remark))?;
            }
        }
        for file in &self.files {
            writeln!(out, "{}", shown(file))?;
        }
        writeln!(out, "{}: {}", shown(&self.page), ByteCount(self.page_bytes))
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::path(path, &error))
}

/// How one gets from a page to a directory of pictures.
fn from(page: &Path, directory: &Path) -> String {
    let beside = page.parent().unwrap_or(Path::new(""));
    let inside = directory.strip_prefix(beside).unwrap_or(directory);
    inside.display().to_string()
}

impl From<GatherError> for Failure {
    fn from(error: GatherError) -> Self {
        match error {
            GatherError::Experiment(error) => error.into(),
            GatherError::Plan(error) => error.into(),
        }
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        let kind = match &error {
            PlotError::Unknown { .. } => Kind::Usage,
            PlotError::Drawing { .. } => Kind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}
