//! [`Life`]: the fixed life of a sweep, whose every step is acknowledged as durable or fails.
//!
//! After a failed step the store is resumed, or opened again if it cannot be resumed. It must then
//! have the contents from before the step, or those after it; and so must a copy whose power is
//! cut. Then the life goes on. At its end the store is audited:
//!
//! - Its file system counts all zones and blocks anew, and finds the numbers that it has kept.
//! - No space is reserved or pinned, and no more logs are left than the engine uses.
//! - The check of the closed store is clean, and another opening finds the same contents.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::{Batch, Counter, Db, Durability, KeySpace, MemoryStore, Options, Snapshot};
use terrace_env::store::FileKind;

use super::place::{Kind, Place};

/// Contents of all key spaces, by name.
type Contents = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// A step of the life. Numbers choose keys and values.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(&'static str, u32),
    /// Deletes the keys from one number to another.
    DeleteRange(&'static str, u32, u32),
    Ingest(&'static str, u32),
    Transact(u32),
    Count(i64),
    Create(&'static str),
    Drop(&'static str),
    Flush,
    Compact,
    Checkpoint,
    TakeSnapshot,
    DropSnapshot,
    Reopen,
}

const DEFAULT: &str = "default";

/// The steps of a life.
fn steps() -> Vec<Step> {
    let mut steps = vec![Step::Create("other"), Step::Create("gone")];
    let puts = |steps: &mut Vec<Step>, numbers: std::ops::Range<u32>| {
        steps.extend(numbers.map(|number| Step::Put(DEFAULT, number)));
    };
    puts(&mut steps, 0..10);
    steps.extend([Step::Put("gone", 1), Step::Put("other", 2), Step::TakeSnapshot]);
    // An ingest comes over a range delete that is only in memory, next to a snapshot.
    steps.extend([Step::DeleteRange(DEFAULT, 2, 6), Step::Ingest(DEFAULT, 3)]);
    puts(&mut steps, 20..30);
    steps.extend([Step::Count(7), Step::Flush, Step::Transact(4), Step::Count(-9)]);
    steps.extend([Step::Checkpoint, Step::Drop("gone"), Step::Ingest("other", 0)]);
    puts(&mut steps, 5..15);
    steps.extend([Step::Reopen, Step::DeleteRange("other", 0, 2), Step::TakeSnapshot]);
    steps.extend([Step::Compact, Step::DeleteRange(DEFAULT, 8, 12), Step::Count(1)]);
    puts(&mut steps, 30..40);
    steps.extend([Step::DropSnapshot, Step::Compact, Step::Create("gone"), Step::Reopen]);
    puts(&mut steps, 0..4);
    steps.extend([Step::Put("gone", 3), Step::Checkpoint, Step::Flush]);
    steps
}

fn key(number: u32) -> Vec<u8> {
    format!("key{:03}", number * 7 % 50).into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    let mut value = number.to_le_bytes().to_vec();
    value.extend((0..1500).map(|at| (at * number / 7) as u8));
    value
}

/// Keys and values of an ingest, in order.
fn ingested(number: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
    let entries = (0..12).map(|at| (key(number + at), value(1000 + number + at)));
    entries.collect::<BTreeMap<_, _>>().into_iter().collect()
}

fn range(from: u32, to: u32) -> (Vec<u8>, Vec<u8>) {
    let (from, to) = (key(from), key(to));
    if from <= to { (from, to) } else { (to, from) }
}

impl Step {
    /// The key space that it needs, which is missing if its creation has failed.
    fn space(self) -> &'static str {
        match self {
            Self::Put(space, _) | Self::DeleteRange(space, ..) | Self::Ingest(space, _) => space,
            Self::Transact(_) => "other",
            Self::Drop(space) => space,
            _ => DEFAULT,
        }
    }

    /// The contents after the step.
    fn applied_to(self, before: &Contents) -> Contents {
        let mut after = before.clone();
        let mut put = |space: &str, key: Vec<u8>, value: Vec<u8>| {
            after.get_mut(space).expect("a key space of the life").insert(key, value);
        };
        match self {
            Self::Put(space, number) => {
                put(space, key(number), value(number));
                put(space, key(number + 1), value(number + 1));
            }
            Self::Ingest(space, number) => {
                ingested(number).into_iter().for_each(|(key, value)| put(space, key, value));
            }
            Self::Transact(number) => {
                put(DEFAULT, key(number), value(2000 + number));
                put("other", key(number), value(2000 + number));
            }
            Self::DeleteRange(space, from, to) => {
                let (from, to) = range(from, to);
                let entries = after.get_mut(space).expect("a key space of the life");
                entries.retain(|key, _| *key < from || *key >= to);
            }
            Self::Count(amount) => {
                let number = after[DEFAULT].get(&b"count"[..]).and_then(|it| Counter::number(it));
                let sum = number.unwrap_or(0) + amount;
                let entries = after.get_mut(DEFAULT).expect("the default key space");
                entries.insert(b"count".to_vec(), Counter::bytes(sum).to_vec());
            }
            // It is there already if its drop has failed.
            Self::Create(space) => _ = after.entry(space.to_owned()).or_default(),
            Self::Drop(space) => drop(after.remove(space)),
            _ => {}
        }
        after
    }
}

fn space(db: &Db, name: &str) -> Result<KeySpace, terrace::Error> {
    Ok(db.key_space(name)?.with_durability(Durability::Synced))
}

/// Reads everything.
fn contents(db: &Db) -> Result<Contents, terrace::Error> {
    let mut contents = Contents::new();
    for name in db.key_spaces() {
        let mut entries = BTreeMap::new();
        for entry in db.key_space(&name)?.scan(..)? {
            let (key, value) = entry?;
            entries.insert(key.to_vec(), value.to_vec());
        }
        contents.insert(name, entries);
    }
    Ok(contents)
}

/// Reads everything, with further tries, as one read may fail.
fn contents_at_last(db: &Db) -> Result<Contents, String> {
    let mut tries = (0..3).map(|_| contents(db));
    let read = tries.find_map(Result::ok);
    read.map_or_else(|| contents(db).map_err(|error| format!("reading: {error}")), Ok)
}

/// One life on a place.
pub(super) struct Life<'a> {
    place: &'a Place,
    kind: Kind,
    db: Option<Db>,
    held: Contents,
    snapshot: Option<(Snapshot, Contents)>,
    /// Steps that have failed.
    pub(super) failed: u32,
}

impl<'a> Life<'a> {
    /// Lives on a place, to the end. An `Err` tells the fault of the store.
    pub(super) fn live(place: &'a Place, kind: Kind) -> Result<u32, String> {
        let held = Contents::from([(DEFAULT.to_owned(), BTreeMap::new())]);
        let mut life = Self { place, kind, db: None, held, snapshot: None, failed: 0 };
        life.open()?;
        for (at, step) in steps().into_iter().enumerate() {
            life.take(step).map_err(|wrong| format!("step {at}, {step:?}: {wrong}"))?;
        }
        life.end().map_err(|wrong| format!("the end: {wrong}"))?;
        Ok(life.failed)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("the store is open")
    }

    /// Opens the store, by a second try if the first has met a fault.
    fn open(&mut self) -> Result<(), String> {
        let mut opened = self.place.open(self.kind);
        if opened.is_err() {
            self.failed += 1;
            self.place.heal();
            opened = self.place.open(self.kind);
        }
        self.db = Some(opened.map_err(|error| format!("opening: {error}"))?);
        self.compare(&contents_at_last(self.db())?, None, "after the opening")
    }

    /// Closes the store, and opens it.
    fn reopen(&mut self) -> Result<(), String> {
        self.snapshot = None;
        if let Some(db) = self.db.take()
            && db.close().is_err()
        {
            self.failed += 1;
        }
        self.open()
    }

    fn compare(&self, found: &Contents, or: Option<&Contents>, when: &str) -> Result<(), String> {
        if *found == self.held || or.is_some_and(|or| found == or) {
            return Ok(());
        }
        let spaces: Vec<&String> = found.keys().collect();
        let mut wrong = format!("{when}: key spaces {spaces:?}, expected {:?}", self.held.keys());
        for (space, held) in &self.held {
            let found = found.get(space).cloned().unwrap_or_default();
            let keys = held.keys().chain(found.keys());
            let differ = keys.filter(|key| held.get(*key) != found.get(*key));
            let differ: Vec<_> = differ.map(|key| String::from_utf8_lossy(key)).collect();
            wrong += &format!("; {space} differs at {differ:?}");
        }
        Err(wrong)
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        if let Step::Reopen = step {
            return self.reopen();
        }
        if !self.held.contains_key(step.space()) {
            return Ok(());
        }
        let after = step.applied_to(&self.held);
        match self.perform(step) {
            Ok(()) => {
                self.held = after;
                Ok(())
            }
            Err(Failed::Wrong(wrong)) => Err(wrong),
            Err(Failed::Fault(error)) => {
                self.go_on(&after).map_err(|wrong| format!("failed by `{error}`: {wrong}"))
            }
        }
    }

    /// Goes on after a step that has failed, and may have had its effect.
    fn go_on(&mut self, after: &Contents) -> Result<(), String> {
        self.failed += 1;
        let copy = self.place.cut();
        self.place.heal();
        let found = {
            let db = copy.open(self.kind).map_err(|error| format!("after a cut: {error}"))?;
            let found = contents_at_last(&db)?;
            db.close().map_err(|error| format!("closing after a cut: {error}"))?;
            found
        };
        self.compare(&found, Some(after), "after a cut")?;
        let problems = copy.problems();
        if !problems.is_empty() {
            return Err(format!("check after a cut: {problems:?}"));
        }
        if self.db().resume().is_err() {
            self.snapshot = None;
            drop(self.db.take().map(Db::close));
            self.db = Some(self.place.open(self.kind).map_err(|error| format!("again: {error}"))?);
        }
        let found = contents_at_last(self.db())?;
        self.compare(&found, Some(after), "after the failure")?;
        self.held = found;
        Ok(())
    }

    fn perform(&mut self, step: Step) -> Result<(), Failed> {
        let db = self.db().clone();
        match step {
            Step::Put(name, number) => {
                let (space, mut batch) = (space(&db, name)?, Batch::new());
                let mut into = batch.key_space(&space);
                into.put(&key(number), &value(number));
                into.put(&key(number + 1), &value(number + 1));
                db.write_with(batch, Durability::Synced)?;
            }
            Step::DeleteRange(name, from, to) => {
                let (from, to) = range(from, to);
                space(&db, name)?.delete_range(from..to)?;
            }
            Step::Ingest(name, number) => {
                let (space, mut ingest) = (db.key_space(name)?, db.ingest()?);
                let mut into = ingest.key_space(&space)?;
                for (key, value) in ingested(number) {
                    into.put(&key, &value)?;
                }
                ingest.finish()?;
            }
            Step::Transact(number) => {
                let (other, transaction) = (db.key_space("other")?, db.transaction()?);
                transaction.get(&key(number))?;
                transaction.put(&key(number), &value(2000 + number))?;
                transaction.key_space(&other)?.put(&key(number), &value(2000 + number))?;
                transaction.commit_with(Durability::Synced)?;
            }
            Step::Count(amount) => space(&db, DEFAULT)?.merge(b"count", &Counter::bytes(amount))?,
            Step::Create(name) => drop(db.create_key_space(name)?),
            Step::Drop(name) => drop(db.drop_key_space(name)?),
            Step::Flush => db.flush()?,
            Step::Compact => db.compact_all()?,
            Step::Checkpoint => self.checkpoint(&db)?,
            Step::TakeSnapshot => self.snapshot = Some((db.snapshot(), self.held.clone())),
            Step::DropSnapshot => {
                if let Some((snapshot, held)) = self.snapshot.take() {
                    let found: Result<BTreeMap<_, _>, _> = snapshot
                        .scan(..)?
                        .map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())))
                        .collect();
                    if found? != held[DEFAULT] {
                        return Err(Failed::Wrong("a snapshot has changed".into()));
                    }
                }
            }
            Step::Reopen => {}
        }
        Ok(())
    }

    /// Copies the store, and compares the copy.
    fn checkpoint(&self, db: &Db) -> Result<(), Failed> {
        let target = Arc::new(MemoryStore::new());
        db.checkpoint(target.clone())?;
        let wrong = |error: terrace::Error| Failed::Wrong(format!("a checkpoint: {error}"));
        let options = Options::default().merge_operator(Counter);
        let copy = Db::open(target, options).map_err(wrong)?;
        let found = contents(&copy).map_err(wrong)?;
        self.compare(&found, None, "a checkpoint").map_err(Failed::Wrong)
    }

    /// Ends the life: audits the store, closes it, checks it, and opens it again.
    fn end(&mut self) -> Result<(), String> {
        self.snapshot = None;
        self.place.heal();
        self.reopen()?;
        self.audit("an opening")?;
        self.db().compact_all().map_err(|error| format!("compaction: {error}"))?;
        self.audit("a compaction")?;
        let db = self.db.take().expect("the store is open");
        let fs = db.fs().cloned();
        db.close().map_err(|error| format!("closing: {error}"))?;
        let differences = fs.map_or_else(Vec::new, |fs| fs.audit());
        if !differences.is_empty() {
            return Err(format!("audit: {differences:?}"));
        }
        let problems = self.place.problems();
        if !problems.is_empty() {
            return Err(format!("check: {problems:?}"));
        }
        let copy = self.place.cut();
        let db = copy.open(self.kind).map_err(|error| format!("after a cut: {error}"))?;
        let found = contents_at_last(&db)?;
        self.compare(&found, None, "after the last cut")?;
        db.close().map_err(|error| format!("closing: {error}"))
    }

    /// Audits a store without work in flight.
    fn audit(&self, when: &str) -> Result<(), String> {
        let db = self.db();
        db.wait_idle().map_err(|error| format!("at rest after {when}: {error}"))?;
        self.compare(&contents_at_last(db)?, None, when)?;
        let files = db.store().list();
        let logs = files.iter().filter(|file| file.kind == FileKind::Log).count();
        // The one that is written, and a preallocated one.
        if logs > 2 {
            return Err(format!("after {when}: expected at most 2 logs, found {logs}"));
        }
        let tables = files.iter().filter(|file| file.kind == FileKind::Table).count() as u64;
        let segments: u64 = db.stats().levels.iter().map(|level| level.segments).sum();
        // Each key space has at most one page.
        let pages = db.key_spaces().len() as u64;
        if tables > segments + pages {
            return Err(format!("after {when}: {tables} tables for {segments} segments"));
        }
        Ok(())
    }
}

/// How a step has failed.
enum Failed {
    /// By an error of the store.
    Fault(terrace::Error),
    /// By an answer that is wrong.
    Wrong(String),
}

impl From<terrace::Error> for Failed {
    fn from(error: terrace::Error) -> Self {
        Self::Fault(error)
    }
}
