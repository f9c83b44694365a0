//! The [`Store`](terrace_env::Store) over a plain directory: for machines without zoned devices,
//! and to compare with.
//!
//! The metadata are the zoned store's own: the same records, catalog and frames, in a file
//! `JOURNAL-n` that the file `CURRENT`, a superblock, points to. Each file is a file of the
//! operating system, named by its id and kind; logs hold the same frames as on zones. The layout is
//! described in `docs/format/directory.md`.
//!
//! The file system of the host decides where files lie: a placement group changes nothing.
//!
//! | part | what it does |
//! |---|---|
//! | `store`, `volume`, `node` | the calls of the trait; the state of the store, and of a file |
//! | `opening`, `close` | recovery, and the ends of logs that closing records |
//! | `commit`, `journal` | group commit; the journal's file and `CURRENT` |
//! | `data_writer`, `log_writer`, `reader` | handles of files |
//! | `gate` | keeps writers out once the store is closed |
//! | `log_index`, `source` | where a log's bytes lie in its frames; a file for a scan |
//! | `names`, `reservation` | names of files; space that is set aside |
//! | [`Files`], [`OsFiles`], [`MemoryFiles`] | the seam to the host; a directory; the fake |
//! | `check`, `inspect` | what is there, verified, or as it is |
//!
//! # Order
//! Durability, step by step, with the reasons:
//!
//! 1. **Commit**: the bytes of the files that are sealed; the directory, if the group creates or
//!    seals files and any were made since it was last synced; then one append to the journal and
//!    its sync. Only then are deleted files removed and trimmed bytes punched out. So whatever the
//!    journal names is there.
//! 2. **Sync of a log**: its frames, then its own sync; no metadata. Its entry in the directory was
//!    made durable by the commit that created it: before that commit, no sync makes a log last.
//! 3. **Sync of a client's file**: its own sync, then a commit of its new length, once the catalog
//!    has the file.
//! 4. **Roll**: the snapshot goes to a new journal file, and the new pointer to `CURRENT.new`; both
//!    are synced, then the directory; then `CURRENT.new` is renamed to `CURRENT`; then the
//!    directory again; only then is the old journal removed. So `CURRENT` always names a whole
//!    snapshot.
//! 5. **Opening for writing**: the directory, the journal and all unsealed logs are synced before
//!    they are believed: an earlier process may have left them in the cache of the operating
//!    system. Then the ends of the logs, a new epoch and all files go into a new journal (a roll),
//!    and nothing else is written before that is in force; only files that no record names are
//!    removed.
//!
//! # Assumptions about the medium
//! A synced file, and a synced directory's entries, survive a power cut. Of what is not synced, any
//! sectors of 512 bytes and any entries may survive. A rename is seen either not at all or done.
//!
//! # Threads
//! Any number of threads may call; no lock is held over a file operation. Commits go in groups. A
//! group's leader alone writes the journal, and other commits wait while the leader rolls it.
//!
//! # What it does not do
//! It does not own its disk's space: reservations are kept to among its own users only. It verifies
//! frames of logs whenever they are read from the file; bytes of other files are their owner's to
//! verify.

mod check;
mod close;
mod commit;
mod data_writer;
mod files;
mod gate;
mod inspect;
mod journal;
mod log_index;
mod log_writer;
mod memory_files;
mod names;
mod node;
mod opening;
mod os_files;
mod reader;
mod reservation;
mod source;
mod store;
mod volume;

pub use files::{FileHandle, Files, Room};
pub(crate) use inspect::{FilePart, file_source, journal_source, superblock_block};
pub use memory_files::MemoryFiles;
pub use os_files::OsFiles;
pub use store::{DirOptions, DirStore};
