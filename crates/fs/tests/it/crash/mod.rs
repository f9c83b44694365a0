//! Power cuts at every request that changes the drive, under several clients of the file system.
//!
//! | module | what it does |
//! |---|---|
//! | `oracle` | what a client has been promised, and whether a mounted store keeps it |
//! | `client` | an actor that creates, syncs, seals, trims, links and deletes by seed |
//! | `scene` | a drive, its clients and their lives, cut points, recovery |
//! | `cuts` | the tests |
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-fs --test it crash` repeats one seed.

mod client;
mod cuts;
mod oracle;
mod scene;
