//! Rules that can be broken on purpose, to prove that the tests notice.
//!
//! With debug assertions, `set` breaks one rule, in place of the one before, for code that runs on
//! the calling thread. Without them, as in a release, no rule can be broken.

/// A rule that a correct file system keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A commit is durable before it is acknowledged.
    JournalDurableBeforeAck,
    /// A copy is durable before an extent is pointed at it.
    CopyDurableBeforeMove,
    /// A recovered log's end is journaled before anything new is written.
    LogEndJournaled,
    /// The journal says how far logs are durable, and closing says where they end.
    LogEndRecorded,
    /// A zone is not reset while a reader may still look into it.
    NoResetUnderReader,
    /// A flush is believed once it is known how those ended that the device got before it.
    FlushAwaitsEarlierOnes,
    /// Space that a failed copy has taken is given back.
    FailedCopiesGivenBack,
    /// Space that a failed write has taken is given back.
    FailedWritesGivenBack,
    /// A log's frames are durable before a later forced one is written.
    FramesDurableInOrder,
    /// A read holds the pin of the state that it was planned from until it ends.
    ReadHoldsPin,
    /// The superblock says where the journal begins before older zones are given back.
    SuperblockBeforeRelease,
    /// The file cache drops blocks that are written again, taken back or deleted.
    CacheFollowsWrites,
    /// A commit that needs a flush waits for one of the devices that the journal is not on, too.
    OtherDevicesFlushed,
    /// The journal's device keeps the mark of the last mount until the other device has the new
    /// one.
    OldMarkKept,
    /// Requests to a device are counted. If broken, flushes are not.
    RequestsCounted,
    /// On shingled tracks a run is written only if its guard is free.
    RunHasGuard,
    /// The guard has all tracks that a write destroys. If broken, one is missing.
    GuardIsWhole,
    /// A mount next to a writer, and a read of it, is believed once its blocks are vouched for.
    ReadsBesideVouched,
    /// A gap before a run in use is written only if the guard is in the gap, too. If broken, guards
    /// are kept where they fit, but a gap is used to its end.
    GapHasGuard,
    /// Bytes of a directory's tail count only for the epoch in which they were written.
    TailOfItsEpoch,
    /// Bytes that an opening finds in a directory's tail are durable before the store is used.
    TailDurableAtOpening,
}

terrace_env::canary!(Rule);
