//! `cargo xtask api`: compares the public API of the library with the API that its version keeps.
//!
//! | file | content |
//! |---|---|
//! | `listing` | the items of the library, one to a line |
//! | `kept` | the file of a version, and what may change in it |
//! | `run` | the chore |

mod kept;
mod listing;
mod run;

pub(crate) use run::{Arguments, run};
