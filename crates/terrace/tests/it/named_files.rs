//! Power cuts while files with names are put, replaced, moved and removed, and while all of them
//! are replaced at once, simulated from seeds.
//!
//! At each write to the drive the drive is copied, with the expected files: those before the call
//! in flight, or those after it. Each copy loses its power in one of the ways of the emulator and
//! is mounted. It must have one of both, whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::fs::{NamedFiles, NewFile, Replacement};
use terrace::{ByteCount, FormatOptions, Fs, Geometry, StoreError};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{FileKind, FileWriter, PlacementHint, Rank};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, runner, test_seeds};
use terrace_fs::{Access, MountOptions};
use terrace_zone::emulator::Event;
use terrace_zone::{Emulator, PowerCut, Snapshot};

/// Files by name, with their bytes and times.
type Contents = BTreeMap<String, (Vec<u8>, u64)>;

/// The files before and after a call.
#[derive(Clone, Default)]
struct Allowed {
    before: Contents,
    after: Contents,
}

struct Moment {
    snapshot: Snapshot,
    allowed: Allowed,
}

fn drive(seed: u64) -> Arc<Emulator> {
    let zone = ByteCount::kib(if seed.is_multiple_of(2) { 128 } else { 256 });
    Arc::new(Emulator::in_memory(Geometry::uniform(zone, 100), seed).unwrap())
}

fn contents(files: &NamedFiles) -> Contents {
    let read = |(name, info): (String, terrace_env::store::FileInfo)| {
        let reader = files.open(&name).unwrap();
        let mut bytes = vec![0; reader.len() as usize];
        reader.read_at(0, &mut bytes, Cause::Client).unwrap();
        let modified = terrace::fs::modified(&info.annotation);
        // Staged files of a restore have no names yet.
        (!name.starts_with('\u{1}')).then_some((name, (bytes, modified)))
    };
    files.list("").into_iter().filter_map(read).collect()
}

fn bytes(random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![0; random.random_range(0..40_000)];
    random.fill_bytes(&mut bytes);
    bytes
}

fn new_file(random: &mut Random, modified: u64) -> NewFile {
    let kinds = [FileKind::Client, FileKind::Table, FileKind::Log];
    let kind = kinds[random.random_range(0..kinds.len())];
    let level = random.random_bool(0.5).then_some(random.random_range(0..3));
    NewFile {
        kind,
        hint: PlacementHint { level, stream: 0 },
        size: None,
        rank: Rank::Log,
        modified,
    }
}

/// Calls of a client, which announces each before it makes it.
struct Client<'a> {
    files: &'a NamedFiles,
    allowed: Arc<Mutex<Allowed>>,
    random: Random,
    next: u64,
}

