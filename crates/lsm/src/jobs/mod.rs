//! Jobs: what turns memtables into tables and tables into other tables, in the background.
//!
//! | question | answered in |
//! |---|---|
//! | how does a memtable become tables | `flush` |
//! | what goes below level 0 at once, and how is it kept out of the way | `intake` |
//! | what are compactions to do next, and who waits for them | `board`, `rest` |
//! | what is compacted next, and what if it fails | `compaction` |
//! | what if a job or a writer finds no space | `space_pressure` |
//! | how is a merge carried out | `merging` |
//! | how is it cut into parts for several workers | `subcompaction`, `worker` |
//! | how do tables of a merge come to lie together | `set` |
//! | how do sorted entries become tables | `rewrite`, `destinations`, `table_source`, `outputs` |
//! | which entries of a key must a job keep | `retention`, `tombstone_elision` |
//! | which segments does a plan name | `inputs` |
//! | how do tables change their level unread | `trivial_move` |
//! | how are tables dropped that range tombstones cover | `delete_only` |
//! | how much space does a job reserve, and how is it committed | `job` |
//! | how is a store copied while it is written | `checkpoint` |
//!
//! # Deciders and doers
//! A decider of `terrace_policy` gets a view of the tree and returns a plan: inputs, and for each
//! range of the merged keys the place of its output. Some deciders look at zones as well, by a
//! source that they were made with. The jobs carry plans out without a choice of their own, except
//! for three: how a merge is cut into parts, where a part ends early for lack of space, and which
//! tables go because range tombstones cover them.
//!
//! # How a merge goes
//! 1. The compaction's actor asks the decider and finds the plan's segments in the version.
//! 2. The merge is cut into parts with about equal bytes of input. Each part reserves the worst
//!    case of its output, or less where space is short; then a worker reads the inputs, drops what
//!    no reader can see, and writes tables.
//! 3. The actor commits the parts one by one. Each commit puts the new tables in, takes what was
//!    merged from the inputs, and leaves a legal tree. The state of the decider commits with the
//!    last part, if nothing of the merge was left undone.
//!
//! # Invariants
//! - A job is dropped between two steps without a trace on the medium: its tables are not sealed
//!   before its commit, and unsealed files of a former life are removed.
//! - Memory is bounded, whatever the size of the plan: for each part that is under way, two
//!   read-ahead buffers per input run, and one table being written for each destination of its
//!   routes, eight at most.
//! - A job that finds no space waits and tries again; any other error stops all writing until
//!   somebody calls `resume`.
//! - An entry is dropped only if no snapshot and no later reader can see it, and a delete only if
//!   nothing older of its key is left below the job's inputs.
//!
//! # Threads
//! One actor flushes. One actor compacts, or as many as plans may be under way at once; workers,
//! if there are several, carry out the parts of their merges. A checkpoint runs in the thread of
//! its client. No lock is held while a job reads, writes or commits.
//!
//! # Not done here
//! A job neither chooses its inputs nor the zones of its outputs. An ingest writes its tables in
//! the thread of its client: see `writing`.

mod board;
mod checkpoint;
pub(crate) mod compaction;
mod delete_only;
mod destinations;
pub(crate) mod flush;
pub(crate) mod inputs;
mod intake;
mod job;
mod merging;
mod outputs;
mod rest;
mod retention;
mod rewrite;
mod set;
mod space_pressure;
mod subcompaction;
mod table_source;
mod tombstone_elision;
mod trivial_move;
pub(crate) mod worker;

pub use checkpoint::{CheckpointProgress, Checkpointed};

pub(crate) use board::Board;
#[cfg(test)]
pub(crate) use job::worst_case;
pub(crate) use job::worst_case_of_memtable;
#[cfg(test)]
pub(crate) use retention::{Retention, Verdict};
pub(crate) use space_pressure::SpacePressure;
#[cfg(test)]
pub(crate) use subcompaction::Load;
pub(crate) use subcompaction::Subcompaction;
pub(crate) use worker::Workers;
