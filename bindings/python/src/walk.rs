//! [`Walk`]: a cursor that fetches several entries at a time, and the place between two entries at
//! which its user is.
//!
//! - The first fetch takes few entries, since many walks end soon; each further one takes twice as
//!   many as the one before, up to [`AHEAD_MAX`].
//! - Fetched entries lie one after the other in one piece of memory, so that most of them take no
//!   allocation. Large values share the memory of their blocks.
//! - A fetch goes on from the cursor's entry. After a change of the direction, a seek or an error,
//!   fetched entries are dropped and the cursor is placed anew by the key that was passed last.
//!
//! One thread at a time. A fetch may wait for the device.

use bytes::Bytes;
use terrace::{Cursor, Error};

use crate::opened::Counted;

/// Entries of the first fetch after the walk was placed.
pub(crate) const AHEAD_MIN: usize = 8;

/// Entries of a fetch at most.
pub(crate) const AHEAD_MAX: usize = 512;

/// Bytes after which a fetch takes no further entry.
pub(crate) const AHEAD_BYTES: usize = 64 << 10;

/// Bytes of a value from which on it is not copied into the memory of the fetched entries.
const LARGE: usize = 4 << 10;

/// A place between two entries.
pub(crate) enum Place {
    /// Before the first entry of the range.
    Start,
    /// After the last one.
    Stop,
    /// Before this key, which need not be there.
    Before(Bytes),
    /// After this key, which need not be there.
    After(Bytes),
}

/// See the [module](self).
pub(crate) struct Walk {
    /// `None` once the walk is closed.
    cursor: Option<Counted<Cursor>>,
    /// The place before the fetched entries, in the direction of the walk.
    place: Place,
    is_forward: bool,
    fetched: Fetched,
    /// Entries of the next fetch.
    ahead: usize,
    standing: Standing,
}

/// Where the cursor stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// To be found by the place.
    Unknown,
    /// On the last entry that was fetched.
    Last,
    /// Beyond all entries in the direction of the walk.
    Beyond,
}

/// Entries that were fetched: those before `passed` are before the user's place.
#[derive(Default)]
struct Fetched {
    /// All keys, each with its value after it.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    passed: usize,
}

/// A fetched entry: its bytes begin where those of the entry before it end.
struct Entry {
    key_end: usize,
    end: usize,
    /// The value, if it does not lie after the key.
    large: Option<Bytes>,
}

impl Fetched {
    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.passed = 0;
    }

    /// Takes the entry of a cursor; returns its bytes.
    fn push(&mut self, cursor: &Cursor) -> usize {
        let (key, value) = (cursor.key(), cursor.value_slice());
        let size = key.len() + value.len();
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        let large = (value.len() >= LARGE).then(|| cursor.value());
        if large.is_none() {
            self.bytes.extend_from_slice(value);
        }
        self.entries.push(Entry { key_end, end: self.bytes.len(), large });
        size
    }

    /// The key and the value of an entry.
    fn entry(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let Entry { key_end, end, large } = self.entries.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.entries[before].end);
        let value = large.as_deref().unwrap_or(&self.bytes[*key_end..*end]);
        Some((&self.bytes[start..*key_end], value))
    }
}

impl Walk {
    /// A walk from the first entry of the range, or from the last one.
    pub(crate) fn new(cursor: Counted<Cursor>, is_forward: bool) -> Self {
        Self {
            cursor: Some(cursor),
            place: if is_forward { Place::Start } else { Place::Stop },
            is_forward,
            fetched: Fetched::default(),
            ahead: AHEAD_MIN,
            standing: Standing::Unknown,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.cursor.is_none()
    }

    /// Ends the walk; returns the cursor, whose drop may take time.
    pub(crate) fn close(&mut self) -> Option<Counted<Cursor>> {
        self.put_at(Place::Start);
        self.cursor.take()
    }

    /// Goes to a place.
    pub(crate) fn put_at(&mut self, place: Place) {
        self.fetched.clear();
        self.place = place;
        self.ahead = AHEAD_MIN;
        self.standing = Standing::Unknown;
    }

    /// Whether a step in this direction begins with a fetch.
    pub(crate) fn is_fetch_due(&self, is_forward: bool) -> bool {
        is_forward != self.is_forward || self.fetched.passed == self.fetched.entries.len()
    }

    /// The next entry of those that were fetched; `None` after a fetch that found none.
    pub(crate) fn step(&mut self) -> Option<(&[u8], &[u8])> {
        let index = self.fetched.passed;
        self.fetched.passed = (index + 1).min(self.fetched.entries.len());
        self.fetched.entry(index)
    }

    /// Fetches the entries after the user's place in a direction.
    pub(crate) fn fetch(&mut self, is_forward: bool) -> Result<(), Error> {
        let last = self.fetched.passed.checked_sub(1).and_then(|last| self.fetched.entry(last));
        if let Some((key, _)) = last {
            let key = Bytes::copy_from_slice(key);
            self.place = if self.is_forward { Place::After(key) } else { Place::Before(key) };
        }
        self.fetched.clear();
        if is_forward != self.is_forward {
            self.is_forward = is_forward;
            self.ahead = AHEAD_MIN;
            self.standing = Standing::Unknown;
        }
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let standing = std::mem::replace(&mut self.standing, Standing::Unknown);
        let mut is_there = match standing {
            Standing::Last if is_forward => cursor.next()?,
            Standing::Last => cursor.prev()?,
            Standing::Beyond => false,
            Standing::Unknown => seek(cursor, &self.place, is_forward)?,
        };
        let mut bytes = 0;
        while is_there {
            bytes += self.fetched.push(cursor);
            if self.fetched.entries.len() >= self.ahead || bytes >= AHEAD_BYTES {
                self.ahead = (2 * self.ahead).min(AHEAD_MAX);
                self.standing = Standing::Last;
                return Ok(());
            }
            is_there = match is_forward {
                true => cursor.next()?,
                false => cursor.prev()?,
            };
        }
        self.standing = Standing::Beyond;
        Ok(())
    }
}

/// Moves a cursor to the first entry after a place in a direction; whether there is one.
fn seek(cursor: &mut Cursor, place: &Place, is_forward: bool) -> Result<bool, Error> {
    match (place, is_forward) {
        (Place::Start, true) => cursor.seek_to_first(),
        (Place::Stop, false) => cursor.seek_to_last(),
        (Place::Start, false) | (Place::Stop, true) => Ok(false),
        (Place::Before(key), true) => cursor.seek(key),
        (Place::After(key), false) => cursor.seek_back(key),
        (Place::After(key), true) => {
            let is_there = cursor.seek(key)?;
            if is_there && cursor.key() == &key[..] { cursor.next() } else { Ok(is_there) }
        }
        (Place::Before(key), false) => {
            let is_there = cursor.seek_back(key)?;
            if is_there && cursor.key() == &key[..] { cursor.prev() } else { Ok(is_there) }
        }
    }
}
