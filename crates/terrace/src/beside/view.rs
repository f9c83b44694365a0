//! [`View`]: the store as of one moment, opened for reading next to a writer.
//!
//! An opening reads journal and logs while they may be written. It fails with an error of any kind
//! if the writer has freed something that it was reading, and is tried again, [`TRIES`] times with
//! pauses that grow.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::StoreError;
use terrace_env::sync::Mutex;
use terrace_env::{Time, Uuid, runner};
use terrace_fs::Beside;

use super::place::Place;
use super::vouched_store::VouchedStore;
use crate::{Db, Error, ErrorKind, Options};

/// How often an opening is tried.
const TRIES: u32 = 12;
/// The pause after the first try; each further one is twice as long.
const PAUSE: Duration = Duration::from_micros(100);

/// See the [module](self).
pub(super) struct View {
    pub(super) db: Db,
    beside: Arc<dyn Beside>,
    /// Number of its last write.
    pub(super) sequence: u64,
    /// When the last look began that found nothing newer.
    looked: Mutex<Time>,
}

impl View {
    /// The store as it is now.
    pub(super) fn open(place: &Place, options: &Options) -> Result<Self, Error> {
        let (mut tries, mut pause) = (TRIES, PAUSE);
        loop {
            tries -= 1;
            let begun = runner::now();
            let error = match Self::try_open(place, options, begun) {
                Ok(view) => return Ok(view),
                Err(error) => error,
            };
            let kind = error.kind();
            if tries == 0 || !is_of_medium(kind) || kind == ErrorKind::NotFound {
                return Err(error);
            }
            runner::sleep(pause);
            pause *= 2;
        }
    }

    fn try_open(place: &Place, options: &Options, begun: Time) -> Result<Self, Error> {
        let (beside, below) = place.open()?;
        let db = Db::start(Arc::new(VouchedStore(Arc::clone(&beside))), below, options)?;
        let sequence = db.stats().sequence;
        Ok(Self { db, beside, sequence, looked: Mutex::new(begun) })
    }

    /// Identity of the store.
    pub(super) fn store(&self) -> Option<Uuid> {
        self.beside.uuid()
    }

    /// Whether the store has changed since. If not, the view is as good as new.
    pub(super) fn has_changed(&self) -> Result<bool, Error> {
        let now = runner::now();
        let has_changed = self.beside.has_changed()?;
        if !has_changed {
            let mut looked = self.looked.lock();
            *looked = (*looked).max(now);
        }
        Ok(has_changed)
    }

    /// How long ago it was the newest one.
    pub(super) fn age(&self) -> Duration {
        runner::now().since(*self.looked.lock())
    }

    /// Whether an error of a read may come from the writer, which has freed the part that was read.
    pub(super) fn may_be_behind(&self, error: &Error) -> bool {
        let kind = error.kind();
        kind == ErrorKind::Moved || is_of_medium(kind) && self.beside.has_changed().unwrap_or(true)
    }

    /// The same error as one of the kind `Moved`, if it may come from the writer: trimmed bytes of
    /// a file in a directory, for example, look like damage.
    pub(super) fn as_moved(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Moved => error,
            _ if self.may_be_behind(&error) => freed(&error),
            _ => error,
        }
    }
}

/// The error for a part of a view that the writer has freed, which the reader found by another one.
fn freed(found: &Error) -> Error {
    let expected = "the parts of its view where they were".to_owned();
    StoreError::Moved { expected, found: found.to_string() }.into()
}

/// Whether bytes of something else can lead to an error of this kind.
fn is_of_medium(kind: ErrorKind) -> bool {
    use ErrorKind::{Corruption, Invalid, Io, Moved, NotFound, Unsupported};
    matches!(kind, Corruption | Invalid | Io | Moved | NotFound | Unsupported)
}
