//! Space: whether there is enough for writers and jobs, and how writers are held back.
//!
//! | question | answered in |
//! |---|---|
//! | is space short, is anything left to try, and when is another try due | `space` |
//! | will compactions free space at their price | `worth` |
//! | is the store nearly full | `nearly_full` |
//! | how long does a writer wait, so that it need not be stopped later | `throttle` |
//!
//! Bytes are counted by the store below. Here is noted who found too few, and how that ended.
//!
//! Any thread. One lock and one condition; no I/O.

mod nearly_full;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod space;
mod throttle;
mod worth;

pub(crate) use nearly_full::Fullness;
#[cfg(test)]
pub(crate) use space::no_space;
pub(crate) use space::{Retry, Space};
pub(crate) use worth::is_worth;
