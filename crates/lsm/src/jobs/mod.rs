//! Jobs: what turns memtables into tables and tables into other tables, in the background.
//!
//! | question | answered in |
//! |---|---|
//! | how does a memtable become tables | `flush` |
//! | what goes below level 0 at once, and how is it kept out of the way | `intake` |
//! | what are compactions to do next, and who waits for them | `board`, `rest` |
//! | what have clients asked for lately, as deciders see it | `load` |
//! | which table do point reads search in vain | `seeks` |
//! | how is a plan chosen and carried out, and what if it fails | `compaction` |
//! | what if a job or a writer finds no space | `space_pressure` |
//! | how is a merge carried out | `merging` |
//! | how is a merge cut into parts, and who carries these out | `subcompaction`, `worker` |
//! | how do tables of a merge come to lie together | `set` |
//! | how do sorted entries become tables | `rewrite`, `destinations`, `table_source`, `outputs` |
//! | which entries of a key must a job keep | `retention`, `tombstone_elision` |
//! | which segments does a plan name | `inputs` |
//! | how do tables change their level unread | `trivial_move` |
//! | which tables lie on an offload device, and how do they leave it | `offload` |
//! | how are tables dropped that range tombstones cover | `delete_only` |
//! | how does that go which only snapshots kept | `in_place` |
//! | how much space does a job reserve, and how is its work committed | `job` |
//! | how is a store copied while it is written | `checkpoint` |
//!
//! # Deciders and jobs
//! A decider of `terrace_policy` gets a view of the tree and returns a plan: moves of tables, or a
//! merge with its inputs and, for each range of the merged keys, the place of its output. A
//! compaction carries the plan out. It may cut a merge into parts that commit one by one, and end
//! it early; it does not send a key to another place. (If the plan moves a table that lies on an
//! offload device, the compaction writes the table anew first, if there is space, and the decider
//! is asked again.)
//!
//! # Invariants
//! - A job can be dropped between two steps. Its tables are sealed by its commit. If the job is
//!   dropped before that, their files are gone.
//! - A job keeps the entries that a reader of a snapshot, or of any later moment, can see. It also
//!   keeps a delete that hides an older entry elsewhere from such a reader.
//! - No lock is held over I/O.
//!
//! # Threads
//! One actor flushes. One or more actors compact, and there may be workers for the parts of merges.
//! A checkpoint runs in the thread of its client.

mod board;
mod checkpoint;
pub(crate) mod compaction;
mod delete_only;
mod destinations;
pub(crate) mod flush;
mod in_place;
pub(crate) mod inputs;
mod intake;
mod job;
mod load;
mod merging;
mod offload;
mod outputs;
mod rest;
mod retention;
mod rewrite;
mod seeks;
mod set;
mod space_pressure;
mod subcompaction;
mod table_source;
mod tombstone_elision;
mod trivial_move;
pub(crate) mod worker;

pub use checkpoint::{CheckpointProgress, Checkpointed};

pub(crate) use board::{Board, SCANS_PER_LOOK};
#[cfg(test)]
pub(crate) use job::worst_case;
pub(crate) use job::worst_case_of_memtable;
pub(crate) use load::LoadMeter;
#[cfg(test)]
pub(crate) use retention::{Retention, Verdict};
pub(crate) use seeks::Seeks;
pub(crate) use space_pressure::SpacePressure;
#[cfg(test)]
pub(crate) use subcompaction::Load;
pub(crate) use subcompaction::Subcompaction;
pub(crate) use worker::Workers;
