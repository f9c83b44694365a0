//! A client that uses all calls of the store, and knows the states that are possible after a crash.
//!
//! It keeps the acknowledged state and, while a transaction is in flight, also the state after the
//! transaction. After a crash the store must have one of the two, and of each unsealed file a
//! possible prefix.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{
    Annotation, CreateOptions, FileKind, FileWriter, PlacementHint, Rank, StoreError, Transaction,
};
use terrace_env::{Cause, FileId, Store};

/// Expected state of a file.
#[derive(Clone, Debug)]
struct Known {
    kind: FileKind,
    sealed: bool,
    note: u8,
    names: BTreeSet<String>,
    bytes: Vec<u8>,
    /// Number of bytes that must survive a power cut.
    durable: usize,
    /// Number of bytes that must survive the end of a process, until a power cut.
    written: usize,
    /// Ends of the appends.
    ends: Vec<usize>,
    /// Blocks from the front that were trimmed.
    trimmed: usize,
}

/// All files, and the store's own annotation.
#[derive(Clone, Debug, Default)]
struct World {
    files: BTreeMap<FileId, Known>,
    note: Vec<u8>,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Client {
    known: World,
    /// State that holds if the transaction in flight takes effect.
    next: Option<World>,
    writers: BTreeMap<FileId, Box<dyn FileWriter>>,
}

fn note(value: u8) -> Annotation {
    Annotation { opaque: vec![value], ..Annotation::default() }
}

fn bytes(random: &mut Random, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; random.random_range(0..=most)];
    random.fill_bytes(&mut bytes);
    bytes
}

impl Client {
    /// Takes `steps` steps, or fewer if the store returns an error.
    pub(super) fn work(
        &mut self,
        store: &Arc<dyn Store>,
        random: &mut Random,
        steps: usize,
    ) -> Result<(), StoreError> {
        for _ in 0..steps {
            self.step(store, random)?;
        }
        Ok(())
    }

    /// The process is gone, and its writers with it. If the power is gone too, so may be bytes that
    /// were not synced.
    pub(super) fn dies(&mut self, power_cut: bool) {
        self.writers.clear();
        if power_cut {
            let worlds = [Some(&mut self.known), self.next.as_mut()].into_iter().flatten();
            worlds.flat_map(|world| world.files.values_mut()).for_each(|file| file.written = 0);
        }
    }

    fn step(&mut self, store: &Arc<dyn Store>, random: &mut Random) -> Result<(), StoreError> {
        match random.random_range(0..12) {
            0 | 1 => self.replace(store, random),
            2 => self.start(store, random, FileKind::Log),
            3 => self.start(store, random, FileKind::Client),
            4..8 => self.append(store, random),
            8 => self.rename(store, random),
            9 => self.trim(store, random),
            10 => self.seal(store, random),
            _ => self.annotate(store, random),
        }
    }

    fn commit(
        &mut self,
        store: &Arc<dyn Store>,
        transaction: Transaction,
        change: impl FnOnce(&mut World),
    ) -> Result<(), StoreError> {
        let mut next = self.known.clone();
        change(&mut next);
        self.next = Some(next);
        store.commit(transaction)?;
        self.known = self.next.take().expect("set above");
        Ok(())
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        kind: FileKind,
    ) -> Result<Box<dyn FileWriter>, StoreError> {
        let (hint, rank, cause) = (PlacementHint::default(), Rank::Log, Cause::Client);
        store.create(&CreateOptions {
            kind,
            hint,
            size: None,
            rank,
            reservation: None,
            group: None,
            offload: false,
            cause,
        })
    }

    fn any(&self, random: &mut Random, which: impl Fn(&Known) -> bool) -> Option<FileId> {
        let all = self.known.files.iter().filter(|(_, file)| which(file));
        let all: Vec<FileId> = all.map(|(id, _)| *id).collect();
        (!all.is_empty()).then(|| all[random.random_range(0..all.len())])
    }

