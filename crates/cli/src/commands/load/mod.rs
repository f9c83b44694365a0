//! `terrace load`: stores the entries of a text, from a file or standard input.
//!
//! | file | content |
//! |---|---|
//! | `command` | the command line, and the loop over the lines |
//! | `input` | lines as they come, pauses of the input, signals |
//! | `format` | a line of text or JSON as an entry |
//! | `sink` | where entries go: batches, or tables; how far they are stored |

mod command;
mod format;
mod input;
mod sink;

pub(crate) use command::Load;
