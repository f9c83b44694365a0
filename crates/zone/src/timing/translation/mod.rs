//! Translation layers: the timing model of disks of shingled bands that take writes anywhere, and
//! pay for it.
//!
//! A band is written front to back. To change bytes in it, the drive reads the band, changes it,
//! and writes it again. [`Translated`] wraps the model of a [`Disk`](super::Disk), whose head does
//! this work next to the host's requests. The layer decides about time alone; bytes are where the
//! host put them.
//!
//! # Fixed bands
//! 1. A write that begins at or after the highest written byte of its band, and finds no burst
//!    there, *appends*: it goes to the disk as it is. Gaps stay.
//! 2. Another write goes to the drive's buffer. It opens a *burst* of its band, or joins it, and
//!    completes when the buffer has it. A read that a burst holds whole is served from the buffer.
//! 3. A burst ends when more than `open_bands` bands have one (then the least recently written one
//!    ends), when its band was not written for `burst_idle`, or when the buffer needs room. The
//!    band is then rewritten: it is read, unless all of it has changed, and written. With `rewrite
//!    = "band"` this is everything that was written of the band; with `"tail"` it is the part from
//!    the first changed byte on.
//! 4. A flush or a forced write does not end a burst: the buffer counts as safe.
//! 5. The drive does not know of deletions: once written, a part of a band is always rewritten,
//!    too.
//!
//! # Persistent cache
//! Some drives have a log at the outer diameter (Aghayev and Desnoyers, "Skylight", FAST '15). It
//! takes all writes, except those of sequential streams from `bypass` bytes on and those whose
//! bands all have a burst. An entry takes the head the time `entry`, and the transfer. When the
//! host has asked nothing for `idle`, or the cache is full, the band that has had entries for
//! longest is *cleaned*: its entries are read, and the band is rewritten as under 3. A write that
//! finds the cache full waits. A read is served from the cache if one entry holds all of it,
//! otherwise from the band.
//!
//! # Amplification
//! [`Work`](super::Work) counts the bytes that the host wrote and those that the medium took.
//! Auxiliary write amplification (AWA, SEALDB table I) is the second over the first. A rewrite
//! counts when it is ordered, so an open burst does not count yet. Cleaning counts under
//! [`Cause::Reclaim`](terrace_env::Cause).
//!
//! | part | content |
//! |---|---|
//! | `parameters` | the `[translation]` part of a drive file |
//! | `bands` | how far bands are written, and bursts |
//! | `media_cache`, `streams` | the persistent cache, and which writes go past it |
//! | `rewriter` | reading and writing bands on the disk |
//! | `model` | joins them |
//!
//! A power cut drops the buffer; the persistent cache stays. Not modelled: the drive's map and its
//! journal, guard tracks between bands, and defects.

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
