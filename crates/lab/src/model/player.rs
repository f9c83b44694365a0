//! [`play`]: does each operation of a script on the store and on the model, and compares the
//! answers.
//!
//! A write, a flush, a compaction, a new key space, or waiting for the jobs may fail for lack of
//! space. It must then leave the contents as they were. Any other error is a failure. So is lack of
//! space in the other operations.
//!
//! All entries of all key spaces are read and compared after every opening and at the end. After a
//! power cut, writes that were not durable may be missing, the newest first. The file system's
//! check must be clean whenever the store was closed or the power was cut. After a close, the file
//! system's own counts must be right as well.
//!
//! At most 4 snapshots and 4 cursors are kept: a new one then replaces the oldest. With 4 key
//! spaces, no other is made.
//!
//! [`play`] must run inside a simulation. [`play_on`] plays on a device, and runs on threads: a
//! device of the kernel knows no virtual time.

use std::fmt;
use std::sync::Arc;

use terrace::{
    Batch, Db, Durability, KeySpace, KeySpaceOptions, Options, Scan, Snapshot, SnapshotKeySpace,
};
use terrace_env::random::Random;
use terrace_env::{Date, runner};
use terrace_zone::{Device, PowerCut};

use super::contents::{self, Contents, Held, Spaces, within};
use super::operation::{Change, KeyRange, Operation, Step};
use super::pairs::{Pairs, Presence};
use super::place::Place;
use super::setting::Setting;

use walk::Walk;

/// Snapshots and cursors that are kept at once.
const KEPT_MAX: usize = 4;

/// A script that did not agree with the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation's place in the script; its length for the end.
    pub at: usize,
    /// Value expected and value found.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}: {}", self.at, self.what)
    }
}

/// Events of a script, for telling whether it could have found anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Memtables flushed.
    pub flushes: u64,
    /// Compactions that merged.
    pub compactions: u64,
    /// Openings.
    pub openings: u64,
    /// Reads that were compared.
    pub reads: u64,
    /// Writes refused for want of space.
    pub refused: u64,
    /// Features that have met.
    pub pairs: Pairs,
}

impl Tally {
    /// The sums of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            flushes: self.flushes + other.flushes,
            compactions: self.compactions + other.compactions,
            openings: self.openings + other.openings,
            reads: self.reads + other.reads,
            refused: self.refused + other.refused,
            pairs: self.pairs.and(other.pairs),
        }
    }
}

/// Plays a script on a new drive. Must run inside a simulation, whose outcome it then is.
pub fn play(script: &[Operation], setting: &Setting, seed: u64) -> Result<Tally, Failure> {
    let mut random = Random::seeded(seed);
    let place = Place::emulated(setting, &mut random);
    let place = place.map_err(|what| Failure { at: 0, what })?;
    play_at(place, script, setting, random)
}

/// Plays a script on a device, whose data are lost, with the options of a setting. Its drives and
/// times do not count. In place of a power cut, the store is dropped without a close.
pub fn play_on(
    device: Arc<dyn Device>,
    script: &[Operation],
    setting: &Setting,
    seed: u64,
) -> Result<Tally, Failure> {
    play_at(Place::Device(device), script, setting, Random::seeded(seed))
}

fn play_at(
    place: Place,
    script: &[Operation],
    setting: &Setting,
    random: Random,
) -> Result<Tally, Failure> {
    let at = |at: usize| move |what: String| Failure { at, what };
    let mut player = Player::new(place, setting, random).map_err(at(0))?;
    for (number, operation) in script.iter().enumerate() {
        player.note(operation);
        player.perform(operation).map_err(at(number))?;
    }
    player.end().map_err(at(script.len()))
}

type Entry = (Vec<u8>, Vec<u8>);

struct Player<'a> {
    setting: &'a Setting,
    random: Random,
    place: Place,
    /// `None` only while it is opened again.
    db: Option<Db>,
    spaces: Vec<KeySpace>,
    /// Their names.
    names: Vec<String>,
    /// Key spaces that were dropped.
    drops: u32,
    contents: Contents,
    presence: Presence,
    snapshots: Vec<(Snapshot, Spaces)>,
    walks: Vec<Walk>,
    /// The date at which it began.
    first_day: Date,
    tally: Tally,
}

