//! [`Share`]: the kinds of blocks that a pool's counts tell apart. A block is unsealed from its
//! claim on. A call that frees a block, or turns it into another kind, names the kind that it
//! counts as now: a wrong one spoils the counts.

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Blocks of sealed files.
    Live,
    /// Blocks of files that are still written, or were never sealed.
    Unsealed,
    /// Blocks of no file, which a reader may still read.
    Pinned,
}
