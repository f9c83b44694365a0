//! [`Operation`]: the operations of a script.
//!
//! They name keys, key spaces, snapshots, cursors and options by number. A number is taken modulo
//! how many of its kind there are, so that a script can still be played when some operations are
//! left out. For example, with two snapshots the numbers 0 and 2 mean the same one. If there is no
//! snapshot, a read sees the newest state; if there is no cursor, a walk does nothing.

use std::time::Duration;

use terrace::Bounds;
use terrace_zone::PowerCut;

/// How many numbers of keys there are; some mean the same key.
pub(super) const KEYS: u16 = 150;

/// A key by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyNumber(pub u16);

impl KeyNumber {
    /// Keys that are prefixes of each other, the empty key, long ones and ones that end in 0xff are
    /// among them.
    pub(super) fn bytes(self) -> Vec<u8> {
        let number = self.0 % KEYS;
        match number % 5 {
            0 => format!("{number:b}").into_bytes(),
            1 => format!("key{number:05}").into_bytes(),
            2 => vec![0xff; usize::from(number / 5)],
            3 => [b"shared prefix/".repeat(3), number.to_be_bytes().to_vec()].concat(),
            _ => number.to_le_bytes()[..usize::from(number % 3)].to_vec(),
        }
    }
}

/// A range of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRange {
    /// All keys.
    All,
    /// Keys that begin with a key.
    Prefix(KeyNumber),
    /// Keys from one up to, and without, another.
    Between(KeyNumber, KeyNumber),
    /// Keys from one up to, and with, another.
    Through(KeyNumber, KeyNumber),
}

impl KeyRange {
    pub(super) fn bounds(self) -> Bounds {
        match self {
            Self::All => Bounds::all(),
            Self::Prefix(key) => Bounds::prefix(&key.bytes()),
            Self::Between(from, to) => Bounds::from(from.bytes()..to.bytes()),
            Self::Through(from, to) => Bounds::from(from.bytes()..=to.bytes()),
        }
    }

    pub(super) fn contains(self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => key.starts_with(&prefix.bytes()),
            Self::Between(from, to) => from.bytes()[..] <= *key && *key < to.bytes()[..],
            Self::Through(from, to) => from.bytes()[..] <= *key && *key <= to.bytes()[..],
        }
    }
}

/// One change of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Writes a value of `size` bytes that depends on `tag`.
    Put {
        /// The key space.
        space: u8,
        /// The key.
        key: KeyNumber,
        /// The value's size.
        size: u32,
        /// Seed of the value's bytes; compressible when even.
        tag: u32,
    },
    /// Writes a value that expires.
    PutExpiring {
        /// The key space.
        space: u8,
        /// The key.
        key: KeyNumber,
        /// The value's size, without the day.
        size: u32,
        /// As of a put.
        tag: u32,
        /// The day of the script from which on it is unseen, the first one being 0.
        day: u8,
    },
    /// Appends an operand to the value of a key.
    Merge {
        /// The key space.
        space: u8,
        /// The key.
        key: KeyNumber,
        /// The operand's size, with its mark.
        size: u32,
        /// As of a put.
        tag: u32,
    },
    /// Deletes a key.
    Delete {
        /// The key space.
        space: u8,
        /// The key.
        key: KeyNumber,
    },
    /// Deletes all keys of a range.
    DeleteRange {
        /// The key space.
        space: u8,
        /// The range.
        range: KeyRange,
    },
}

impl Change {
    /// This change with its key space's number below `spaces`.
    pub(super) fn in_one_of(mut self, spaces: u8) -> Self {
        let (Self::Put { space, .. }
        | Self::PutExpiring { space, .. }
        | Self::Merge { space, .. }
        | Self::Delete { space, .. }
        | Self::DeleteRange { space, .. }) = &mut self;
        *space %= spaces;
        self
    }
}

/// One step of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the next key.
    Next,
    /// To the previous key.
    Prev,
    /// To the first key.
    First,
    /// To the last key.
    Last,
    /// To the first key at or after one.
    Seek(KeyNumber),
    /// To the last key at or before one.
    SeekBack(KeyNumber),
}

/// An operation on a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A batch.
    Write {
        /// Its changes, in order.
        changes: Vec<Change>,
        /// Whether it waits for the medium.
        synced: bool,
    },
    /// Swaps the value of a key.
    Swap {
        /// The key space.
        space: u8,
        /// The key.
        key: KeyNumber,
        /// Size and tag of the new value, as of a put; `None` to delete the key.
        new: Option<(u32, u32)>,
        /// Whether a value is expected that is not there.
        stale: bool,
    },
    /// A transaction, and another write before its commit.
    Transact {
        /// The key space that it reads.
        space: u8,
        /// Ranges that it reads.
        reads: Vec<KeyRange>,
        /// Its changes; the first is a put, so that it writes something.
        changes: Vec<Change>,
        /// The other write: a put, which conflicts if it is in one of the ranges.
        meanwhile: Option<Change>,
    },
    /// Reads a key, now or in the snapshot of that number.
    Get {
        /// The key space.
        space: u8,
        /// The key.
        key: KeyNumber,
        /// The snapshot.
        at: Option<u8>,
    },
    /// Reads a range from one end or the other.
    Scan {
        /// The key space.
        space: u8,
        /// Range to read.
        range: KeyRange,
        /// From the last key to the first.
        backward: bool,
        /// The most entries read.
        limit: u16,
        /// The snapshot.
        at: Option<u8>,
    },
    /// Takes a cursor that lives on, now or in a snapshot.
    OpenCursor {
        /// The key space.
        space: u8,
        /// Range to cover.
        range: KeyRange,
        /// The snapshot.
        at: Option<u8>,
    },
    /// Moves the cursor of that number.
    Walk {
        /// The cursor.
        cursor: u8,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Takes a snapshot.
    TakeSnapshot,
    /// Lets the snapshot of that number go.
    DropSnapshot(u8),
    /// Makes a key space.
    CreateSpace,
    /// Drops a key space, and makes another one in its place.
    DropSpace(u8),
    /// Ingests puts into a key space: of each, the key, and size and tag of the value.
    Ingest {
        /// The key space.
        space: u8,
        /// The puts, in any order; the last one of a key counts.
        entries: Vec<(KeyNumber, u32, u32)>,
    },
    /// Copies the store into another one, which is compared.
    Checkpoint,
    /// Flushes.
    Flush,
    /// Compacts a range of a key space.
    Compact {
        /// The key space.
        space: u8,
        /// The range.
        range: KeyRange,
    },
    /// Compacts everything.
    CompactAll,
    /// Waits until nothing is left to be done.
    WaitIdle,
    /// Makes all that was written durable.
    Sync,
    /// Lets time pass.
    Rest(Duration),
    /// Goes on to the next day, on which entries have expired.
    NextDay,
    /// Closes the store and opens it by the setting's options of that number.
    Reopen(u8),
    /// Cuts the power, with or without syncing first, and opens as by `Reopen`.
    Cut {
        /// Loss of volatile data.
        cut: PowerCut,
        /// Whether everything is durable before.
        synced: bool,
        /// The options.
        options: u8,
    },
    /// Has every table read and checked.
    Verify,
}