fn same<T: PartialEq + fmt::Debug>(found: &T, expected: &T, what: &str) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let brief = |value: &T| {
        let mut text = format!("{value:?}");
        text.truncate(text.floor_char_boundary(300));
        text
    };
    Err(format!("{what}: expected {}, found {}", brief(expected), brief(found)))
}

/// Whether something was done; `false` if it was refused for want of space.
fn unless_full(outcome: Result<(), terrace::Error>, what: &str) -> Result<bool, String> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if error.is_space() => Ok(false),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// The first entries of a scan, from one end or the other.
fn take(scan: Scan, backward: bool, limit: usize) -> Result<Vec<Entry>, String> {
    let entry = |found: Result<(bytes::Bytes, bytes::Bytes), terrace::Error>| {
        let (key, value) = found.map_err(|error| format!("a scan: {error}"))?;
        Ok((key.to_vec(), value.to_vec()))
    };
    if backward {
        scan.rev().take(limit).map(entry).collect()
    } else {
        scan.take(limit).map(entry).collect()
    }
}

impl<'a> Player<'a> {
    fn new(place: Place, setting: &'a Setting, random: Random) -> Result<Self, String> {
        place.format(&setting.format)?;
        let mut player = Self {
            setting,
            random,
            place,
            db: None,
            spaces: Vec::new(),
            names: vec!["default".to_owned()],
            drops: 0,
            contents: Contents::new(),
            presence: Presence::default(),
            snapshots: Vec::new(),
            walks: Vec::new(),
            first_day: runner::date(),
            tally: Tally::default(),
        };
        player.open(0)?;
        Ok(player)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("an open store")
    }

    fn options(&self, number: u8) -> &Options {
        &self.setting.options[usize::from(number) % self.setting.options.len()]
    }

    /// Opens the store and checks its contents.
    fn open(&mut self, options: u8) -> Result<(), String> {
        let db = self.place.open(self.options(options).clone())?;
        let handle = |name: &String| db.key_space(name).map_err(|error| error.to_string());
        same(&db.key_spaces().len(), &self.contents.now.len(), "key spaces")?;
        self.spaces = self.names.iter().map(handle).collect::<Result<_, _>>()?;
        self.db = Some(db);
        for (at, space) in self.spaces.iter().enumerate() {
            if let Some(options) = self.shape_of(at) {
                unless_full(space.set_options(options), "other options of a key space")?;
            }
        }
        let found = self.read_everything()?;
        self.tally.openings += 1;
        self.contents.recovered(found)
    }

    /// Options of a key space by its place in the list, other ones at each opening; or none.
    fn shape_of(&self, at: usize) -> Option<KeySpaceOptions> {
        let shapes = &self.setting.spaces;
        let turn = at + self.tally.openings as usize;
        (!shapes.is_empty()).then(|| shapes[turn % shapes.len()])
    }

    fn read_everything(&self) -> Result<Spaces, String> {
        let read = |space: &KeySpace| {
            let scan = space.scan(..).map_err(|error| format!("a scan: {error}"))?;
            Ok(Arc::new(take(scan, false, usize::MAX)?.into_iter().collect()))
        };
        self.spaces.iter().map(read).collect()
    }

    /// Lets go of the store and all that reads it.
    fn let_go(&mut self) -> Option<Db> {
        self.snapshots.clear();
        self.walks.clear();
        self.spaces.clear();
        let db = self.db.take()?;
        let stats = db.stats();
        self.tally.flushes += stats.flushes;
        self.tally.compactions += stats.compactions;
        Some(db)
    }

    fn close(&mut self) -> Result<(), String> {
        if let Some(db) = self.let_go() {
            let fs = db.fs().cloned();
            db.close().map_err(|error| format!("closing: {error}"))?;
            same(&fs.map_or_else(Vec::new, |fs| fs.audit()), &Vec::new(), "audit")?;
        }
        self.contents.synced();
        self.place.check()
    }

