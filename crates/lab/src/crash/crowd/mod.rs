//! A crowd: several writers at once, on a store whose operations fail and whose power is then cut.
//!
//! 1. Writers put batches at the same time, so that the engine writes them in groups. An operation
//!    of the device, of the directory or of the store fails, once or lastingly, or none does
//!    ([`Harm`]). A writer goes on after a failed write, and gives up at the fourth; the first
//!    writer also asks the store to resume.
//! 2. Once the failure is mended, everything that was acknowledged can be read. Where failures
//!    last, a read may fail instead.
//! 3. The power is cut at some moment and at the end, each time on a copy, and the store opened
//!    there. Of each writer, all that was acknowledged as synced is there; what was refused, or
//!    never synced, may be there or not; and no batch is there in part.
//!
//! The same body runs on threads and in simulations, over any [`Medium`] with an empty store:
//! nothing here waits but through `env`.

mod medium;
mod run;

pub use medium::{Harm, Medium};
pub use run::{Met, run};