impl Client<'_> {
    fn name(&mut self) -> String {
        format!("{}/{}", self.random.random_range(0..2), self.random.random_range(0..4))
    }

    /// Carries out a call that changes the files to these.
    fn call(&self, after: Contents, call: impl FnOnce() -> Result<(), StoreError>) {
        self.allowed.lock().after = after;
        call().unwrap();
        let mut allowed = self.allowed.lock();
        allowed.before = allowed.after.clone();
    }

    fn step(&mut self) {
        self.next += 1;
        let mut held = self.allowed.lock().before.clone();
        match self.random.random_range(0..12) {
            0..=4 => self.put(held),
            10.. if !held.is_empty() => {
                let name = held.keys().nth(self.next as usize % held.len()).unwrap().clone();
                let id = self.files.find(&name).unwrap().id;
                let size = held[&name].0.len();
                let size = self.random.random_range(0..=size);
                // Further names are names of the same file.
                for (name, (bytes, _)) in &mut held {
                    if self.files.find(name).unwrap().id == id {
                        bytes.truncate(size);
                    }
                }
                self.call(held, || self.files.truncate(&name, size as u64));
            }
            5 if !held.is_empty() => {
                let from = held.keys().nth(self.next as usize % held.len()).unwrap().clone();
                let to = self.name();
                let file = held.remove(&from).unwrap();
                held.insert(to.clone(), file);
                self.call(held, || self.files.rename(&from, &to));
            }
            6 => {
                let gone: Vec<String> =
                    held.keys().filter(|name| name.starts_with("0/")).cloned().collect();
                held.retain(|name, _| !gone.contains(name));
                let names = gone.iter().map(String::as_str);
                self.call(held, || self.files.remove_all(names));
            }
            7 => {
                // Existing names belong to other directories.
                held.retain(|name, _| !name.starts_with("2/"));
                let moved = held.into_iter().map(|(name, file)| {
                    let to = name.strip_prefix("1/").map(|rest| format!("2/{rest}"));
                    (to.unwrap_or(name), file)
                });
                let moved = moved.collect();
                let old = self.files.list("2/");
                let before = self.allowed.lock().before.clone();
                let mut without = before.clone();
                without.retain(|name, _| !name.starts_with("2/"));
                let old = old.iter().map(|(name, _)| name.as_str());
                self.call(without, || self.files.remove_all(old));
                self.call(moved, || self.files.rename_all("1/", "2/"));
            }
            8 if !held.is_empty() => {
                // A file that is finished is copied.
                let name = held.keys().nth(self.next as usize % held.len()).unwrap().clone();
                self.call(held, || self.files.append_to(&name).map(drop));
            }
            _ => self.replace_all(),
        }
    }

    fn put(&mut self, mut held: Contents) {
        let (name, bytes) = (self.name(), bytes(&mut self.random));
        let file = new_file(&mut self.random, self.next);
        let open = file.kind != FileKind::Table && self.random.random_bool(0.5);
        held.insert(name.clone(), (bytes.clone(), self.next));
        self.call(held, || {
            let mut writer = self.files.begin(&file)?;
            bytes.chunks(10_000).try_for_each(|chunk| writer.append(chunk))?;
            match open {
                true => self.files.publish_open(&mut *writer, &[&name], &file),
                false => self.files.publish(&mut *writer, &[&name], &file),
            }
        });
    }

    fn replace_all(&mut self) {
        let mut new = Contents::new();
        let mut files = Vec::new();
        for _ in 0..self.random.random_range(0..6) {
            let names = vec![self.name(), format!("link/{}", files.len())];
            let bytes = bytes(&mut self.random);
            if names.iter().any(|name| new.contains_key(name)) {
                continue;
            }
            new.extend(names.iter().map(|name| (name.clone(), (bytes.clone(), self.next))));
            let sealed = self.random.random_bool(0.5);
            files.push((names, bytes, new_file(&mut self.random, self.next), sealed));
        }
        // One in three is dropped before the commit.
        let commit = !self.next.is_multiple_of(3);
        let after = if commit { new } else { self.allowed.lock().before.clone() };
        self.call(after, || {
            let mut replacement = Replacement::begin(self.files)?;
            for (names, bytes, file, sealed) in &files {
                let fill = |writer: &mut dyn FileWriter| {
                    bytes.chunks(10_000).try_for_each(|chunk| writer.append(chunk))
                };
                replacement.add(names, file, *sealed, fill)?;
            }
            if commit { replacement.commit() } else { Ok(()) }
        });
    }
}

/// Writes for a while, with a copy of the drive at one write of `spacing`.
fn run(seed: u64, steps: u32, spacing: u32) -> Vec<Moment> {
    let device = drive(seed);
    Fs::format(device.clone(), &FormatOptions::default()).unwrap();
    let fs = Fs::mount(device.clone(), &MountOptions::default()).unwrap();
    let files = NamedFiles::new(fs.clone());
    let claim = files.claim(Access::ReadWrite).unwrap();
    let allowed: Arc<Mutex<Allowed>> = Arc::default();
    let moments: Arc<Mutex<Vec<Moment>>> = Arc::default();
    let (seen, into) = (Arc::clone(&allowed), Arc::clone(&moments));
    let chance = Mutex::new(Random::seeded(seed ^ 1));
    device.set_observer(Some(Arc::new(move |event: &Event<'_>| {
        if chance.lock().random_range(0..spacing) == 0 {
            let allowed = seen.lock().clone();
            into.lock().push(Moment { snapshot: event.snapshot().unwrap(), allowed });
        }
    })));
    let random = Random::seeded(seed);
    let mut client = Client { files: &files, allowed: Arc::clone(&allowed), random, next: 0 };
    (0..steps).for_each(|_| client.step());
    device.set_observer(None);
    assert_eq!(contents(&files), allowed.lock().before, "seed {seed}");
    drop(claim);
    fs.unmount();
    std::mem::take(&mut *moments.lock())
}

