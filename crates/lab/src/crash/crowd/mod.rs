//! Crash test with several writers at once: operations of the medium fail, and the power is cut.
//!
//! 1. Writers put batches at the same time. An operation of the medium fails, once or lastingly, or
//!    none does ([`Harm`]). A writer goes on after an error, and gives up after several. The first
//!    writer also tries to resume the store.
//! 2. The power is cut twice, each time on a copy of the medium: at a random moment, and after the
//!    writers have ended.
//! 3. Before the second cut the medium is healed, unless it is a directory. Everything acknowledged
//!    must be readable. After a lasting failure reading may fail with an error instead.
//! 4. The store is opened on each copy. Writes that were acknowledged as synced must be there.
//!    Other writes may be there or not. No batch may be there in part. A check of the copy must
//!    find no problem; a store in memory has no check.
//!
//! The test runs on threads and in simulations, over any [`Medium`] with an empty store.

mod medium;
mod run;

pub use medium::{Harm, Medium};
pub use run::{Met, run};
