//! [`Share`]: the kinds of blocks that a pool's counts tell apart. A block that is claimed is
//! unsealed at first. A call that frees a block, or turns it into another kind, names the kind that
//! it counts as now: a wrong one spoils the counts.

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
