//! Space: whether there is enough for writers and jobs, and how writers are held back.
//!
//! | question | answered in |
//! |---|---|
//! | is space short, is anything left to try, and when is another try due | `space` |
//! | how long does a writer wait, so that it need not be stopped later | `throttle` |
//!
//! Bytes are counted by the store below. Here is noted who found too few, and how that ended.
//!
//! Any thread. One lock and one condition; no I/O.

#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod space;
mod throttle;

#[cfg(test)]
pub(crate) use space::no_space;
pub(crate) use space::{Retry, Space};
