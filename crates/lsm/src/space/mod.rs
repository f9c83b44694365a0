//! Space: whether there is enough for writers and jobs, and how writers are slowed down.
//!
//! | question | answered in |
//! |---|---|
//! | is space short, can jobs free more, and when is another try due | `space` |
//! | are compactions for space worth their writes | `worth` |
//! | is the store nearly full | `nearly_full` |
//! | how long does a writer wait to avoid a stop later | `throttle` |
//!
//! The store below counts the bytes. This module notes which jobs and writers found too few, and
//! the outcome.
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
pub(crate) use throttle::Memtables;
pub(crate) use worth::is_worth;
