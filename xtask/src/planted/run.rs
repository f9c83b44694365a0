//! The command line of the planted bugs, and the loop over them.
//!
//! First the tests of all chosen bugs run without a bug, and have to pass: a test that fails anyway
//! shows nothing. Then each bug is planted, its program built, and its tests run. A test that goes
//! on past the limit of time counts as one that has failed: without the bug it ended.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use super::bug::{self, Bug};
use super::copy::Copy;
use super::program::{Ended, Program};
use crate::workspace::Workspace;

/// Which bugs to plant.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only bugs with one of these words in their names, such as `lsm` or `fs-gate`
    #[arg(long, value_delimiter = ',', value_name = "WORD")]
    names: Vec<String>,
    /// Print the bugs, and plant none
    #[arg(long)]
    list: bool,
    /// Time for the tests of one bug
    #[arg(long, default_value_t = 180, value_name = "SECONDS")]
    limit: u64,
}

/// Result of the tests of a bug.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Caught { after: Duration, by: String },
    NotCaught,
    DoesNotBuild,
    DoesNotApply(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught { after, by } => write!(f, "caught in {:.1} s: {by}", after.as_secs_f64()),
            Self::NotCaught => f.write_str("NOT CAUGHT"),
            Self::DoesNotBuild => f.write_str("DOES NOT BUILD"),
            Self::DoesNotApply(error) => write!(f, "DOES NOT APPLY: {error}"),
        }
    }
}

/// Plants the chosen bugs one at a time; an error if one is not caught.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let bugs = chosen(bug::all(workspace.root())?, &arguments.names);
    ensure!(!bugs.is_empty(), "expected bugs with one of {:?}, found none", arguments.names);
    if arguments.list {
        for Bug { name, kind, file, package, target, .. } in &bugs {
            println!("{name}: {kind}; {}; {package} {target}", file.display());
        }
        return Ok(());
    }
    let copy = Copy::of(workspace, workspace.target().join("planted"))?;
    let limit = Duration::from_secs(arguments.limit);
    let mut failed = Vec::new();
    for bugs in
        bugs.chunk_by(|one, next| (&one.package, &one.target) == (&next.package, &next.target))
    {
        without(copy.root(), bugs, limit)?;
        for bug in bugs {
            let begun = Instant::now();
            let verdict = plant(&copy, bug, limit)?;
            let (name, all) = (&bug.name, begun.elapsed().as_secs());
            println!("{name}: {verdict} ({all} s with the build)");
            if !matches!(verdict, Verdict::Caught { .. }) {
                failed.push(name.as_str());
            }
        }
    }
    println!("{} of {} bugs are caught", bugs.len() - failed.len(), bugs.len());
    ensure!(failed.is_empty(), "expected to be caught, and were not: {}", failed.join(", "));
    Ok(())
}

/// The bugs with one of the words in their names; all, without words.
fn chosen(bugs: Vec<Bug>, words: &[String]) -> Vec<Bug> {
    let is_chosen =
        |bug: &Bug| words.is_empty() || words.iter().any(|word| bug.name.contains(word));
    bugs.into_iter().filter(is_chosen).collect()
}

/// Runs the tests of bugs of one program without a bug.
fn without(root: &Path, bugs: &[Bug], limit: Duration) -> anyhow::Result<()> {
    let begun = Instant::now();
    let Bug { package, target, .. } = &bugs[0];
    let Some(program) = Program::build(root, &bugs[0])? else {
        bail!("{package} {target}: expected to build without a bug");
    };
    for bug in bugs {
        match program.run(&bug.tests, limit)? {
            Ended::Passed => {}
            ended => bail!("{:?}: expected to pass without a bug: {ended:?}", bug.tests),
        }
    }
    println!("{package} {target}: passes without a bug ({} s)", begun.elapsed().as_secs());
    Ok(())
}

fn plant(copy: &Copy, bug: &Bug, limit: Duration) -> anyhow::Result<Verdict> {
    let source = std::fs::read_to_string(copy.root().join(&bug.file)).unwrap_or_default();
    let planted = match bug.planted(&source) {
        Ok(planted) => planted,
        Err(error) => return Ok(Verdict::DoesNotApply(error.to_string())),
    };
    copy.changed(
        &bug.file,
        |_| Ok(planted),
        || {
            let Some(program) = Program::build(copy.root(), bug)? else {
                return Ok(Verdict::DoesNotBuild);
            };
            let begun = Instant::now();
            let ended = program.run(&bug.tests, limit)?;
            let caught = |by| Verdict::Caught { after: begun.elapsed(), by };
            Ok(match ended {
                Ended::Passed => Verdict::NotCaught,
                Ended::Failed(message) => caught(message),
                Ended::Late => caught("no end within the limit".to_owned()),
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bugs_are_chosen_by_a_word_of_their_names() {
        let bugs = bug::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        assert!(bugs.len() >= 60, "{} bugs", bugs.len());
        assert_eq!(chosen(bugs.clone(), &[]).len(), bugs.len());
        let some = chosen(bugs.clone(), &["fs-".to_owned(), bugs[0].name.clone()]);
        assert!(some.len() > 1 && some.len() < bugs.len(), "{}", some.len());
    }
}
