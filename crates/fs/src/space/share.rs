//! [`Share`]: the kinds of blocks that a pool's counts tell apart.

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
