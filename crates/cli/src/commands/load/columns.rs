//! [`Columns`]: the options that choose the key and the value of a row or an object.

/// The columns of comma-separated values, or fields of JSON objects, that make an entry.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Columns {
    /// The column or field that is the key: its name, or the number of a column, from 1. Without
    /// it, the first column of `csv`; for `json` the fields are those that `scan` prints
    #[arg(long, value_name = "COLUMN")]
    pub(super) key: Option<String>,
    /// The column or field that is the value. Without it, the other one of two columns of `csv`,
    /// or the whole row as a JSON object; for `json` with --key, the whole object as it is written
    #[arg(long, value_name = "COLUMN")]
    pub(super) value: Option<String>,
    /// The first row of `csv` is an entry, and does not name the columns
    #[arg(long = "no-header", action = clap::ArgAction::SetFalse)]
    pub(super) has_header: bool,
}