    fn cut(&mut self, cut: PowerCut, synced: bool, options: u8) -> Result<(), String> {
        if synced {
            self.sync()?;
        }
        self.place.power_cut(cut, &mut self.random)?;
        drop(self.let_go());
        self.place.power_on();
        self.place.check()?;
        self.open(options)
    }

    fn sync(&mut self) -> Result<(), String> {
        self.db().sync().map_err(|error| format!("sync: {error}"))?;
        self.contents.synced();
        Ok(())
    }

    fn end(mut self) -> Result<Tally, String> {
        let found = self.read_everything()?;
        same(&found, &self.contents.now, "the end")?;
        self.close()?;
        self.tally.pairs = self.presence.met();
        Ok(self.tally)
    }

    fn perform(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Write { changes, synced } => self.write(changes, *synced),
            Operation::Swap { space, key, new, stale } => self.swap((*space, *key), *new, *stale),
            Operation::Transact { space, reads, changes, meanwhile } => {
                self.transact(*space, reads, changes, *meanwhile)
            }
            Operation::Get { space, key, at } => self.get(*space, &key.bytes(), *at),
            Operation::Scan { space, range, backward, limit, at } => {
                self.scan(*space, *range, *backward, usize::from(*limit), *at)
            }
            Operation::OpenCursor { space, range, at } => self.open_cursor(*space, *range, *at),
            Operation::Walk { cursor, steps } => self.walk(*cursor, steps),
            Operation::TakeSnapshot => {
                self.make_room(|player| player.snapshots.len(), |p| drop(p.snapshots.remove(0)));
                let snapshot = self.db().snapshot();
                self.snapshots.push((snapshot, self.contents.now.clone()));
                Ok(())
            }
            Operation::DropSnapshot(number) => {
                if let Some(at) = self.snapshot(Some(*number)) {
                    self.snapshots.remove(at);
                }
                Ok(())
            }
            Operation::CreateSpace => self.create_space(),
            Operation::DropSpace(space) => self.drop_space(*space),
            Operation::Ingest { space, entries } => self.ingest(*space, entries),
            Operation::Checkpoint => self.checkpoint(),
            Operation::Flush => unless_full(self.db().flush(), "flush").map(drop),
            Operation::Compact { space, range } => {
                let space = &self.spaces[self.contents.space(*space)];
                unless_full(space.compact(range.bounds()), "compact").map(drop)
            }
            Operation::CompactAll => unless_full(self.db().compact_all(), "compact").map(drop),
            Operation::WaitIdle => unless_full(self.db().wait_idle(), "wait_idle").map(drop),
            Operation::Sync => self.sync(),
            Operation::Rest(time) => {
                runner::sleep(*time);
                Ok(())
            }
            Operation::NextDay => {
                self.next_day();
                Ok(())
            }
            Operation::Reopen(options) => {
                self.close()?;
                self.open(*options)
            }
            Operation::Cut { cut, synced, options } => self.cut(*cut, *synced, *options),
            Operation::Verify => {
                self.db().verify().map(drop).map_err(|error| format!("verify: {error}"))
            }
        }
    }

    /// Lets the oldest of something go when there are too many.
    fn make_room(&mut self, count: impl Fn(&Self) -> usize, pop: impl FnOnce(&mut Self)) {
        if count(self) >= KEPT_MAX {
            pop(self);
        }
    }

    fn write(&mut self, changes: &[Change], synced: bool) -> Result<(), String> {
        let mut batch = Batch::new();
        for change in changes {
            self.add_to(&mut batch, change);
        }
        let durability = if synced { Durability::Synced } else { Durability::Gathered };
        if unless_full(self.db().write_with(batch, durability), "write")? {
            self.contents.write(changes);
            if synced {
                self.contents.synced();
            }
        } else {
            self.tally.refused += 1;
        }
        Ok(())
    }

    /// The place of the snapshot that a number means, if there is any.
    fn snapshot(&self, number: Option<u8>) -> Option<usize> {
        number.filter(|_| !self.snapshots.is_empty()).map(|n| usize::from(n) % self.snapshots.len())
    }

    /// Contents of a key space, now or in a snapshot; a snapshot may be older than the key space.
    fn held(&self, space: usize, at: Option<usize>) -> Arc<Held> {
        let spaces = at.map_or(&self.contents.now, |at| &self.snapshots[at].1);
        spaces.get(space).cloned().unwrap_or_default()
    }

    /// A snapshot's view of a key space.
    fn seen(&self, space: usize, at: usize) -> Result<SnapshotKeySpace<'_>, terrace::Error> {
        self.snapshots[at].0.key_space(&self.spaces[space])
    }

    /// Reads a key in three ways.
    fn get(&mut self, space: u8, key: &[u8], at: Option<u8>) -> Result<(), String> {
        let (space, at) = (self.contents.space(space), self.snapshot(at));
        let keys = [key, b"", key];
        let (found, there, several) = match at {
            Some(at) => {
                let seen = self.seen(space, at).map_err(|error| format!("a snapshot: {error}"))?;
                (seen.get(key), seen.contains(key), seen.multi_get(&keys))
            }
            None => {
                let space = &self.spaces[space];
                (space.get(key), space.contains(key), space.multi_get(&keys))
            }
        };
        let bytes = |value: bytes::Bytes| value.to_vec();
        let found = found.map_err(|error| format!("get: {error}"))?.map(bytes);
        let there = there.map_err(|error| format!("contains: {error}"))?;
        let several = several.map_err(|error| format!("multi_get: {error}"))?;
        let several: Vec<_> = several.into_iter().map(|value| value.map(bytes)).collect();
        self.tally.reads += 3;
        let held = self.held(space, at);
        let expected = held.get(key).cloned();
        same(&found, &expected, "get")?;
        same(&there, &expected.is_some(), "contains")?;
        same(&several, &vec![expected.clone(), held.get(&b""[..]).cloned(), expected], "multi_get")
    }

    fn scan(
        &mut self,
        space: u8,
        range: KeyRange,
        backward: bool,
        limit: usize,
        at: Option<u8>,
    ) -> Result<(), String> {
        let (space, at) = (self.contents.space(space), self.snapshot(at));
        let scan = match at {
            Some(at) => self.seen(space, at).and_then(|seen| seen.scan(range.bounds())),
            None => self.spaces[space].scan(range.bounds()),
        };
        let found = take(scan.map_err(|error| format!("scan: {error}"))?, backward, limit)?;
        let held = within(&self.held(space, at), range).into_iter();
        let expected: Vec<_> =
            if backward { held.rev().take(limit).collect() } else { held.take(limit).collect() };
        self.tally.reads += 1;
        same(&found, &expected, "scan")
    }

    fn open_cursor(&mut self, space: u8, range: KeyRange, at: Option<u8>) -> Result<(), String> {
        self.make_room(|player| player.walks.len(), |player| drop(player.walks.remove(0)));
        let (space, at) = (self.contents.space(space), self.snapshot(at));
        let cursor = match at {
            Some(at) => self.seen(space, at).and_then(|seen| seen.cursor(range.bounds())),
            None => self.spaces[space].cursor(range.bounds()),
        };
        let cursor = cursor.map_err(|error| format!("cursor: {error}"))?;
        let held = within(&self.held(space, at), range);
        self.walks.push(Walk { cursor, held, at: None });
        Ok(())
    }

    fn walk(&mut self, cursor: u8, steps: &[Step]) -> Result<(), String> {
        let count = self.walks.len();
        let Some(walk) = self.walks.get_mut(usize::from(cursor) % count.max(1)) else {
            return Ok(());
        };
        for step in steps {
            self.tally.reads += 1;
            walk.step(*step)?;
        }
        Ok(())
    }

    fn create_space(&mut self) -> Result<(), String> {
        if self.spaces.len() >= KEPT_MAX {
            return Ok(());
        }
        let name = format!("space {}, of {} drops", self.spaces.len(), self.drops);
        let options = self.shape_of(self.spaces.len()).unwrap_or_default();
        match self.db().create_key_space_with(&name, options) {
            Ok(space) => {
                self.spaces.push(space);
                self.names.push(name);
                self.contents.create_space();
                Ok(())
            }
            Err(error) if error.is_space() => Ok(()),
            Err(error) => Err(format!("create key space: {error}")),
        }
    }
}

mod changes;
mod conditional;
mod copies;
mod days;
mod features;
mod walk;
