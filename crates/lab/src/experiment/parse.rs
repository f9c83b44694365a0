//! Reads an [`Experiment`] from the text of its file, or refuses it at the first error.
//!
//! An error in the text comes with line and column. If the file has the right form, the error says
//! the expected and the found value. Otherwise it has the message of the TOML library.

use std::io::ErrorKind;

use super::check::{self, Flaw};
use super::position::{self, Position};
use super::{Experiment, Plot, library};

/// An experiment that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// There is neither an experiment nor a file of this name.
    #[error(
        "expected the path of an experiment file, or one of {}, `all`, or `PAPER/all`; found \
         {name:?}",
        library::names().collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// Name asked for.
        name: String,
    },
    /// The file cannot be read.
    #[error("{file}: {problem}")]
    Unreadable {
        /// The file.
        file: String,
        /// Kind of the error; [`InvalidData`](ErrorKind::InvalidData) for bytes that are no text,
        /// or too long.
        kind: ErrorKind,
        /// The error in words.
        problem: String,
    },
    /// The file does not have the form of an experiment.
    #[error("{file}:{position}: {}{problem}", in_field(field.as_deref()))]
    Malformed {
        /// The file.
        file: String,
        /// Where.
        position: Position,
        /// The field that it is in, where it is in one.
        field: Option<String>,
        /// Value expected and value found.
        problem: String,
    },
    /// A value that cannot be.
    #[error("{file}:{position}: {field}: expected {expected}, found {found}")]
    Impossible {
        /// The file.
        file: String,
        /// Where.
        position: Position,
        /// The field.
        field: String,
        /// Value expected.
        expected: String,
        /// Value found.
        found: String,
    },
}

fn in_field(field: Option<&str>) -> String {
    field.map(|field| format!("{field}: ")).unwrap_or_default()
}

impl Experiment {
    /// Reads an experiment file; `name` is the experiment's name, `file` the file's name in errors.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Self, ExperimentError> {
        let mut experiment: Self = toml::from_str(text).map_err(|error| {
            let byte = error.span().map_or(0, |span| span.start);
            let field = position::field_at(text, byte);
            let wrong_plot = field.as_deref().filter(|field| *field == "plot[0]");
            let wrong_plot = wrong_plot.and_then(|_| wrong_plot_of(text));
            let position = match &wrong_plot {
                Some((field, _)) => Position::of_field(text, field),
                None => Position::of_byte(text, byte),
            };
            let (field, problem) = match wrong_plot {
                Some((field, problem)) => (Some(field), problem),
                None => (field, error.message().to_owned()),
            };
            let problem = problem.trim().replace('\n', "; ");
            ExperimentError::Malformed { file: file.to_owned(), position, field, problem }
        })?;
        name.clone_into(&mut experiment.name);
        match check::flaw(&experiment) {
            None => Ok(experiment),
            Some(Flaw { field, expected, found }) => Err(ExperimentError::Impossible {
                file: file.to_owned(),
                position: Position::of_field(text, &field),
                field,
                expected,
                found,
            }),
        }
    }
}

/// The first plot of a file that cannot be read, and why. The parser reads a plot's `kind` before
/// the rest of it, and then has only the place of the first plot for an error in the rest of any.
fn wrong_plot_of(text: &str) -> Option<(String, String)> {
    let table: toml::Table = text.parse().ok()?;
    let plots = table.get("plot")?.as_array()?.iter().enumerate();
    plots.into_iter().find_map(|(index, plot)| {
        let error = plot.clone().try_into::<Plot>().err()?;
        Some((format!("plot[{index}]"), error.message().to_owned()))
    })
}
