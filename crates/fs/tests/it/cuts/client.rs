//! A client that creates, writes, changes and deletes files of each kind at random, and notes the
//! state that must survive a power cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, GroupOptions, PlacementGroup, PlacementHint, Rank, Store,
    StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId};
use terrace_fs::{BLOCK, Fs};

use super::facts::{Fact, Facts, Known, note, pattern};

/// A client of a mounted store.
pub(crate) struct Client {
    fs: Arc<Fs>,
    random: Random,
    known: Arc<Mutex<Known>>,
    /// Unsealed files that are written, committed or not.
    writers: BTreeMap<FileId, Open>,
    /// Those of tables and clients' files, and those of logs.
    groups: [Option<PlacementGroup>; 2],
    texts: u32,
}

struct Open {
    writer: Box<dyn FileWriter>,
    fact: Fact,
    finished: bool,
}

/// Files above which the client deletes more than it makes.
const FILES_MAX: usize = 24;
/// Writers at a time.
const WRITERS_MAX: usize = 4;

impl Client {
    /// A client that goes on from the known state.
    pub(crate) fn new(fs: Arc<Fs>, random: Random, known: Arc<Mutex<Known>>) -> Self {
        Self { fs, random, known, writers: BTreeMap::new(), groups: [None, None], texts: 0 }
    }

