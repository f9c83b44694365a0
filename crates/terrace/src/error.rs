//! What can go wrong with a store.

use terrace_env::OutOfRange;
use terrace_env::store::StoreError;
use terrace_policy::ParseSystemError;

/// An error of a [`Db`](crate::Db).
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A key-value operation failed.
    #[error(transparent)]
    Engine(#[from] terrace_lsm::Error),
    /// The files below could not be formatted, mounted or opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store remembers a system that this version does not know. It can be opened under one
    /// that it knows, by [`Options::system`](crate::Options::system).
    #[error("the store was last opened under a system unknown here: {0}")]
    System(ParseSystemError),
    /// An option is out of its range. Nothing was written or remembered.
    #[error(transparent)]
    Option(#[from] OutOfRange),
    /// A key space of one store was used with another, or with the same store opened again.
    #[error(
        "the key space {name:?} belongs to another store: expected one of the store that it is \
         used with; ask that one for it, by `key_space`"
    )]
    OtherStore {
        /// The key space's name.
        name: String,
    },
}

impl Error {
    /// Whether space is short, now. Deletes and reads still work, and writes work again once
    /// something is deleted, or readers of deleted data are done.
    #[must_use]
    pub fn is_space(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_space(),
            Self::Store(error) => error.is_space(),
            Self::System(_) | Self::Option(_) | Self::OtherStore { .. } => false,
        }
    }

    /// Whether bytes on the medium are not what was written.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_corruption(),
            Self::Store(error) => matches!(error, StoreError::Corruption { .. }),
            Self::System(_) | Self::Option(_) | Self::OtherStore { .. } => false,
        }
    }
}
