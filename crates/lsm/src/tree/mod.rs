//! The tree: the current tables and their places, and changes of them.
//!
//! | question | answered in |
//! |---|---|
//! | which tables does the tree hold at one moment | `version` |
//! | how are the segments of a run ordered and searched | `run` |
//! | which tables have segments in several runs | `split_tables` |
//! | how is a table opened when it is first needed | `handle` |
//! | how are the entries of a table's file laid out | `table_kind` |
//! | which version is current, and which thread may replace it | `tree`, `view` |
//! | how does the tree change | `edit`, `commit` |
//! | which parts are on the medium | `annotation`, `store_record`, `space_page`, `space_entry` |
//! | of which store is it a backup | `backup_record` |
//! | which ranges of keys are lost with a device | `lost` |
//! | is the engine of a view closed | `closed` |
//! | which key spaces are there | `spaces`, `space_list` |
//! | how is a key space made and dropped | `space_changes` |
//!
//! # Shape
//! A version has levels, a level has runs, and a run has segments. A segment is a table with a
//! range of its keys. Keys outside of its segments are no longer part of the tree. Example: a
//! compaction has merged the first half of a table; the table stays in its run with a segment of
//! its second half.
//!
//! # How it changes
//! An `Edit` lists the parts of tables that are removed and the segments that are added. The
//! transaction and the next version are both made from these lists, so that they agree. There is no
//! manifest: the annotations of the files are the tree, and an opening rebuilds it from them.
//!
//! # Invariants
//! - A version never changes. A reader that holds one finds all its tables, even if they have been
//!   deleted since: a table's handle pins the file.
//! - In a level, runs with a higher id are newer. In a run, segments are in key order and do not
//!   overlap.
//! - If two places have entries of one key, the place nearer to level 0, or the newer run of a
//!   level, has the newer ones. This includes range tombstones.
//! - Changes are committed one after the other, and each starts from the result of the one before.
//! - The decider's state commits in the same transaction as the end of its choice, unless the state
//!   of a later choice has been committed. A merge that ends early leaves the old state.
//!
//! # Threads
//! Readers share versions without a lock. Any actor can commit a change: it takes the turn, and
//! holds no lock while it waits for the store.

mod annotation;
mod backup_record;
mod closed;
mod commit;
mod edit;
#[cfg(test)]
mod fuzz;
mod growing;
mod handle;
mod lost;
mod run;
mod space_changes;
mod space_entry;
mod space_list;
mod space_page;
mod spaces;
#[cfg(test)]
mod specimen;
mod split_tables;
mod store_record;
mod table_kind;
#[expect(clippy::module_inception, reason = "a file is named after its principal type")]
mod tree;
mod version;
mod view;

pub use lost::LostRange;
pub use space_entry::KeySpaceEntry;

pub(crate) use annotation::{INGEST_STREAM, LogRecord, SegmentRecord, TableRecord, table_hint};
pub(crate) use backup_record::{BackupRecord, Origin};
pub(crate) use closed::Closed;
pub(crate) use commit::{Committed, Committer, DeciderState};
pub(crate) use edit::{Edit, NewTable};
pub(crate) use growing::check_room;
pub(crate) use handle::TableHandle;
pub(crate) use run::{Run, Segment, Sought};
pub(crate) use space_changes::SpaceChanges;
#[cfg(test)]
pub(crate) use space_list::SpaceHome;
pub(crate) use space_list::SpaceList;
pub(crate) use space_page::SpacePage;
pub(crate) use spaces::Spaces;
#[cfg(test)]
pub(crate) use specimen::empty_tree;
pub(crate) use store_record::{FEATURE_EXPIRY, FEATURE_RANGE_DELETES, StoreRecord};
pub(crate) use table_kind::TableKind;
pub(crate) use tree::{EndedSnapshot, Tree};
pub(crate) use version::Version;
pub(crate) use view::View;
