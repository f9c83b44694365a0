//! [`Store`](terrace_env::Store) in a plain directory, for machines without zoned devices, and for
//! comparison.
//!
//! The metadata are those of the store on devices: the same records, catalog and frames. They lie
//! in a file `JOURNAL-n`, and the file `CURRENT`, a superblock, names it. Each file of the store is
//! a file of the operating system, named by its id and kind. `docs/format/directory.md` describes
//! the layout.
//!
//! | part | content |
//! |---|---|
//! | `store`, `volume`, `node` | the calls of the trait; the state of the store, and of a file |
//! | `opening`, `close` | recovery, and the ends of logs that closing records |
//! | `commit`, `journal` | group commit; the journal's file and `CURRENT` |
//! | `data_writer`, `log_writer`, `reader` | handles of files |
//! | `ahead` | space for a file that grows |
//! | `os_view`, `view` | a sealed file in memory, for reading |
//! | `handle_pool`, `pooled_file`, `pooled_files` | a bound on open files of the host |
//! | `gate` | keeps writers out once the store is closed |
//! | `tail`, `os_mapping` | bytes of a log that are in no frame; a file in memory |
//! | `log_index`, `source` | places of a log's bytes in its frames; a file for a scan |
//! | `watch` | of an opening next to a writer: whether the store has changed |
//! | `names`, `reservation` | names of files; space that is set aside |
//! | [`Files`], [`OsFiles`], [`MemoryFiles`] | the interface to the host; a directory; the fake |
//! | `check`, `inspect` | a check of the store; its parts for an inspector |
//!
//! # Order
//! Syncs and other writes, in their order:
//!
//! 1. **Commit**: the bytes of the files that are sealed; then the directory, if the group creates
//!    or seals files and any was made since it was last synced; then one append to the journal, and
//!    its sync. After that, deleted files are removed, and trimmed bytes punched out; if a file has
//!    readers, when the last one ends.
//! 2. **Sync of a log**: its frames, then the file; no metadata. The commit that creates the log
//!    makes its name durable: before that commit, no sync makes a log last.
//! 3. **Sync of a client's file**: the file; then a commit of its length, if the catalog has the
//!    file with another one.
//! 4. **Roll**: the snapshot goes to a new journal file, and a new superblock to `CURRENT.new`.
//!    Both are synced, then the directory. Then `CURRENT.new` is renamed to `CURRENT`, and the
//!    directory is synced again. The old journal is removed last. So `CURRENT` names a whole
//!    snapshot at any time.
//! 5. **Opening for writing**: the directory, the journal and all unsealed logs, before they are
//!    read: an earlier process may have left their bytes in the operating system's cache. Leftovers
//!    are removed: files named by an id and kind that no record has, other journals, and
//!    `CURRENT.new`. Then a roll writes a new journal, with the ends of the logs and a new epoch.
//! 6. **Reopening of a log**: the file, if bytes after the log's end had to be cut off.
//! 7. **Closing**: each unsealed log, cut to its end; then a commit that records the ends; then
//!    `CURRENT`, in the same steps as for a roll. If a file still has a writer, or a deleted file a
//!    reader, none of these steps is taken. If a log has failed, no commit is made.
//!
//! # Assumptions about the medium
//! A synced file, and the entries of a synced directory, survive a power cut. Of unsynced bytes and
//! entries, any sectors of 512 bytes and any entries may survive. A name that a rename replaces
//! leads to the old file or to the new one.
//!
//! # Threads
//! Any number of threads may call. No lock is held over a file operation. Commits go in groups: one
//! leader at a time writes the journal, and other commits wait while it rolls.
//!
//! # Limits
//! The store does not own its disk's space: a reservation holds against the other users of this
//! store, not against other programs. Frames of logs are verified when they are read from the file;
//! bytes of other files are left to their owner to verify.

mod ahead;
mod check;
mod close;
mod commit;
mod data_writer;
mod files;
#[cfg(test)]
mod fuzz;
mod gate;
mod handle_pool;
#[cfg(test)]
mod ids_tests;
mod inspect;
mod journal;
mod log_index;
mod log_writer;
mod memory_files;
mod names;
mod node;
mod opening;
mod os_files;
mod os_mapping;
mod os_view;
mod pooled_file;
mod pooled_files;
mod reader;
mod reservation;
mod source;
mod store;
mod tail;
mod view;
mod volume;
mod watch;

pub use files::{FileHandle, Files, HandleLimit, Mapping, Room};
pub(crate) use inspect::{FilePart, file_source, journal_source, superblock_block, tail};
pub use memory_files::MemoryFiles;
pub use os_files::OsFiles;
pub use store::{DirOptions, DirStore};
pub(crate) use tail::Records;
