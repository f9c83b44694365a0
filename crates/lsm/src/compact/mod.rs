//! Compacting: how tables become other tables in the background. A flush uses the same jobs to
//! write its tables ([`Rewrite`]).
//!
//! | question | answered in |
//! |---|---|
//! | which task of a compaction is next, and which clients wait for one | `board`, `rest` |
//! | how large is the recent load of clients | `load` |
//! | which table has had too many misses | `seeks` |
//! | which actor compacts, and what follows a failure | `compactor` |
//! | how is a plan carried out, from its task to its commit | `compaction` |
//! | which plan is chosen for a task | `picking` |
//! | which actors are notified of changes | `notifier` |
//! | how is a merge carried out | `merging` |
//! | how many bytes a second may compactions process | `pacer` |
//! | how is a merge cut into parts, and which actors carry these out | `subcompaction`, `worker` |
//! | how are the tables of a merge placed together | `set` |
//! | how do sorted entries become tables | `rewrite`, `destinations`, `table_source`, `outputs` |
//! | which entries of a key must a job keep | `retention`, `tombstone_elision` |
//! | which values do the filters of users drop | `value_filter` |
//! | how do operands of a key become one entry | `combining` |
//! | is a plan legal, and at which keys must its outputs end | `inputs` |
//! | how do tables change their level without being read | `trivial_move` |
//! | which tables lie on an offload device, and how do they leave it | `offload` |
//! | how are tables dropped after range tombstones cover them | `delete_only` |
//! | how are old versions dropped after their snapshots | `in_place` |
//! | how much space does a job reserve | `worst_case` |
//!
//! # Deciders and jobs
//! A decider of `terrace_policy` gets a view of the tree and returns a plan: moves of tables, or a
//! merge with its inputs and, for each range of the merged keys, the place of its output. A
//! compaction carries the plan out. It may cut a merge into parts that commit one by one, and end
//! it early; it does not send a key to another place. If the plan moves a table that lies on an
//! offload device, and there is space, the compaction rewrites the table first, and the decider is
//! asked again.
//!
//! # Invariants
//! - A job can be dropped between two steps. Its tables are sealed by its commit. If the job is
//!   dropped before that, the store removes their files.
//! - A job keeps the entries that a reader of a snapshot, or of any later moment, can see. It also
//!   keeps a delete that hides an older entry elsewhere from such a reader.
//! - No lock is held over I/O.
//!
//! # Threads
//! One or more actors compact, and there may be workers for the parts of merges.

mod board;
mod combining;
mod compaction;
mod compactor;
mod delete_only;
mod destinations;
mod in_place;
mod inputs;
mod load;
mod merging;
mod notifier;
mod offload;
mod outputs;
mod pacer;
mod picking;
mod rest;
mod retention;
mod rewrite;
mod seeks;
mod set;
mod subcompaction;
mod table_source;
mod tombstone_elision;
mod trivial_move;
mod value_filter;
pub(crate) mod worker;
mod worst_case;

pub(crate) use board::{Admitted, Board, Signals};
pub(crate) use combining::Combining;
pub(crate) use compactor::Compactor;
pub(crate) use load::LoadMeter;
pub(crate) use notifier::Notifier;
pub(crate) use offload::offloads;
pub(crate) use pacer::Pacer;
#[cfg(test)]
pub(crate) use retention::{Retention, Verdict};
pub(crate) use rewrite::Rewrite;
#[cfg(test)]
pub(crate) use subcompaction::Load;
pub(crate) use table_source::TableSource;
pub(crate) use tombstone_elision::TombstoneElision;
pub(crate) use worker::Workers;
#[cfg(test)]
pub(crate) use worst_case::worst_case;
pub(crate) use worst_case::worst_case_of_memtable;
