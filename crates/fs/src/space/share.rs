//! [`Share`]: the kinds of blocks that a pool counts apart. A claimed block is unsealed at first. A
//! call that frees a block, or turns it into another kind, must name the kind that it counts as
//! now; otherwise the counts are wrong.

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
