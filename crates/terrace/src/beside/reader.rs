//! [`Reader`]: reads a store that another process may be writing.
//!
//! - It has one *view* at a time: the store as it was when the view was opened. A refresh replaces
//!   it by a newer one, if the medium has changed.
//! - A read that fails because the writer has freed a part that it was reading is made again, in a
//!   newer view, up to [`TRIES`] times. A place that is damaged in two views is damaged.
//! - Views never go back: a view of another store, or one with fewer writes, is refused.
//!
//! # Threads
//! Any thread may call, and clones share the view. One of them at a time refreshes; the others
//! wait for it. No lock is held over a read.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use terrace_env::store::StoreError;
use terrace_env::sync::{Mutex, Turn};
use terrace_fs::Devices;
use terrace_fs::dir::Files;
use terrace_lsm::{Bounds, Stats};

use super::place::Place;
use super::scan::ReaderScan;
use super::view::View;
use crate::{Db, Error, ErrorKind, Options};

/// How often a read is made, each time in a newer view.
const TRIES: u32 = 16;

/// Reads a store while another process writes it, without asking that process and without writing
/// a byte. Made by [`Db::open_reader`]. Cheap to clone; clones share the view.
///
/// It sees the contents that a recovery would find if the writer's process had ended then: all
/// writes of [`Durability::Written`](crate::Durability) or more that had returned when the refresh
/// began, and perhaps later ones, without a gap between them. Writes of less durability appear once
/// the writer has handed them to the medium. A view is never older than the one before.
///
/// ```
/// # use terrace::{Db, Durability, Options};
/// # fn main() -> Result<(), terrace::Error> {
/// # let place = tempfile::tempdir().expect("a directory");
/// # let path = place.path().join("store");
/// // In one process:
/// let db = Db::open_directory(&path, Options::default().durability(Durability::Written))?;
/// db.put(b"apple", b"red")?;
/// // In another one:
/// let reader = Db::open_reader(&path, Options::default())?;
/// assert_eq!(reader.get(b"apple")?.as_deref(), Some(&b"red"[..]));
/// db.put(b"apple", b"green")?;
/// assert_eq!(reader.get(b"apple")?.as_deref(), Some(&b"red"[..]), "the view stays");
/// assert!(reader.refresh()?);
/// assert_eq!(reader.get(b"apple")?.as_deref(), Some(&b"green"[..]));
/// assert!(!reader.refresh()?, "nothing has changed");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Reader {
    shared: Arc<Shared>,
    max_age: Option<Duration>,
}

struct Shared {
    place: Place,
    options: Options,
    refreshing: Turn,
    view: Mutex<Arc<View>>,
}

impl Db {
    /// Opens a reader of the store in the directory, image or block device at a path, while another
    /// process may be writing it. See [`Reader`]. Of the options, those count that are for reads,
    /// such as [`memory`](field@Options::memory), which the reader has for itself.
    ///
    /// # Errors
    /// Those of an opening for reading, but never [`InUse`](crate::ErrorKind::InUse) because of the
    /// writer; [`Moved`](crate::ErrorKind::Moved) if the writer was faster at each try.
    pub fn open_reader(path: impl AsRef<Path>, options: Options) -> Result<Reader, Error> {
        Reader::over(Place::at(path.as_ref())?, options)
    }
}

impl Reader {
    /// A reader of the store on these devices, which this process has opened for it, or which it
    /// shares with the writer in one process.
    pub fn on_devices(devices: impl Into<Devices>, options: Options) -> Result<Self, Error> {
        Self::over(Place::Devices(devices.into()), options)
    }

    /// A reader of the store on these files of a directory.
    pub fn on_files(files: Arc<dyn Files>, options: Options) -> Result<Self, Error> {
        Self::over(Place::Files(files), options)
    }

    fn over(place: Place, options: Options) -> Result<Self, Error> {
        let options = Options { read_only: true, live: None, ..options };
        let view = Mutex::new(Arc::new(View::open(&place, &options)?));
        let shared = Shared { place, options, refreshing: Turn::default(), view };
        Ok(Self { shared: Arc::new(shared), max_age: None })
    }

    /// The same reader: by the returned handle, a read or the start of a scan looks for changes
    /// first, if the view was last known to be the newest one longer ago than this. With zero, each
    /// read does.
    #[must_use]
    pub fn with_max_age(mut self, max_age: Duration) -> Self {
        self.max_age = Some(max_age);
        self
    }

    /// Brings the view to the present state of the medium; whether that has changed. If not, it
    /// costs a few reads of one block. Otherwise the store is opened anew: the journal
    /// is read from its last snapshot, and the logs whole.
    ///
    /// # Errors
    /// Those of [`Db::open_reader`]; [`Moved`](crate::ErrorKind::Moved) also if another store has
    /// taken the place of this one, or the medium has lost writes. The view is then the one before.
    pub fn refresh(&self) -> Result<bool, Error> {
        let _turn = self.shared.refreshing.take();
        let view = self.shared.view();
        // If even the look fails, a new opening tells why.
        if !view.has_changed().unwrap_or(true) {
            return Ok(false);
        }
        self.shared.replace(&view)?;
        Ok(true)
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.read(|db| db.get(key))
    }

