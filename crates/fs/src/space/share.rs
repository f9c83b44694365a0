//! [`Share`]: the kinds of blocks that a pool's counts tell apart.

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Of sealed files.
    Live,
    /// Of files that are still written, or were never sealed.
    Unsealed,
    /// Of nothing that exists, but a reader may still read them.
    Pinned,
}
