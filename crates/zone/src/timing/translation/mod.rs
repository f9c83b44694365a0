//! Translation layers: disks of shingled bands that take writes anywhere, and pay for it.
//!
//! A band is written front to back; bytes in it can only be changed by reading the band, changing
//! it, and writing it again. [`Translated`] wraps the model of a [`Disk`](super::Disk), which does
//! this work with its head, beside the host's requests. The layer decides on time alone; bytes are
//! where the host put them.
//!
//! # Fixed bands
//! 1. A write that begins at or behind the end of what was ever written of its band *appends*: it
//!    goes to the disk as it is. (Nothing lies behind it that it could harm. Gaps stay.)
//! 2. Any other write goes to the drive's buffer and opens a *burst* of its band, or joins it. Such
//!    a write completes when the buffer has it. All writes to a band with an open burst join it. A
//!    read of which the buffer holds all is served from there.
//! 3. A burst ends when more than `open_bands` bands have one - the one that was written least
//!    recently -, when its band was not written for `burst_idle`, or when the buffer needs room.
//!    Then the band is rewritten once: it is read, unless all of it has changed, and written. With
//!    `rewrite = "band"` this is all that was ever written of the band; with `"tail"` what lies
//!    from the first changed byte on.
//! 4. A flush or a forced write ends no burst: the buffer counts as safe. A store syncs each of its
//!    tables, so a flush that ended bursts would cost a rewrite for each table. SEALDB (section
//!    II-C) counts 6.22 rewrites of 34 MB for the 9.83 tables of a compaction.
//! 5. The drive is told of no deletions: what was once written of a band is rewritten for ever.
//!
//! # Persistent cache
//! Drives as Aghayev and Desnoyers found them ("Skylight", FAST '15), and as BlueFS's figures 1, 8,
//! 9, 14 and 17 have one: a log at the outer diameter, which takes all writes but those of
//! sequential streams of at least `bypass` bytes. An entry takes the head `entry` and the transfer.
//! When the host has asked nothing for `idle`, or the cache is full, the band that has had entries
//! for longest is *cleaned*: its entries and the band are read, and the band is written. A write
//! that finds the cache full waits for a band to be cleaned. Writes of streams, and those to bands
//! with an open burst, follow the rules above.
//! A read of which one entry of the cache holds all is served from there, any other from the band.
//!
//! # Amplification
//! [`Work`](super::Work) counts the bytes that the host wrote and those that the medium took:
//! appends, cache entries, and rewritten bands. Auxiliary write amplification (AWA, SEALDB table I)
//! is the second over the first. A rewrite counts from the time when it is ordered, so an open
//! burst does not count yet. Cleaning counts, with its time, under
//! [`Cause::Reclaim`](terrace_env::Cause).
//!
//! | part | content |
//! |---|---|
//! | `parameters` | the `[translation]` part of a drive file |
//! | `bands` | how far bands are written, and bursts |
//! | `media_cache`, `streams` | the persistent cache, and what passes by it |
//! | `rewriter` | reading and writing bands on the disk |
//! | `model` | joins them |
//!
//! Not modelled: the drive's map and its journal, guard tracks between bands, defects, and what a
//! power cut leaves of the buffer: all of it is forgotten then, and the drive is at rest.

mod bands;
mod media_cache;
mod model;
mod parameters;
mod rewriter;
mod streams;
#[cfg(test)]
mod tests;

pub use model::Translated;
pub(super) use parameters::TranslationParameters;
