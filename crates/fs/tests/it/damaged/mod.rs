//! Files damaged at random, in directories and on zones, of stores that were closed and of stores
//! whose process was killed: everything that has to be there is read back, or its loss is reported.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-fs --test it damaged` repeats one seed.

mod directory;
mod harm;
mod oracle;
pub(crate) mod specimen;
mod suite;
pub(crate) mod zones;
