//! An actor that uses the file system by seed, keeps account of its actions, and tells the promises
//! that it has got.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, FileId, Store, runner};

use super::oracle::{Account, ClientState, FileState, LogContent, Promise, annotation};
use super::oracle::{marker, owned};

/// Promises made to all clients, for the observer inside the drive.
pub(super) type Promises = Arc<Mutex<Vec<Promise>>>;

pub(super) struct Client {
    pub(super) account: Account,
    pub(super) store: Arc<dyn Store>,
    pub(super) promises: Promises,
    pub(super) random: Random,
    /// Bytes of sealed files beyond which it deletes before it creates.
    pub(super) quota: usize,
    pub(super) log: Option<Box<dyn FileWriter>>,
}

impl Client {
    fn state(&self) -> &ClientState {
        self.account.states.last().expect("the state before the first transaction")
    }

    fn promise<T>(&self, change: impl FnOnce(&mut Promise) -> T) -> T {
        change(&mut self.promises.lock()[usize::from(self.account.client)])
    }

    fn options(&mut self, kind: FileKind) -> CreateOptions<'static> {
        let stream = u16::from(self.account.client);
        let level = (kind == FileKind::Table).then(|| self.random.random_range(0..3));
        let (rank, cause) = match kind {
            FileKind::Log => (Rank::Log, Cause::Log),
            _ => (Rank::Flush, Cause::Flush),
        };
        let hint = PlacementHint { level, stream };
        CreateOptions {
            kind,
            hint,
            size: None,
            rank,
            reservation: None,
            group: None,
            offload: false,
            cause,
        }
    }

    /// Runs `transactions` transactions, with log appends and syncs between them.
    pub(super) fn run(mut self, transactions: usize) -> Result<Account, StoreError> {
        self.resume_log()?;
        for _ in 0..transactions {
            for _ in 0..self.random.random_range(0..5) {
                self.use_log()?;
            }
            match self.transact() {
                Err(error) if error.is_space() => self.make_room()?,
                other => other?,
            }
            if self.random.random_bool(0.3) {
                let micros = self.random.random_range(1..3_000);
                runner::sleep(Duration::from_micros(micros));
            }
        }
        if let Some(writer) = &mut self.log {
            writer.sync()?;
        }
        Ok(self.account)
    }

    /// Goes on with a log of an earlier life, where there is one.
    fn resume_log(&mut self) -> Result<(), StoreError> {
        let unsealed = self.state().iter().find(|(_, file)| !file.sealed).map(|(id, _)| *id);
        if let Some(id) = unsealed {
            let writer = self.store.reopen(id)?;
            assert_eq!(writer.len() as usize, self.account.logs[&id].bytes.len());
            self.log = Some(writer);
        }
        Ok(())
    }

    fn use_log(&mut self) -> Result<(), StoreError> {
        let Some(writer) = &mut self.log else { return Ok(()) };
        let id = writer.id();
        let content = self.account.logs.get_mut(&id).expect("the account of an open log");
        for _ in 0..self.random.random_range(1..6) {
            let len = match self.random.random_range(0..20) {
                0 => self.random.random_range(5_000..30_000),
                _ => self.random.random_range(1..700),
            };
            let start = content.bytes.len();
            content.bytes.resize(start + len, 0);
            self.random.fill_bytes(&mut content.bytes[start..]);
            content.boundaries.insert(content.bytes.len());
            writer.append(&content.bytes[start..])?;
        }
        if self.random.random_bool(0.5) {
            writer.sync()?;
            let synced = content.bytes.len();
            self.promise(|promise| promise.synced.insert(id, synced));
        }
        Ok(())
    }

    /// One transaction of many kinds of change at once.
    fn transact(&mut self) -> Result<(), StoreError> {
        let mut next = self.state().clone();
        let mut transaction = Transaction::new();
        let mut writers = self.seal_tables(&mut next, &mut transaction)?;
        self.delete_some(&mut next, &mut transaction);
        self.change_some(&mut next, &mut transaction);
        let opened = self.rotate_log(&mut next, &mut transaction)?;
        writers.extend(self.mark(&mut next, &mut transaction)?);
        self.commit(next, transaction)?;
        if opened.is_some() {
            self.log = opened;
        }
        Ok(())
    }

    fn commit(&mut self, next: ClientState, change: Transaction) -> Result<(), StoreError> {
        self.account.states.push(next);
        let issued = self.account.base + self.account.states.len() - 1;
        self.promise(|promise| promise.issued = issued);
        self.store.commit(change)?;
        self.promise(|promise| promise.acked = issued);
        Ok(())
    }

    /// Returns the writers, which must live until the files are sealed.
    fn seal_tables(
        &mut self,
        next: &mut ClientState,
        transaction: &mut Transaction,
    ) -> Result<Vec<Box<dyn FileWriter>>, StoreError> {
        let mut writers = Vec::new();
        for _ in 0..self.random.random_range(0..=3) {
            let options = self.options(FileKind::Table);
            let mut writer = self.store.create(&options)?;
            let len = self.random.random_range(0..40_000);
            let mut content = vec![0; len];
            self.random.fill_bytes(&mut content);
            for piece in content.chunks(self.random.random_range(1_000..20_000)) {
                writer.append(piece)?;
            }
            writer.finish()?;
            let opaque = owned(self.account.client, self.random.next_u32());
            transaction.seal(writer.id(), annotation(opaque.clone()));
            next.insert(
                writer.id(),
                FileState {
                    kind: FileKind::Table,
                    sealed: true,
                    content: Arc::new(content),
                    trimmed: Vec::new(),
                    opaque,
                    names: BTreeSet::new(),
                },
            );
            writers.push(writer);
        }
        Ok(writers)
    }

    /// Tables of the last state, which may be changed by a transaction that makes the next one.
    fn tables(&self, next: &ClientState) -> Vec<FileId> {
        let last = self.state();
        let is_old = |id: &FileId, file: &FileState| {
            file.sealed && last.contains_key(id) && file.opaque[1] != 0xff
        };
        next.iter().filter(|(id, file)| is_old(id, file)).map(|(id, _)| *id).collect()
    }

    fn delete_some(&mut self, next: &mut ClientState, transaction: &mut Transaction) {
        let mut tables = self.tables(next);
        let live: usize = next.values().map(|file| file.content.len()).sum();
        let least = if live > self.quota { 4 } else { 0 };
        for _ in 0..self.random.random_range(least..=4).min(tables.len()) {
            let id = tables.swap_remove(self.random.random_range(0..tables.len()));
            transaction.delete(id);
            next.remove(&id);
        }
    }

    fn change_some(&mut self, next: &mut ClientState, transaction: &mut Transaction) {
        let client = self.account.client;
        for id in self.tables(next) {
            let file = next.get_mut(&id).expect("a file of this state");
            let size = file.content.len() as u64;
            match self.random.random_range(0..30) {
                0 => {
                    file.opaque = owned(client, self.random.next_u32());
                    transaction.annotate(id, annotation(file.opaque.clone()));
                }
                1 if size > 0 && file.kind == FileKind::Table => {
                    let start = self.random.random_range(0..size);
                    let end = self.random.random_range(start..=size);
                    file.trimmed.push(start..end);
                    transaction.trim(id, start, end);
                }
                2 => {
                    let name = format!("client{client}/{}", self.random.next_u32());
                    transaction.link(name.clone(), id);
                    file.names.insert(name);
                }
                3 if !file.names.is_empty() => {
                    let from = file.names.pop_first().expect("a name");
                    let to = format!("client{client}/{}", self.random.next_u32());
                    transaction.rename(from, to.clone());
                    file.names.insert(to);
                }
                4 if file.names.len() > 1 => {
                    transaction.unlink(file.names.pop_last().expect("a name"));
                }
                _ => {}
            }
        }
    }

    /// Now and then seals the log and starts another in the same transaction, and deletes old ones.
    fn rotate_log(
        &mut self,
        next: &mut ClientState,
        transaction: &mut Transaction,
    ) -> Result<Option<Box<dyn FileWriter>>, StoreError> {
        if self.log.is_some() && !self.random.random_bool(0.2) {
            return Ok(None);
        }
        let client = self.account.client;
        if let Some(old) = &mut self.log {
            old.finish()?;
            let opaque = owned(client, self.random.next_u32());
            transaction.seal(old.id(), annotation(opaque.clone()));
            let file = next.get_mut(&old.id()).expect("the state of an open log");
            file.sealed = true;
            file.opaque = opaque;
            file.content = Arc::new(self.account.logs[&old.id()].bytes.clone());
        }
        let options = self.options(FileKind::Log);
        let writer = self.store.create(&options)?;
        let opaque = owned(client, self.random.next_u32());
        transaction.create(writer.id(), annotation(opaque.clone()));
        let content = LogContent { bytes: Vec::new(), boundaries: BTreeSet::from([0]) };
        self.account.logs.insert(writer.id(), content);
        next.insert(
            writer.id(),
            FileState {
                kind: FileKind::Log,
                sealed: false,
                content: Arc::default(),
                trimmed: Vec::new(),
                opaque,
                names: BTreeSet::new(),
            },
        );
        Ok(Some(writer))
    }

    /// Writes the transaction's number into the marker's annotation.
    fn mark(
        &mut self,
        next: &mut ClientState,
        transaction: &mut Transaction,
    ) -> Result<Option<Box<dyn FileWriter>>, StoreError> {
        let number = self.account.base + self.account.states.len();
        let opaque = marker(self.account.client, number);
        if let Some((id, file)) = next.iter_mut().find(|(_, file)| file.opaque[1] == 0xff) {
            file.opaque = opaque.clone();
            transaction.annotate(*id, annotation(opaque));
            return Ok(None);
        }
        let options = self.options(FileKind::Table);
        let mut writer = self.store.create(&options)?;
        writer.finish()?;
        transaction.seal(writer.id(), annotation(opaque.clone()));
        next.insert(
            writer.id(),
            FileState {
                kind: FileKind::Table,
                sealed: true,
                content: Arc::default(),
                trimmed: Vec::new(),
                opaque,
                names: BTreeSet::new(),
            },
        );
        Ok(Some(writer))
    }

    /// Deletes half of the tables, when the drive is full.
    fn make_room(&mut self) -> Result<(), StoreError> {
        let mut next = self.state().clone();
        let mut transaction = Transaction::new();
        for id in self.tables(&next).into_iter().step_by(2) {
            transaction.delete(id);
            next.remove(&id);
        }
        let _writer = self.mark(&mut next, &mut transaction)?;
        self.commit(next, transaction)
    }
}
