//! [`Transaction`]: a list of changes to the metadata of a store. [`Change`] lists the kinds.
//!
//! Nothing is checked until [`Store::commit`](super::Store::commit). The commit applies the changes
//! in order, each on top of those before it, and either all of them take effect or none. They are
//! durable when it succeeds.

use super::Annotation;
use crate::FileId;

/// One change of a [`Transaction`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Makes an unsealed file outlive its writer and the process: from now on its durable prefix
    /// is found again. Without it a file exists only once it is sealed.
    Create {
        /// The file, from [`FileWriter::id`](super::FileWriter::id).
        id: FileId,
        /// Its annotation.
        annotation: Annotation,
    },
    /// Makes a finished file immutable. All its bytes are durable when the commit returns.
    Seal {
        /// The file, whose writer has been finished.
        id: FileId,
        /// Its annotation.
        annotation: Annotation,
    },
    /// Gives back the bytes `start..end` of a sealed file: they must not be read again. Only whole
    /// blocks inside the range come free; of a log, whose bytes lie in frames, perhaps nothing.
    Trim {
        /// The file.
        id: FileId,
        /// The first byte given back.
        start: u64,
        /// The byte after the last one given back.
        end: u64,
    },
    /// Removes a file and all its names. Open readers go on reading it.
    Delete {
        /// The file.
        id: FileId,
    },
    /// Replaces a file's annotation.
    Annotate {
        /// The file, or [`FileId::STORE`] for the store's own annotation.
        id: FileId,
        /// The new annotation.
        annotation: Annotation,
    },
    /// Gives a file a further name; fails if the name is taken.
    Link {
        /// A path of `/`-separated names.
        name: String,
        /// The file.
        id: FileId,
    },
    /// Takes a name away; the file is deleted with its last name.
    Unlink {
        /// The name.
        name: String,
    },
    /// Moves a name. The file that had the new one loses it, as by [`Change::Unlink`]; a move to
    /// the same name changes nothing.
    Rename {
        /// The name now.
        from: String,
        /// The name then.
        to: String,
    },
}

/// A list of changes, applied in order, as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    changes: Vec<Change>,
}

impl Transaction {
    /// A transaction that changes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds [`Change::Create`].
    pub fn create(&mut self, id: FileId, annotation: Annotation) -> &mut Self {
        self.add(Change::Create { id, annotation })
    }

    /// Adds [`Change::Seal`].
    pub fn seal(&mut self, id: FileId, annotation: Annotation) -> &mut Self {
        self.add(Change::Seal { id, annotation })
    }

    /// Adds [`Change::Trim`].
    pub fn trim(&mut self, id: FileId, start: u64, end: u64) -> &mut Self {
        self.add(Change::Trim { id, start, end })
    }

    /// Adds [`Change::Delete`].
    pub fn delete(&mut self, id: FileId) -> &mut Self {
        self.add(Change::Delete { id })
    }

    /// Adds [`Change::Annotate`].
    pub fn annotate(&mut self, id: FileId, annotation: Annotation) -> &mut Self {
        self.add(Change::Annotate { id, annotation })
    }

    /// Adds [`Change::Link`].
    pub fn link(&mut self, name: impl Into<String>, id: FileId) -> &mut Self {
        self.add(Change::Link { name: name.into(), id })
    }

    /// Adds [`Change::Unlink`].
    pub fn unlink(&mut self, name: impl Into<String>) -> &mut Self {
        self.add(Change::Unlink { name: name.into() })
    }

    /// Adds [`Change::Rename`].
    pub fn rename(&mut self, from: impl Into<String>, to: impl Into<String>) -> &mut Self {
        self.add(Change::Rename { from: from.into(), to: to.into() })
    }

    /// Adds a change.
    pub fn add(&mut self, change: Change) -> &mut Self {
        self.changes.push(change);
        self
    }

    /// The changes, in the order in which they are applied.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Whether there is nothing to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}
