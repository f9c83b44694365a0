//! Power cuts at every request that changes the drive, with recovery, and cuts during recovery.
//!
//! A client runs on a drive whose observer keeps a snapshot before every request that changes it,
//! with the state that must be found after a cut at that moment. Then each snapshot is cut, in a
//! mode by seed, mounted, compared and checked; a client goes on for a while, and one moment of all
//! that is cut again.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-fs any_write` repeats the run of one seed.

#[cfg(debug_assertions)]
mod canary;
mod client;
mod everywhere;
pub(crate) mod facts;
