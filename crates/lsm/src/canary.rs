//! Rules of the engine that a test can break on purpose, to prove that the tests would notice.
//!
//! With debug assertions, `set` breaks one rule for the calling thread, until the next `set` there.
//! Code that runs in another thread keeps the rule, for example the engine's jobs on the threaded
//! runner. A simulation runs its actors on one thread, so the rule is broken for all of them.
//! Without debug assertions, for example in a release, no rule can be broken.

/// A rule that a correct engine keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A failure of a group's log fails every batch of the group that asked for it.
    FollowersShareTheError,
    /// A sync waits until the entries that are in no log are in tables.
    SyncFlushesUnlogged,
    /// A write whose append to the log failed is refused.
    AppendFailsItsWrites,
    /// Entries are in the memtable before readers learn of their sequences.
    InsertBeforePublish,
    /// A read takes the view first and the sequence second.
    ViewBeforeSequence,
    /// A read of several keys has a view with all ingests up to its sequence.
    SequenceOfTheView,
    /// An ingest's sequence becomes visible together with its tables.
    IngestVisibleWithItsTables,
    /// A snapshot is known to jobs from the moment on when its sequence is the newest.
    SnapshotKnownToJobs,
    /// The transaction that adds a log's tables deletes the log, and no earlier one.
    LogGoesWithItsTables,
    /// All versions of a key in a run are in one table.
    VersionsInOneTable,
    /// The tables of a checkpoint are verified in the bytes that are written.
    CopiesVerified,
    /// A log of a checkpoint has the bytes that the opening has read.
    CopiedLogsAsRead,
    /// A backup keeps a table only if its end is that of the source's table.
    KeptTablesCompared,
    /// A backup that is opened for writing forgets its source first.
    SourceForgotten,
    /// Two plans in flight may not change the same part of the tree.
    ClaimsDoNotMeet,
    /// A job that finds no space is no news for another one that waits for space.
    LackIsNoNews,
    /// A merge's table ends where a table of its run stays.
    TablesEndAtBarriers,
    /// A table's bytes are counted in its level.
    TablesCounted,
    /// A table's entries that only snapshots keep are counted.
    OldVersionsCounted,
    /// A leader that panics fails all batches of its group.
    GroupFailsWithItsLeader,
    /// A flush of an opening that finds no space leaves its entries in memory.
    OpeningOutlivesFullStore,
    /// An ingest comes after the flush of range deletes that are in memory.
    IngestFlushesRangeDeletes,
    /// A guard is checked against the writes that have become visible since the writer checked it.
    GuardsHeldInTheLead,
    /// A guard is checked against the writes of its group.
    GuardsSeeTheirGroup,
    /// A value that a filter drops becomes a delete, which hides older entries.
    FilteredBecomesDelete,
    /// A filter is not asked about an entry that a snapshot sees.
    FilterSparesSnapshots,
    /// A preallocated log to which the leader could not change is kept.
    LogAheadIsKept,
}

terrace_env::canary!(Rule);
