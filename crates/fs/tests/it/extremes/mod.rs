//! Numbers of a store replaced by extreme ones, with right checksums, in a directory and on zones:
//! each call ends in an answer or an error, and a store that takes a commit keeps it.
//!
//! Checksums do not protect from a program that writes them: a store can come from a stranger.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-fs --test it extremes` repeats one seed.

mod directory;
mod life;
mod patch;
mod zones;