    /// Does something.
    pub(crate) fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..12 => self.create(),
            12..40 => self.append(),
            40..62 => self.sync(),
            62..85 => self.transaction(),
            85..88 => self.reopen(),
            88..96 => self.reclaim(),
            96..97 => drop(self.fs.roll_journal()),
            _ => self.rotate(),
        }
    }

    fn facts(&self) -> Arc<Facts> {
        Arc::clone(&self.known.lock().acked)
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("{}-{}", self.texts, self.random.random::<u32>())
    }

    fn reclaim(&mut self) {
        self.fs.reclaim_one().expect("a store that takes commits");
    }

    fn create(&mut self) {
        if self.writers.len() < WRITERS_MAX {
            let kinds = [FileKind::Table, FileKind::Table, FileKind::Log, FileKind::Client];
            let kind = kinds[self.random.random_range(0..kinds.len())];
            self.create_kind(kind);
        }
    }

    fn create_kind(&mut self, kind: FileKind) -> Option<FileId> {
        let stream = self.random.random_range(0..3);
        let level = (kind == FileKind::Table).then_some(stream as u8);
        let hint = PlacementHint { level, stream };
        let which = usize::from(kind == FileKind::Log);
        let group = self.pick_group(which, kind, hint);
        let options = CreateOptions {
            kind,
            hint,
            size: None,
            rank: Rank::Flush,
            reservation: None,
            group: group.as_ref(),
            offload: stream > 0,
            cause: Cause::Client,
        };
        let writer = self.allow_full(|client| client.fs.create(&options));
        self.groups[which] = group;
        let writer = writer?;
        let (id, seed) = (writer.id(), self.random.random());
        let fact = Fact {
            kind,
            sealed: false,
            seed,
            size: 0,
            durable: 0,
            ends: vec![0],
            text: String::new(),
            names: Vec::new(),
            trimmed: Vec::new(),
        };
        self.writers.insert(id, Open { writer, fact, finished: false });
        Some(id)
    }

    /// The group that the next file joins: the one before, a new one, or none.
    fn pick_group(
        &mut self,
        which: usize,
        kind: FileKind,
        hint: PlacementHint,
    ) -> Option<PlacementGroup> {
        match self.random.random_range(0..6) {
            0 => None,
            1 => {
                let size = ByteCount(self.random.random_range(0..600_000));
                let (rank, cause) = (Rank::Flush, Cause::Client);
                let options = GroupOptions { kind, hint, size, rank, reservation: None, cause };
                Some(self.fs.begin_group(&options).expect("a group, however full the store is"))
            }
            _ => self.groups[which].take(),
        }
    }

    /// Carries out an action that a full store may refuse; makes room when it does.
    fn allow_full<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Option<T> {
        match action(self) {
            Ok(done) => Some(done),
            Err(error) if error.is_space() => {
                self.delete_some(3);
                None
            }
            Err(error) => panic!("a store that works: {error}"),
        }
    }

    fn pick_writer(&mut self) -> Option<FileId> {
        let nth = self.random.random_range(0..self.writers.len().max(1));
        self.writers.keys().nth(nth).copied()
    }

    fn append(&mut self) {
        let Some(id) = self.pick_writer() else { return };
        let kind = self.writers[&id].fact.kind;
        let most = match (kind, self.random.random_range(0..10)) {
            (FileKind::Log, 0) => 60_000,
            (FileKind::Log, _) => 3000,
            (_, 0) => 120_000,
            _ => 20_000,
        };
        let len = self.random.random_range(0..most);
        let open = self.writers.get_mut(&id).expect("picked");
        if open.finished {
            return;
        }
        let bytes = pattern(open.fact.seed, open.fact.size, len);
        // Appended bytes may be found from the moment on in which the append starts.
        let (before, end) = (open.fact.clone(), open.fact.size + len as u64);
        open.fact.size = end;
        open.fact.ends.push(end);
        let after = open.fact.clone();
        self.amend(id, &after);
        let result = self.writers.get_mut(&id).expect("picked").writer.append(&bytes);
        if self.allow_full(|_| result).is_none() {
            // A writer that has failed in the midst of an append is of no use any more.
            if let Some(open) = self.writers.get_mut(&id) {
                open.fact = before;
                self.close(id);
            }
        }
    }

    /// Tells of a committed file that more may be found of it.
    fn amend(&self, id: FileId, fact: &Fact) {
        let mut known = self.known.lock();
        let known = &mut *known;
        for facts in [Some(&mut known.acked), known.next.as_mut()].into_iter().flatten() {
            if let Some(found) = Arc::make_mut(facts).files.get_mut(&id) {
                (found.size, found.durable) = (fact.size, fact.durable);
                found.ends.clone_from(&fact.ends);
            }
        }
    }

    fn sync(&mut self) {
        let Some(id) = self.pick_writer() else { return };
        let open = self.writers.get_mut(&id).expect("picked");
        if open.fact.kind == FileKind::Table || open.finished {
            return;
        }
        let result = open.writer.sync();
        if self.allow_full(|_| result).is_some()
            && let Some(open) = self.writers.get_mut(&id)
        {
            open.fact.durable = open.fact.size;
            let fact = open.fact.clone();
            self.amend(id, &fact);
        }
    }

    /// Drops a writer; a committed file stays, an uncommitted one is gone.
    fn close(&mut self, id: FileId) {
        self.writers.remove(&id);
    }

    fn reopen(&mut self) {
        let facts = self.facts();
        let mut unsealed = facts.files.iter().filter(|(id, fact)| {
            !fact.sealed && fact.kind != FileKind::Table && !self.writers.contains_key(id)
        });
        let Some((id, fact)) = unsealed.next_back() else { return };
        let info = self.fs.info(*id).expect("a committed file");
        match self.fs.reopen(*id) {
            Ok(writer) => {
                let mut fact = fact.clone();
                assert!(fact.durable <= info.size && info.size <= fact.size);
                fact.size = info.size;
                fact.ends.retain(|end| *end <= info.size);
                fact.ends.push(info.size);
                self.writers.insert(*id, Open { writer, fact, finished: false });
            }
            // A log whose writer failed in the midst of an append.
            Err(StoreError::WrongState { .. }) => {}
            Err(error) => panic!("reopening {id}: {error}"),
        }
    }

    fn commit(&mut self, transaction: Transaction, after: Facts) -> bool {
        self.known.lock().next = Some(Arc::new(after));
        let result = self.fs.commit(transaction);
        let mut known = self.known.lock();
        let next = known.next.take().expect("set above");
        match result {
            Ok(()) => known.acked = next,
            Err(error) => panic!("a commit that fits: {error}"),
        }
        true
    }

    /// Seals, creates, deletes, trims, annotates and links, several at a time.
    fn transaction(&mut self) {
        let mut transaction = Transaction::new();
        let mut after = (*self.facts()).clone();
        for id in self.writers.keys().copied().collect::<Vec<_>>() {
            let log = self.writers[&id].fact.kind != FileKind::Table;
            match self.random.random_range(0..4) {
                0 if log && !after.files.contains_key(&id) => {
                    self.add_create(id, &mut transaction, &mut after);
                }
                1 | 2 => self.add_seal(id, &mut transaction, &mut after),
                _ => {}
            }
        }
        let deletes = if after.files.len() > FILES_MAX { 6 } else { 2 };
        for _ in 0..self.random.random_range(0..=deletes) {
            self.add_delete(&mut transaction, &mut after);
        }
        for _ in 0..self.random.random_range(0..3) {
            self.add_change(&mut transaction, &mut after);
        }
        if !transaction.is_empty() {
            self.commit(transaction, after);
            let sealed: Vec<FileId> = self
                .writers
                .iter()
                .filter(|(_, open)| open.fact.sealed)
                .map(|(id, _)| *id)
                .collect();
            sealed.into_iter().for_each(|id| self.close(id));
        }
    }

    fn add_create(&mut self, id: FileId, transaction: &mut Transaction, after: &mut Facts) {
        let text = self.text();
        transaction.create(id, note(&text));
        let open = self.writers.get_mut(&id).expect("a writer");
        open.fact.text.clone_from(&text);
        after.files.insert(id, open.fact.clone());
    }

    fn add_seal(&mut self, id: FileId, transaction: &mut Transaction, after: &mut Facts) {
        let open = self.writers.get_mut(&id).expect("a writer");
        if !open.finished {
            let result = open.writer.finish();
            match result {
                Ok(()) => open.finished = true,
                Err(error) if error.is_space() => return,
                Err(error) => panic!("a finish: {error}"),
            }
        }
        let text = self.text();
        transaction.seal(id, note(&text));
        let open = self.writers.get_mut(&id).expect("a writer");
        (open.fact.sealed, open.fact.durable) = (true, open.fact.size);
        open.fact.text = text;
        let names = after.files.get(&id).map(|fact| fact.names.clone()).unwrap_or_default();
        after.files.insert(id, Fact { names, ..open.fact.clone() });
    }

    fn add_delete(&mut self, transaction: &mut Transaction, after: &mut Facts) {
        let written = |id: &FileId| self.writers.contains_key(id);
        let ids: Vec<FileId> = after.files.keys().filter(|id| !written(id)).copied().collect();
        if !ids.is_empty() {
            let id = ids[self.random.random_range(0..ids.len())];
            transaction.delete(id);
            after.files.remove(&id);
        }
    }

    fn add_change(&mut self, transaction: &mut Transaction, after: &mut Facts) {
        let text = self.text();
        let ids: Vec<FileId> = after.files.keys().copied().collect();
        let id = if ids.is_empty() {
            FileId::STORE
        } else {
            ids[self.random.random_range(0..ids.len())]
        };
        let Some(fact) = after.files.get_mut(&id) else {
            transaction.annotate(FileId::STORE, note(&text));
            after.text = text;
            return;
        };
        match self.random.random_range(0..4) {
            0 if fact.sealed && fact.kind != FileKind::Log && fact.size > 0 => {
                let start = self.random.random_range(0..fact.size);
                let end = self.random.random_range(start..=fact.size);
                transaction.trim(id, start, end);
                fact.trimmed.push(start..end);
            }
            1 => {
                let name = format!("names/{text}");
                transaction.link(&name, id);
                fact.names.push(name);
                fact.names.sort();
            }
            2 => {
                transaction.annotate(FileId::STORE, note(&text));
                after.text = text;
            }
            _ => {
                transaction.annotate(id, note(&text));
                if let Some(open) = self.writers.get_mut(&id) {
                    open.fact.text.clone_from(&text);
                }
                fact.text = text;
            }
        }
    }

    fn delete_some(&mut self, count: usize) {
        let mut transaction = Transaction::new();
        let mut after = (*self.facts()).clone();
        (0..count).for_each(|_| self.add_delete(&mut transaction, &mut after));
        if !transaction.is_empty() {
            self.commit(transaction, after);
        }
    }

    /// A new log takes over from an old one, in one transaction.
    fn rotate(&mut self) {
        let committed = self.facts();
        let old = self
            .writers
            .iter()
            .find(|(id, open)| open.fact.kind == FileKind::Log && committed.files.contains_key(id));
        let Some(old) = old.map(|(id, _)| *id) else { return };
        let finished = self.writers.get_mut(&old).expect("found").writer.finish();
        if self.allow_full(|_| finished).is_none() {
            return;
        }
        if let Some(open) = self.writers.get_mut(&old) {
            open.finished = true;
        }
        let Some(new) = self.create_kind(FileKind::Log) else { return };
        let mut transaction = Transaction::new();
        let mut after = (*self.facts()).clone();
        if self.random.random() {
            self.add_seal(old, &mut transaction, &mut after);
            self.add_create(new, &mut transaction, &mut after);
        } else {
            self.close(old);
            self.add_create(new, &mut transaction, &mut after);
            transaction.delete(old);
            after.files.remove(&old);
        }
        self.commit(transaction, after);
        if self.writers.get(&old).is_some_and(|open| open.fact.sealed) {
            self.close(old);
        }
        let bytes = BLOCK / 2;
        let open = self.writers.get_mut(&new).expect("just made");
        let data = pattern(open.fact.seed, 0, bytes);
        (open.fact.size, open.fact.ends) = (bytes as u64, vec![0, bytes as u64]);
        let fact = open.fact.clone();
        self.amend(new, &fact);
        let open = self.writers.get_mut(&new).expect("just made");
        let synced = open.writer.append(&data).and_then(|()| open.writer.sync());
        if self.allow_full(|_| synced).is_some()
            && let Some(open) = self.writers.get_mut(&new)
        {
            open.fact.durable = open.fact.size;
            let fact = open.fact.clone();
            self.amend(new, &fact);
        }
    }
}