    /// Writes two tables and seals them in the transaction that deletes another file.
    fn replace(&mut self, store: &Arc<dyn Store>, random: &mut Random) -> Result<(), StoreError> {
        let mut transaction = Transaction::new();
        let mut fresh = BTreeMap::new();
        let mut writers = Vec::new();
        for _ in 0..2 {
            let mut writer = self.create(store, FileKind::Table)?;
            let (content, value) = (bytes(random, 20_000), random.random());
            writer.append(&content)?;
            writer.finish()?;
            transaction
                .seal(writer.id(), note(value))
                .link(format!("t{}", writer.id()), writer.id());
            fresh.insert(
                writer.id(),
                Known {
                    kind: FileKind::Table,
                    sealed: true,
                    note: value,
                    names: [format!("t{}", writer.id())].into(),
                    durable: content.len(),
                    written: 0,
                    bytes: content,
                    ends: Vec::new(),
                    trimmed: 0,
                },
            );
            writers.push(writer);
        }
        let old = self.any(random, |file| file.sealed).filter(|_| self.known.files.len() > 6);
        if let Some(old) = old {
            transaction.delete(old);
        }
        self.commit(store, transaction, |world| {
            world.files.extend(fresh);
            if let Some(old) = old {
                world.files.remove(&old);
            }
        })
    }

    /// Creates an unsealed file.
    fn start(
        &mut self,
        store: &Arc<dyn Store>,
        random: &mut Random,
        kind: FileKind,
    ) -> Result<(), StoreError> {
        let writer = self.create(store, kind)?;
        let (id, value) = (writer.id(), random.random());
        let mut transaction = Transaction::new();
        transaction.create(id, note(value));
        self.commit(store, transaction, |world| {
            let (bytes, names, ends) = (Vec::new(), BTreeSet::new(), vec![0]);
            let (sealed, durable, written, trimmed) = (false, 0, 0, 0);
            world.files.insert(
                id,
                Known { kind, sealed, note: value, names, bytes, durable, written, ends, trimmed },
            );
        })?;
        self.writers.insert(id, writer);
        Ok(())
    }

    /// Appends a few times to an unsealed file, and writes it out or syncs it, or not.
    fn append(&mut self, store: &Arc<dyn Store>, random: &mut Random) -> Result<(), StoreError> {
        let Some(id) = self.any(random, |file| !file.sealed) else { return Ok(()) };
        let writer = match self.writers.entry(id) {
            Entry::Occupied(writer) => writer.into_mut(),
            Entry::Vacant(place) => place.insert(store.reopen(id)?),
        };
        for _ in 0..random.random_range(1..4) {
            let large = random.random_ratio(1, 8);
            let content = bytes(random, if large { 300_000 } else { 3_000 });
            let file = self.known.files.get_mut(&id).expect("a known file");
            file.bytes.extend_from_slice(&content);
            file.ends.push(file.bytes.len());
            writer.append(&content)?;
            if random.random() {
                writer.write_out()?;
                if file.kind == FileKind::Log {
                    file.written = file.bytes.len();
                }
            }
        }
        if random.random() {
            writer.sync()?;
            let file = self.known.files.get_mut(&id).expect("a known file");
            file.durable = file.bytes.len();
        }
        Ok(())
    }

    /// Ends an unsealed file.
    fn seal(&mut self, store: &Arc<dyn Store>, random: &mut Random) -> Result<(), StoreError> {
        let writers = &self.writers;
        let written: Vec<FileId> = writers.keys().copied().collect();
        if written.len() < 3 {
            return Ok(());
        }
        let id = written[random.random_range(0..written.len())];
        let value = random.random();
        self.writers.get_mut(&id).expect("a writer").finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(id, note(value));
        self.commit(store, transaction, |world| {
            let file = world.files.get_mut(&id).expect("a known file");
            (file.sealed, file.note, file.durable) = (true, value, file.bytes.len());
        })?;
        self.writers.remove(&id);
        Ok(())
    }

    fn rename(&mut self, store: &Arc<dyn Store>, random: &mut Random) -> Result<(), StoreError> {
        let Some(id) = self.any(random, |file| !file.names.is_empty()) else { return Ok(()) };
        let from = self.known.files[&id].names.first().expect("a name").clone();
        let to = format!("n{}", random.random_range(0..4));
        if from == to {
            return Ok(());
        }
        let mut transaction = Transaction::new();
        transaction.rename(&from, &to);
        self.commit(store, transaction, |world| {
            for file in world.files.values_mut() {
                file.names.remove(&to);
            }
            let file = world.files.get_mut(&id).expect("a known file");
            file.names.remove(&from);
            file.names.insert(to);
            // All sealed tables here have had a name: a table without a name is deleted.
            world.files.retain(|_, file| file.kind != FileKind::Table || !file.names.is_empty());
        })
    }