#[test]
fn a_power_cut_leaves_the_old_files_or_the_new_ones() {
    let mut replacing = 0;
    for seed in test_seeds(3) {
        runner::simulate(seed, || {
            let moments = run(seed, 120, 6);
            assert!(moments.len() > 50, "only {} moments", moments.len());
            let mut random = Random::seeded(seed);
            for (number, moment) in moments.iter().enumerate() {
                let cut = PowerCut::any(&mut random);
                let survivor = Arc::new(moment.snapshot.cut(cut, &mut random));
                let fs = Fs::mount(survivor, &MountOptions::default())
                    .unwrap_or_else(|e| panic!("seed {seed}, moment {number}, {cut:?}: {e}"));
                let found = contents(&NamedFiles::new(fs));
                let Allowed { before, after } = &moment.allowed;
                assert!(
                    found == *before || found == *after,
                    "seed {seed}, moment {number}, {cut:?}: found {:?}, expected {:?} or {:?}",
                    found.keys(),
                    before.keys(),
                    after.keys()
                );
                replacing += u32::from(before != after && found == *before);
            }
        });
    }
    assert!(replacing > 50, "only {replacing} cuts fell into a call");
}

#[test]
fn a_thousand_files_are_replaced_by_one_transaction() {
    runner::simulate(7, || {
        let device = drive(7);
        Fs::format(device.clone(), &FormatOptions::default()).unwrap();
        let fs = Fs::mount(device, &MountOptions::default()).unwrap();
        let files = NamedFiles::new(fs);
        for round in ["old", "new"] {
            let mut replacement = Replacement::begin(&files).unwrap();
            for number in 0..1000 {
                let hint = PlacementHint::default();
                let file = NewFile {
                    kind: FileKind::Client,
                    hint,
                    size: None,
                    rank: Rank::Log,
                    modified: 1,
                };
                let names = [format!("a directory with a name/{round}-{number}")];
                let fill = |_: &mut dyn FileWriter| Ok::<(), StoreError>(());
                replacement.add(&names, &file, true, fill).unwrap();
            }
            replacement.commit().unwrap();
            let prefix = format!("a directory with a name/{round}-");
            assert_eq!((files.list(&prefix).len(), files.list("").len()), (1000, 1000));
        }
    });
}

#[test]
fn a_file_tells_the_zones_that_it_lies_in() {
    runner::simulate(8, || {
        let device = drive(8);
        Fs::format(device.clone(), &FormatOptions::default()).unwrap();
        let fs = Fs::mount(device, &MountOptions::default()).unwrap();
        let files = NamedFiles::new(fs.clone());
        let hint = PlacementHint::default();
        for (kind, sealed) in [(FileKind::Client, true), (FileKind::Log, false)] {
            let file = NewFile { kind, hint, size: None, rank: Rank::Log, modified: 1 };
            let mut writer = files.begin(&file).unwrap();
            writer.append(&[7; 300_000]).unwrap();
            match sealed {
                true => files.publish(&mut *writer, &["a"], &file).unwrap(),
                false => files.publish_open(&mut *writer, &["a"], &file).unwrap(),
            }
            let zones = fs.zones_of(writer.id());
            let bytes: u64 = zones.iter().map(|(_, bytes)| bytes.0).sum();
            assert!(zones.len() >= 3 && bytes >= 300_000, "{kind:?}: {zones:?}");
            let live = fs.zones().unwrap();
            for (zone, bytes) in zones {
                assert!(live[zone.0 as usize].live >= bytes, "{kind:?}: {zone}");
            }
        }
        assert!(fs.zones_of(terrace::FileId(u64::MAX)).is_empty());
    });
}
