//! [`PlacementGroup`]: a handle for files that are written together and should lie side by side on
//! the medium, so that they can be read together later, for example the tables of one compaction.
//!
//! A job begins a group with the size of all its files, names the group when it creates each file,
//! writes the files one after the other, and drops the group.
//!
//! - A group is a wish. If the store finds no run of free blocks that is long enough, the files lie
//!   in several runs, without an error.
//! - One file at a time writes to the group, from its first write until it is
//!   [finished](super::FileWriter::finish) or its writer is dropped. Another file that is written
//!   meanwhile is placed as if it had no group.
//! - A group sets no space aside; a [`Reservation`] does that.

use std::any::Any;
use std::fmt;

use super::{FileKind, PlacementHint, Rank, Reservation};
use crate::{ByteCount, Cause};

/// How to begin a group. All but the size is as in [`CreateOptions`](super::CreateOptions), and
/// stands for all files of the group.
#[derive(Debug)]
pub struct GroupOptions<'a> {
    /// How the files are written. Files of another kind can be refused.
    pub kind: FileKind,
    /// Facts for placement.
    pub hint: PlacementHint,
    /// The most bytes that all files take together. The store adds a sixteenth for the padding of
    /// files to whole blocks. Bytes beyond that are placed all the same, only worse.
    pub size: ByteCount,
    /// Whose space the group takes when there is no reservation, or the reservation is used up.
    pub rank: Rank,
    /// Space set aside beforehand, from the same store. It should be the files' own, too.
    pub reservation: Option<&'a Reservation>,
    /// The cause under which the store counts the writes that make room.
    pub cause: Cause,
}

/// A group that is being written. See the [module](self); dropping it ends the group.
pub struct PlacementGroup(Option<Box<dyn GroupSpace>>);

/// State that a store keeps for a [`PlacementGroup`]; its drop ends the group.
pub trait GroupSpace: Send + Sync + 'static {
    /// The value as `Any`, so that the store that made it finds its own type again.
    fn as_any(&self) -> &dyn Any;
}

impl PlacementGroup {
    /// Wraps a store's own group.
    #[must_use]
    pub fn new(space: Box<dyn GroupSpace>) -> Self {
        Self(Some(space))
    }

    /// A group of a store that does not choose where files lie.
    #[must_use]
    pub fn unplaced() -> Self {
        Self(None)
    }

    /// The store's own group; `None` if the store does not choose where files lie.
    #[must_use]
    pub fn space(&self) -> Option<&dyn GroupSpace> {
        self.0.as_deref()
    }
}

impl fmt::Debug for PlacementGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "PlacementGroup" } else { "PlacementGroup(unplaced)" })
    }
}