    fn trim(&mut self, store: &Arc<dyn Store>, random: &mut Random) -> Result<(), StoreError> {
        let Some(id) = self.any(random, |file| file.kind == FileKind::Table) else { return Ok(()) };
        let blocks = random.random_range(0..=self.known.files[&id].bytes.len() / 4096);
        let mut transaction = Transaction::new();
        transaction.trim(id, 0, blocks as u64 * 4096).annotate(id, note(blocks as u8));
        self.commit(store, transaction, |world| {
            let file = world.files.get_mut(&id).expect("a known file");
            file.trimmed = file.trimmed.max(blocks);
            file.note = blocks as u8;
        })
    }

    /// Changes the store's own annotation; large ones make the journal roll.
    fn annotate(&mut self, store: &Arc<dyn Store>, random: &mut Random) -> Result<(), StoreError> {
        let opaque = bytes(random, 200_000);
        let mut transaction = Transaction::new();
        let annotation = Annotation { opaque: opaque.clone(), ..Annotation::default() };
        transaction.annotate(FileId::STORE, annotation);
        self.commit(store, transaction, |world| world.note = opaque)
    }

    /// Checks the state that was found, and goes on from it.
    ///
    /// # Panics
    /// If the state is neither the acknowledged one nor the one after the transaction in flight.
    pub(super) fn check(&mut self, store: &Arc<dyn Store>) {
        let candidates: Vec<World> =
            [Some(self.known.clone()), self.next.take()].into_iter().flatten().collect();
        let wrong: Vec<String> = candidates.iter().filter_map(|w| w.difference(store)).collect();
        assert!(wrong.len() < candidates.len(), "no possible state: {wrong:#?}");
        let found = candidates.into_iter().find(|world| world.difference(store).is_none());
        self.known = found.expect("one fits");
        for (id, file) in self.known.files.iter_mut().filter(|(_, file)| !file.sealed) {
            let size = store.info(*id).expect("a file that was compared").size as usize;
            file.bytes.truncate(size);
            file.ends.retain(|end| *end <= size);
            // It was found, so it must not be lost again.
            file.durable = size;
        }
    }
}

impl World {
    /// First difference between the store and this world.
    fn difference(&self, store: &Arc<dyn Store>) -> Option<String> {
        let found = store.list();
        let ids: Vec<FileId> = found.iter().map(|info| info.id).collect();
        let expected: Vec<FileId> = self.files.keys().copied().collect();
        if ids != expected {
            return Some(format!("files {ids:?} instead of {expected:?}"));
        }
        let own = store.info(FileId::STORE).expect("the store's own annotation");
        if own.annotation.opaque != self.note {
            return Some("another annotation of the store".to_owned());
        }
        for (info, file) in found.iter().zip(self.files.values()) {
            let id = info.id;
            let names: BTreeSet<String> = info.names.iter().cloned().collect();
            let same = (info.kind, info.sealed, &names) == (file.kind, file.sealed, &file.names);
            if !same || info.annotation.opaque != [file.note] {
                return Some(format!("{info:?} instead of {file:?}"));
            }
            let size = info.size as usize;
            let possible = if file.sealed {
                size == file.bytes.len()
            } else {
                let cut = file.kind != FileKind::Log || file.ends.contains(&size);
                size >= file.durable.max(file.written) && size <= file.bytes.len() && cut
            };
            if !possible {
                let least = (file.durable, file.written);
                return Some(format!("file {id} of {size} bytes, at least {least:?}"));
            }
            let start = (file.trimmed * 4096).min(size);
            let mut bytes = vec![0; size - start];
            let reader = store.open(id).expect("a file that is listed opens");
            if let Err(error) = reader.read_at(start as u64, &mut bytes, Cause::Read) {
                return Some(format!("file {id}: {error}"));
            }
            assert!(bytes == file.bytes[start..size], "file {id}: wrong data");
        }
        None
    }
}
