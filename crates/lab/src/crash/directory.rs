//! Damages one file on a copy of a closed store's directory, and opens the store there. The
//! directory is in memory. The file gets other contents or another name, or is removed, or replaced
//! by a directory. New contents may equal the old ones, as those of an empty file do.
//!
//! Two outcomes are allowed: everything reads back, or opening or reading returns an error of any
//! kind. Wrong data, missing data and panics fail the test.
//!
//! Must run inside a simulation.

use std::sync::Arc;

use terrace::{Db, Store};
use terrace_env::random::{Random, Rng};
use terrace_fs::Access;
use terrace_fs::dir::{DirOptions, DirStore, Files, MemoryFiles};

use super::Outcome;
use super::history::History;
use super::life::{Promises, Setup, work};
use super::trial::contents;

/// A store in a directory in memory, closed, and the history of its writes.
pub struct Directory {
    files: MemoryFiles,
    history: History,
}

/// A way to damage a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    FlipBit,
    Zero,
    Empty,
    Halve,
    Remove,
    BecomeDirectory,
    Rename,
}

const DAMAGES: [Damage; 7] = [
    Damage::FlipBit,
    Damage::Zero,
    Damage::Empty,
    Damage::Halve,
    Damage::Remove,
    Damage::BecomeDirectory,
    Damage::Rename,
];

fn open(files: &MemoryFiles, setup: &Setup) -> Result<Db, terrace::Error> {
    let options = DirOptions { access: Access::ReadWrite };
    let store: Arc<dyn Store> = DirStore::open_on(Arc::new(files.clone()), options)?;
    Db::open(store, setup.options.clone())
}

impl Directory {
    /// Writes `batches` batches to a new store, and closes it. Must run inside a simulation.
    ///
    /// # Panics
    /// When the store fails: nothing is damaged yet, so nothing may fail.
    #[must_use]
    pub fn live(setup: &Setup, batches: usize, random: &mut Random) -> Self {
        let (files, mut history) = (MemoryFiles::new(), History::default());
        let db = open(&files, setup).expect("a new store");
        let promises = Arc::new(Promises::default());
        work(&db, &mut history, &promises, 0, batches, random).expect("a sound directory");
        db.close().expect("a sound directory");
        Self { files, history }
    }

    /// Damages one random file of a copy, and reads the whole store there. An `Err` tells the
    /// fault, the damaged file, and the damage.
    pub fn damage(&self, setup: &Setup, random: &mut Random) -> Result<Outcome, String> {
        let files = self.files.copy();
        let names = files.list().map_err(|error| error.to_string())?;
        let name = &names[random.random_range(0..names.len())];
        // 8 of 14 damages are flips: they have most places to be at.
        let kind = DAMAGES[random.random_range(0..2 * DAMAGES.len()).saturating_sub(7).min(6)];
        spoil(&files, name, kind, random);
        let found = open(&files, setup).and_then(|db| {
            let found = contents(&db)?;
            drop(db);
            Ok(found)
        });
        let all = self.history.len();
        match found.map(|found| self.history.check(&found, all, all)) {
            Ok(Ok(_)) => Ok(Outcome::Whole),
            Ok(Err(mismatch)) => Err(format!("{kind:?} of {name}: {mismatch}")),
            Err(_) => Ok(Outcome::Reported),
        }
    }
}

fn spoil(files: &MemoryFiles, name: &str, kind: Damage, random: &mut Random) {
    const THERE: &str = "a file that is listed";
    let mut bytes = files.bytes(name).expect(THERE);
    match kind {
        Damage::FlipBit if bytes.is_empty() => {}
        Damage::FlipBit => {
            let bit = random.random_range(0..bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        Damage::Zero => bytes.fill(0),
        Damage::Empty => bytes.clear(),
        Damage::Halve => bytes.truncate(bytes.len() / 2),
        Damage::Remove => return files.remove(name).expect(THERE),
        Damage::BecomeDirectory => return files.make_directory(name),
        Damage::Rename => return files.rename(name, "999999.table").expect(THERE),
    }
    files.overwrite(name, bytes);
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Directory({} batches)", self.history.len())
    }
}
