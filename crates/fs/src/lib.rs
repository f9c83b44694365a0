//! The file system of the store: files on devices with or without zones, or in a plain directory.
//!
//! | part | task |
//! |---|---|
//! | [`Fs`] | the store on devices: format, mount, check, erase, zone map |
//! | [`Devices`] | a device of any layout, and perhaps a log device or an offload device |
//! | [`BlockAddr`], [`AddressSpace`] | where a block lies, and which addresses a store has |
//! | [`ZoneGrid`], [`ZonePlace`] | in which zone a block lies, and where in it |
//! | [`catalog`] | the records of the files, as a pure value, and the changes to it |
//! | [`frame`] | frames, the parts of logs, and how a log's end is found |
//! | [`superblock`] | the record from which a mount finds everything else |
//! | [`journal`] | the log of the catalog's records, on a device |
//! | [`dir`] | the same store over a plain directory |
//! | [`inspect`] | contents of the medium, damaged or not, without a mount |
//! | [`canary`] | rules that a test can break, to prove that others notice |
//!
//! Private modules, some of which have public items:
//!
//! | part | task |
//! |---|---|
//! | `volume` | the parts of a mounted store, and how a transaction is committed |
//! | `file`, `cache` | writers, readers and pins of files; written blocks in memory |
//! | `space`, `reclaim` | which writer gets which blocks; how zones are emptied |
//! | `media`, `medium`, `flushes` | the devices, with counts; which flushes can be believed |
//! | `format`, `mount`, `assembly` | a new store; an existing one, found on its devices |
//! | `erase` | makes the devices of a store blank |
//! | [`Beside`], `watch` | a mount next to a writer, and the proof of its reads |
//! | `pairing` | marks that tell whether devices are copies of the same age |
//! | `copied` | tells a copy of a store's first drive from the original |
//! | `absent` | stands for an offload device that is lost |
//! | `check`, `checked` | verifies a store on devices; the result of a check |
//! | `usage`, `runs`, `block` | how space is used; the file system's block |
//!
//! # Invariants
//! - An extent is pointed to a new place only when the copy there is durable.
//! - On devices, no block of a file is written again while an open handle or a read can see it.
//! - A commit is acknowledged when it is durable, and the blocks that it frees come free after
//!   that.
//! - No lock is held over a device call. Locks are taken in the order registry, journal, file,
//!   space; in `dir`, volume, file.
//! - This crate knows no keys, and of levels only the number in a file's annotation.

mod absent;
mod address;
mod assembly;
mod beside;
mod block;
mod cache;
pub mod canary;
pub mod catalog;
mod check;
mod checked;
mod copied;
mod copier;
mod devices;
pub mod dir;
mod erase;
mod file;
mod flushes;
mod format;
pub mod frame;
mod fs;
mod gatherer;
mod growing;
pub mod inspect;
pub mod journal;
mod media;
mod medium;
mod mount;
mod pairing;
mod reclaim;
mod runs;
mod space;
pub mod superblock;
mod unfinished_format;
mod usage;
mod volume;
mod watch;

pub use address::{AddressSpace, BlockAddr, ZoneGrid, ZonePlace};
pub use assembly::{device_number, holds_store, second_device};
pub use beside::Beside;
pub use block::{BLOCK, logical_per_block, pointer, zone_blocks};
pub use cache::CachePolicy;
pub use checked::{CheckProgress, Checked, DeviceChecked, Problem};
pub use copied::check_copied;
pub use devices::Devices;
pub use format::{FormatOptions, OPEN_ZONES_MIN, ZONE_BLOCKS_MIN, check_room, data_zones_min};
pub use fs::Fs;
pub use medium::FLUSH_EVERY;
pub use mount::{Access, MountOptions};
pub use runs::{FreeSpace, RunUsage, RunUse};
pub use space::{SpacePart, SpaceParts};
pub use unfinished_format::holds_unfinished_format;
pub use usage::{DeviceUsage, ZoneUsage, ZoneUse};
