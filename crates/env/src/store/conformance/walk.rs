//! A conformance check that does the same random operations on the store under test and on a model,
//! [`MemoryStore`].
//!
//! After each operation, both stores must have succeeded or both have failed (the errors may
//! differ), and both must have the same files, names and annotations. Now and then the bytes of the
//! files that are not trimmed are compared.
//!
//! Now and then the store is closed, or its process is ended, or its power is cut, and it is opened
//! again. The length of each unsealed file must then be one that the model could have, too; the
//! model is cut to that length.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::Subject;
use super::actions::{contents, create, create_at, note, pattern, read};
use crate::random::{Random, Rng};
use crate::store::{
    Change, FileInfo, FileKind, FileReader, FileWriter, MemoryStore, StoreError, Transaction,
};
use crate::{FileId, Store};

const OPERATIONS: usize = 150;
const WRITERS_MAX: usize = 3;
const READERS_MAX: usize = 4;
const LIVE_MAX: u64 = 2 << 20;
/// Trims are made of whole blocks, and logs are not trimmed: the contract leaves open the trim of a
/// partial block, and any trim of a log.
const BLOCK: u64 = 4096;
const NAMES: [&str; 5] = ["a", "b", "c/d", "c/e", "f"];

/// Something of the subject, and its counterpart of the model.
struct Twin<T> {
    real: T,
    model: T,
}

/// One of the walk's files: the ids it has on both sides.
type Ids = Twin<FileId>;

/// Walks [`OPERATIONS`] steps.
pub(super) fn walk(subject: &mut dyn Subject, seed: u64) {
    let mut walk = Walk {
        real: subject.store(),
        model: MemoryStore::new(),
        random: Random::seeded(seed),
        files: Vec::new(),
        writers: BTreeMap::new(),
        readers: Vec::new(),
    };
    for step in 0..OPERATIONS {
        walk.step();
        walk.compare();
        let restart = walk.random.random_ratio(1, 25);
        if restart {
            let seed = walk.random.random();
            let end = match walk.random.random_range(0..10) {
                0..2 => End::Closed,
                2..4 => End::Process(seed),
                _ => End::PowerCut(seed),
            };
            walk.restart(subject, end);
        }
        if restart || step % 20 == 0 {
            walk.compare_bytes();
        }
    }
}

/// How a life of the store ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    Process(u64),
    PowerCut(u64),
}

struct Walk {
    real: Arc<dyn Store>,
    model: MemoryStore,
    random: Random,
    /// Every file there ever was.
    files: Vec<Ids>,
    /// The writers, by their file's place in `files`.
    writers: BTreeMap<usize, Twin<Box<dyn FileWriter>>>,
    readers: Vec<Twin<Arc<dyn FileReader>>>,
}

/// Panics unless both sides have succeeded or both have failed; returns both results of a success.
fn agree<T>(
    what: &str,
    real: Result<T, StoreError>,
    model: Result<T, StoreError>,
) -> Option<Twin<T>> {
    match (real, model) {
        (Ok(real), Ok(model)) => Some(Twin { real, model }),
        (Err(_), Err(_)) => None,
        (real, model) => {
            panic!("{what}: expected {:?}, found {:?}", model.map(drop), real.map(drop))
        }
    }
}

