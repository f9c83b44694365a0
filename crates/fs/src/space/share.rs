//! [`Share`]: the kinds of blocks that a pool counts apart. A block counts as unsealed when a
//! writer claims it. A call that frees a block, or turns it into another kind, must name the kind
//! that it counts as now; otherwise the counts are wrong.

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
