//! The crash simulator: cuts the power of a store on one or two emulated drives, and checks the
//! state of the store afterwards.
//!
//! 1. [`live`] formats the drives and runs a seeded workload. Once the drives are formatted, it
//!    records a [`CutPoint`] before each request to a drive other than a read.
//! 2. [`recover`] cuts the power at a cut point, opens the store and compares it with the
//!    [`History`]. The store must hold a prefix of the batches that were written, with all that
//!    were acknowledged as durable. The file system's check must be clean.
//! 3. A recovered store may live on. Its recovery and its new writes are recorded as another life,
//!    which can be cut again. Its check comes at the end of this life.
//!
//! Values tell whether the first life or a recovered one wrote them, and in which batch. So after
//! one recovery no old value passes for a new one.
//!
//! [`damage()`] and [`Directory`] cut nothing. They damage a block or a file of a closed store: its
//! contents must read back, or it must return an error. [`crowd`] has several writers, operations
//! that fail, and cuts.
//!
//! | file | content |
//! |---|---|
//! | `life` | the workload with its cut points, and the kinds of drives and stores |
//! | `history` | the batches written, and the contents that agree with them |
//! | `trial` | a cut, and the store opened after it |
//! | `damage`, `directory` | a damaged block, a damaged file |
//! | `crowd` | several writers, failures and cuts |
//!
//! Lives, trials and damages must run inside a simulation; `crowd` also runs on threads.

pub mod crowd;
mod damage;
mod directory;
mod history;
mod life;
mod trial;

pub use damage::{Outcome, damage};
pub use directory::Directory;
pub use history::{History, Mismatch};
pub use life::{Activity, CutPoint, Life, Setup, live};
pub use trial::{Survivor, TrialFailure, recover};
