//! [`PlotError`]: why a plot cannot be drawn: it asks for a series or metric whose name does not
//! exist, or the drawing library failed. A plot without data is no error.

/// A picture that cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlotError {
    /// It asks for something that no run has.
    #[error(
        "{experiment}, plot {title:?}: expected a {kind}, one of {}, found {got:?}",
        choices.join(", ")
    )]
    Unknown {
        /// The experiment.
        experiment: String,
        /// The title of the picture.
        title: String,
        /// Kind of name asked for: `series` or `metric`.
        kind: &'static str,
        /// Names that exist.
        choices: Vec<String>,
        /// Text found.
        got: String,
    },
    /// The library that draws has failed.
    #[error("plot {title:?}: {problem}")]
    Drawing {
        /// The title of the picture.
        title: String,
        /// Message of the library.
        problem: String,
    },
}
