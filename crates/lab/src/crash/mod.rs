//! The crash simulator: a store on one or two emulated drives, whose power can be cut before every
//! request that changes them.
//!
//! 1. [`live`] formats the drives and runs a seeded workload once, in a simulation. From the first
//!    opening on it takes a snapshot of the drives before every such request, together with what
//!    had been acknowledged by then ([`CutPoint`]).
//! 2. [`recover`] cuts the power at the point that the caller chooses, opens the store again and
//!    holds what it finds against the [`History`]: everything acknowledged as synced is there, what
//!    is there is a prefix of what was written, and the file system's check is clean.
//! 3. A trial may live on: it records its own recovery, writes more, and can be cut again. The
//!    check then comes at the end of that life.
//!
//! [`crowd`] has many writers at once, on stores whose operations fail, and cuts at one moment and
//! at the end. [`damage()`] and [`Directory`] cut nothing: they damage a closed store, on a drive
//! or in a directory, and demand that it reads back or reports an error.
//!
//! Each batch of the workload also stores its own number, so that a state tells which prefix it
//! claims to be; values carry the number of the life that wrote them, so that nothing old can pass
//! for new.
//!
//! | file | content |
//! |---|---|
//! | `life` | the workload with its cut points, and the kinds of drives and stores |
//! | `history` | what was written, and which states agree with it |
//! | `trial` | a cut, and the store opened after it |
//! | `damage`, `directory` | a damaged block, a damaged file |
//! | `crowd` | several writers, failures and cuts |
//!
//! All but `crowd` runs within a simulation that the caller starts; `crowd` runs on threads, too.

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