    /// Whether there is a value under `key`.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.read(|db| db.contains(key))
    }

    /// The values under several keys, all of one view; see [`Db::multi_get`].
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Bytes>>, Error> {
        self.read(|db| db.multi_get(keys))
    }

    /// The entries of a range in order, of the present view; see [`ReaderScan`].
    pub fn scan(&self, bounds: impl Into<Bounds>) -> Result<ReaderScan, Error> {
        self.scan_key_space("default", bounds)
    }

    /// The same for the key space of this name.
    pub fn scan_key_space(
        &self,
        name: &str,
        bounds: impl Into<Bounds>,
    ) -> Result<ReaderScan, Error> {
        self.look_if_old()?;
        ReaderScan::begin(self.clone(), name, bounds.into())
    }

    /// Names of all key spaces.
    pub fn key_spaces(&self) -> Result<Vec<String>, Error> {
        self.read(|db| Ok(db.key_spaces()))
    }

    /// The metrics: levels and space are those of the view, and counts are those of
    /// this reader.
    pub fn stats(&self) -> Result<Stats, Error> {
        self.read(|db| Ok(db.stats()))
    }

    /// Runs several reads in one view: `work` gets the store as of one moment, open for reading
    /// only. It has all calls that read. If one of them fails because the writer has freed a part
    /// of the view, `work` runs again, in a newer view.
    ///
    /// ```
    /// # use terrace::{Db, Options, Reader};
    /// # fn balance(reader: &Reader) -> Result<usize, terrace::Error> {
    /// reader.read(|db| {
    ///     let accounts = db.key_space("accounts")?;
    ///     Ok(accounts.get(b"ada")?.map_or(0, |value| value.len()))
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `work`; [`Moved`](crate::ErrorKind::Moved) if the writer was faster each time.
    pub fn read<T>(&self, mut work: impl FnMut(&Db) -> Result<T, Error>) -> Result<T, Error> {
        self.look_if_old()?;
        let mut view = self.shared.view();
        let (mut tries, mut before) = (TRIES, None);
        loop {
            tries -= 1;
            let error = match work(&view.db) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if !view.may_be_behind(&error) || is_damage(before.as_ref(), &error) {
                return Err(error);
            }
            if tries == 0 {
                return Err(outrun(&error));
            }
            before = Some(error);
            view = self.newer_than(&view)?;
        }
    }

    /// The present view.
    pub(super) fn view(&self) -> Arc<View> {
        self.shared.view()
    }

    /// A newer view than this one.
    pub(super) fn newer_than(&self, view: &Arc<View>) -> Result<Arc<View>, Error> {
        let _turn = self.shared.refreshing.take();
        let present = self.shared.view();
        if !Arc::ptr_eq(&present, view) {
            return Ok(present);
        }
        self.shared.replace(view)
    }

    fn look_if_old(&self) -> Result<(), Error> {
        match self.max_age {
            Some(max_age) if self.shared.view().age() >= max_age => self.refresh().map(drop),
            _ => Ok(()),
        }
    }
}

impl Shared {
    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.lock())
    }

    /// Opens a view in place of this one. The caller has the turn.
    fn replace(&self, before: &View) -> Result<Arc<View>, Error> {
        let view = Arc::new(View::open(&self.place, &self.options)?);
        let uuid = |view: &View| view.store().map_or("none".into(), |uuid| uuid.to_string());
        if view.store() != before.store() {
            let (expected, found) = (uuid(before), uuid(&view));
            return Err(moved(format!("store {expected}"), format!("store {found}")));
        }
        if view.sequence < before.sequence {
            let expected = format!("writes up to {}, which it had", before.sequence);
            return Err(moved(expected, format!("writes up to {}", view.sequence)));
        }
        *self.view.lock() = Arc::clone(&view);
        Ok(view)
    }
}

fn moved(expected: String, found: String) -> Error {
    StoreError::Moved { expected, found }.into()
}

/// Whether an error is damage of the medium, and not of the writer's making: the same place was
/// found damaged before, in an older view. If the writer had freed it by then, the newer view would
/// not have read it.
pub(super) fn is_damage(before: Option<&Error>, error: &Error) -> bool {
    let is_same = |before: &Error| before.to_string() == error.to_string();
    error.kind() == ErrorKind::Corruption && before.is_some_and(is_same)
}

/// The error for a read that the writer has outrun at each try.
pub(super) fn outrun(last: &Error) -> Error {
    moved(format!("a view that lasts for one read, in {TRIES} tries"), format!("at last: {last}"))
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shared, max_age } = self;
        let sequence = shared.view().sequence;
        f.debug_struct("Reader").field("sequence", &sequence).field("max_age", max_age).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_that_which_an_older_view_has_met_at_the_same_place() {
        let damage = |offset| -> Error {
            let (region, expected, got) = ("file 7".into(), "a block".into(), "another".into());
            StoreError::Corruption { region, offset, expected, got }.into()
        };
        assert!(is_damage(Some(&damage(1)), &damage(1)));
        assert!(!is_damage(Some(&damage(1)), &damage(2)), "the writer may have freed the first");
        assert!(!is_damage(None, &damage(1)));
        let moved = outrun(&damage(1));
        assert!(!is_damage(Some(&moved), &moved));
    }
}