impl Walk {
    fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..15 => self.create(),
            15..40 => self.append(),
            40..50 => self.sync_or_finish(),
            50..52 => drop(self.pick_writer().and_then(|file| self.writers.remove(&file))),
            52..58 => self.reopen(),
            58..80 => self.commit(),
            80..88 => self.open(),
            88..90 => drop(self.readers.pop()),
            _ => self.read(),
        }
    }

    fn pick_file(&mut self) -> usize {
        // Mostly files of late: the early ones are gone.
        let back = self.random.random_range(0..self.files.len().min(8));
        self.files.len() - 1 - back
    }

    fn pick_writer(&mut self) -> Option<usize> {
        let nth = self.random.random_range(0..self.writers.len().max(1));
        self.writers.keys().nth(nth).copied()
    }

    fn model_store(&self) -> Arc<dyn Store> {
        Arc::new(self.model.clone())
    }

    fn create(&mut self) {
        if self.writers.len() == WRITERS_MAX || self.model.space().live.0 > LIVE_MAX {
            return;
        }
        let kinds = [FileKind::Table, FileKind::Log, FileKind::Client];
        let kind = kinds[self.random.random_range(0..kinds.len())];
        let offload = self.files.len().is_multiple_of(2);
        let real = create_at(&self.real, kind, offload);
        let model = create(&self.model_store(), kind);
        let ids = Twin { real: real.id(), model: model.id() };
        if self.random.random() {
            let mut both = [Transaction::new(), Transaction::new()];
            both[0].create(ids.real, note("created"));
            both[1].create(ids.model, note("created"));
            let [for_real, for_model] = both;
            agree("a create", self.real.commit(for_real), self.model.commit(for_model));
        }
        self.writers.insert(self.files.len(), Twin { real, model });
        self.files.push(ids);
    }

    fn append(&mut self) {
        let Some(file) = self.pick_writer() else { return };
        let len = self.random.random_range(0..[100, 5000, 60_000][file % 3]);
        let bytes = pattern(self.random.random(), len);
        let twin = self.writers.get_mut(&file).expect("a writer");
        agree("an append", twin.real.append(&bytes), twin.model.append(&bytes));
        assert_eq!(twin.real.len(), twin.model.len());
    }

    fn sync_or_finish(&mut self) {
        let Some(file) = self.pick_writer() else { return };
        let finish = self.random.random_ratio(1, 2);
        let write_out = self.random.random_bool(0.5);
        let info = self.model.info(self.files[file].model);
        let is_table = info.is_none_or(|info| info.kind == FileKind::Table || info.sealed);
        let twin = self.writers.get_mut(&file).expect("a writer");
        if finish {
            agree("a finish", twin.real.finish(), twin.model.finish());
        } else if write_out {
            agree("a hand-over", twin.real.write_out(), twin.model.write_out());
        } else if !is_table {
            agree("a sync", twin.real.sync(), twin.model.sync());
        }
    }

    fn reopen(&mut self) {
        if self.files.is_empty() || self.writers.len() == WRITERS_MAX {
            return;
        }
        let file = self.pick_file();
        let ids = &self.files[file];
        let twin = agree("a reopen", self.real.reopen(ids.real), self.model.reopen(ids.model));
        if let Some(twin) = twin {
            self.writers.insert(file, twin);
        }
    }

    fn open(&mut self) {
        if self.files.is_empty() || self.readers.len() == READERS_MAX {
            return;
        }
        let file = self.pick_file();
        let ids = &self.files[file];
        if self.model.info(ids.model).is_some() {
            let twin = agree("an open", self.real.open(ids.real), self.model.open(ids.model));
            self.readers.extend(twin);
        }
    }

    fn read(&mut self) {
        if self.readers.is_empty() {
            return;
        }
        let reader = self.random.random_range(0..self.readers.len());
        let twin = &self.readers[reader];
        let len = twin.model.len();
        let start = self.random.random_range(0..=len);
        let end = self.random.random_range(start..=len + 10);
        let twin = agree("a read", read(&*twin.real, start, end), read(&*twin.model, start, end));
        assert!(twin.is_none_or(|twin| twin.real == twin.model), "bytes {start}..{end}");
    }

    fn commit(&mut self) {
        if self.files.is_empty() {
            return;
        }
        let (mut for_real, mut for_model) = (Transaction::new(), Transaction::new());
        for _ in 0..self.random.random_range(1..5) {
            let mut pair = self.change();
            // Mostly changes that are possible: a transaction of several would hardly ever be.
            for _ in 0..20 {
                if self.is_possible(&pair.model) || self.random.random_ratio(1, 50) {
                    break;
                }
                pair = self.change();
            }
            for_real.add(pair.real);
            for_model.add(pair.model);
        }
        let what = format!("a commit of {for_real:?}");
        agree(&what, self.real.commit(for_real), self.model.commit(for_model));
        // A writer of a sealed file has nothing left to do.
        let (model, files) = (&self.model, &self.files);
        self.writers.retain(|file, _| !model.info(files[*file].model).is_some_and(|i| i.sealed));
    }

    fn change(&mut self) -> Twin<Change> {
        let file = match self.pick_writer() {
            Some(file) if self.random.random() => file,
            _ => self.pick_file(),
        };
        let text = format!("{}", self.random.random_range(0..1000));
        let name = NAMES[self.random.random_range(0..NAMES.len())].to_owned();
        let to = NAMES[self.random.random_range(0..NAMES.len())].to_owned();
        let kind = self.random.random_range(0..10);
        let trim = self.trim_range(file);
        let make = |id: FileId| match kind {
            0 if !self.is_named_writer(&name) => Change::Unlink { name: name.clone() },
            1 if !self.writers.contains_key(&file) => Change::Delete { id },
            2 if !self.is_named_writer(&to) => {
                Change::Rename { from: name.clone(), to: to.clone() }
            }
            3 => Change::Trim { id, start: trim.start, end: trim.end },
            4 => Change::Create { id, annotation: note(&text) },
            5 => Change::Annotate { id, annotation: note(&text) },
            6 => Change::Annotate { id: FileId::STORE, annotation: note(&text) },
            7 => Change::Link { name: name.clone(), id },
            _ => Change::Seal { id, annotation: note(&text) },
        };
        let ids = &self.files[file];
        Twin { real: make(ids.real), model: make(ids.model) }
    }

    /// Whether a change could succeed now, as far as that is easily told.
    fn is_possible(&self, change: &Change) -> bool {
        let is_taken = |name| self.model.lookup(name).is_some();
        match change {
            Change::Create { id, .. } => self.model.info(*id).is_none() && self.is_written(*id),
            Change::Seal { id, .. } => self.is_written(*id),
            Change::Trim { id, .. } => self.model.info(*id).is_some_and(|info| info.sealed),
            Change::Delete { id } => self.model.info(*id).is_some(),
            Change::Annotate { id, .. } => self.model.info(*id).is_some(),
            Change::Link { name, id } => self.model.info(*id).is_some() && !is_taken(name),
            Change::Unlink { name } | Change::Rename { from: name, .. } => is_taken(name),
        }
    }

    fn is_written(&self, id: FileId) -> bool {
        self.writers.keys().any(|file| self.files[*file].model == id)
    }

    /// Whether a name's file is being written: the contract leaves open the effect of its deletion.
    fn is_named_writer(&self, name: &str) -> bool {
        self.model.lookup(name).is_some_and(|id| self.is_written(id))
    }

    fn trim_range(&mut self, file: usize) -> Range<u64> {
        let info = self.model.info(self.files[file].model);
        let info = info.filter(|info| info.kind != FileKind::Log);
        let size = info.map_or(0, |info| info.size);
        let end = self.random.random_range(0..=size / BLOCK);
        let start = self.random.random_range(0..=end);
        start * BLOCK..end * BLOCK
    }

    /// Compares everything but the bytes.
    fn compare(&self) {
        let described = |info: &FileInfo, id: FileId| {
            let FileInfo { kind, size, sealed, annotation, names, .. } = info;
            format!("{id}: {kind:?} of {size} bytes, sealed {sealed}, {names:?}, {annotation:?}")
        };
        let (real, model) = (self.real.list(), self.model.list());
        let by_real: Vec<String> = real.iter().map(|info| described(info, info.id)).collect();
        let to_real = |id| self.files.iter().find(|ids| ids.model == id).expect("a file").real;
        let by_model: Vec<String> =
            model.iter().map(|info| described(info, to_real(info.id))).collect();
        assert_eq!(by_real, by_model, "the files found, and those expected");
        let own = |store: &dyn Store| store.info(FileId::STORE).map(|info| info.annotation);
        assert_eq!(own(&*self.real), own(&self.model));
        for name in NAMES {
            assert_eq!(self.real.lookup(name), self.model.lookup(name).map(to_real), "{name}");
        }
    }

    /// Compares the bytes of all files that are not trimmed.
    fn compare_bytes(&self) {
        for ids in &self.files {
            let Ok(model) = self.model.open(ids.model) else { continue };
            let Ok(expected) = read(&*model, 0, model.len()) else { continue };
            assert!(contents(&self.real, ids.real) == expected, "the bytes of file {}", ids.real);
        }
    }

    fn restart(&mut self, subject: &mut dyn Subject, end: End) {
        self.writers.clear();
        self.readers.clear();
        self.real = Arc::new(MemoryStore::new());
        match end {
            End::PowerCut(seed) => subject.power_cut(seed),
            End::Process(seed) => subject.end_process(seed),
            End::Closed => subject.reopen(),
        }
        self.real = subject.store();
        let (real, files) = (&self.real, &self.files);
        self.model = self.model.survivor(|id, kind, content| {
            let ids = files.iter().find(|ids| ids.model == id).expect("a file of the walk");
            let info = real.info(ids.real);
            let kept = info.expect("a committed file is found again").size as usize;
            let is_written = matches!(end, End::Process(_)) && kind == FileKind::Log;
            let durable = if is_written { content.written } else { content.durable };
            let possible = kept >= durable && kept <= content.bytes.len();
            let whole = kind != FileKind::Log || kept == durable || content.ends.contains(&kept);
            assert!(
                possible && whole,
                "file {}, a {kind:?}: expected {durable} bytes or an end of {:?}, found {kept}",
                ids.real,
                content.ends
            );
            kept
        });
        self.compare();
    }
}
