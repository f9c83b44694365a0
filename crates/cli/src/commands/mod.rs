//! The subcommands, each in a file of its own: its arguments, what it does, and how it answers.

mod arguments;
mod completions;
mod device;
mod man;

pub(crate) use arguments::Arguments;
