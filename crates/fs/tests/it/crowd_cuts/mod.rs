//! Power cuts at every request that changes the drive, under a crowd: several clients at once, so
//! that commits meet in groups and files of many owners share zones; in second lives, and after a
//! reformat. (`cuts` has one client that does everything there is to do.)
//!
//! | module | task |
//! |---|---|
//! | `oracle` | promises to a client, and whether a mounted store keeps them |
//! | `client` | an actor that creates, syncs, seals, trims, links and deletes by seed |
//! | `scene` | a drive, its clients and their lives, cut points, recovery |
//! | `cuts` | the tests |
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-fs --test it crowd_cuts` repeats one seed.

mod client;
mod cuts;
mod oracle;
mod scene;
