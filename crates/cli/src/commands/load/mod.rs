//! `terrace load`: stores the entries of a text, from a file or standard input.
//!
//! | file | content |
//! |---|---|
//! | `command` | the command line, and the loop over the lines |
//! | `input` | lines as they come, pauses of the input, signals |
//! | `records` | the options of reading; lines as entries in the format asked for or found |
//! | `detect` | the format, by the name or the first line |
//! | `format` | a line as `scan` prints it, text or JSON, as an entry |
//! | `columns`, `csv`, `object` | rows of comma-separated values and any JSON objects as entries |
//! | `quotes` | checks the quotes of comma-separated values |
//! | `sink` | where entries go: batches, or tables; how far they are stored |

mod columns;
mod command;
mod csv;
mod detect;
mod format;
#[cfg(test)]
mod fuzz;
mod input;
mod object;
mod quotes;
mod records;
mod sink;

pub(crate) use command::Load;
