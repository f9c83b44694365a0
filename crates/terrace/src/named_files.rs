//! [`NamedFiles`]: files with names, on top of a [`Store`], as programs expect them that were
//! written for an ordinary file system.
//!
//! The store has ids, and files that take no more bytes once they are sealed. This module makes of
//! it:
//! - *Creation* under a name that is taken: the new file takes the name in the transaction that
//!   makes it. The old one goes with its last name.
//! - *Appending* to a sealed file, and *truncation*: the bytes are copied to a new file, which then
//!   takes the name. If there are further names, they keep the old file. The copy is a client's
//!   file where the original was a log.
//! - *Time of modification*: eight bytes, little-endian, in the file's annotation; the caller gives
//!   the number.
//!
//! A file that is [created](NamedFiles::create) is visible under its name at once, empty. One that
//! is [begun](NamedFiles::begin) is visible when it is published, whole.
//!
//! Threads: any. Calls may wait for the device. A call that changes what a name stands for waits
//! until another one that changes the same name has returned: until a sealed file is copied, for
//! example. That holds for the calls of one [`NamedFiles`]: two of them over one store do not know
//! of each other.

use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileInfo, FileKind, FileReader, FileWriter, PlacementHint, Rank,
    Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, Claim, FileId};
use terrace_fs::Access;
use terrace_lsm::remembered_system;

use crate::Error;
use crate::name_turns::NameTurns;

/// Bytes that are copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// Facts about a new file.
#[derive(Clone, Copy, Debug)]
pub struct NewFile {
    /// How it is written.
    pub kind: FileKind,
    /// Which files it is placed with.
    pub hint: PlacementHint,
    /// Its largest size, where that is known.
    pub size: Option<ByteCount>,
    /// Whose space it takes: [`Rank::Log`] for most, [`Rank::UrgentLog`] for files without which
    /// no space can be freed.
    pub rank: Rank,
    /// The time of modification.
    pub modified: u64,
}

/// Files with names in a store.
pub struct NamedFiles {
    store: Arc<dyn Store>,
    turns: NameTurns,
}

fn no_file(name: &str) -> StoreError {
    StoreError::NameNotFound(name.to_owned())
}

/// The time of modification in an annotation; 0 if there is none.
pub fn modified(annotation: &Annotation) -> u64 {
    annotation.opaque.as_slice().try_into().map_or(0, u64::from_le_bytes)
}

fn annotation(hint: PlacementHint, modified: u64) -> Annotation {
    Annotation { hint, opaque: modified.to_le_bytes().to_vec() }
}

impl NamedFiles {
    /// Of this store. Nothing keeps others from changing its files: see [`claim`](Self::claim).
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, turns: NameTurns::default() }
    }

    /// Claims the store until the claim is dropped: no engine may use the files meanwhile. An error
    /// if somebody else uses it ([`InUse`](crate::ErrorKind::InUse)), or if it holds keys and
    /// values ([`Invalid`](crate::ErrorKind::Invalid)).
    pub fn claim(&self, access: Access) -> Result<Claim, Error> {
        let users = self.store.users();
        let claim = match access {
            Access::ReadOnly => users.claim_to_read(),
            Access::ReadWrite => users.claim_to_write(),
        };
        let claim = claim.ok_or(StoreError::InUse("the store".into()))?;
        match remembered_system(&*self.store)? {
            None => Ok(claim),
            Some(system) => Err(StoreError::Invalid(format!(
                "expected files with names, found a key-value store under the system {system}"
            ))
            .into()),
        }
    }

    /// The store below.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The file of this name.
    pub fn find(&self, name: &str) -> Result<FileInfo, StoreError> {
        let info = self.store.lookup(name).and_then(|id| self.store.info(id));
        info.ok_or_else(|| no_file(name))
    }

    /// Begins a file that nobody finds before it is published ([`publish`](Self::publish)). It is
    /// gone if its writer is dropped before, or the power is cut.
    pub fn begin(&self, file: &NewFile) -> Result<Box<dyn FileWriter>, StoreError> {
        self.store.create(&CreateOptions {
            kind: file.kind,
            hint: file.hint,
            size: file.size,
            rank: file.rank,
            reservation: None,
            group: None,
            offload: false,
            cause: Cause::Client,
        })
    }

    /// Adds to a transaction that the file gets a name, which another file may have until then.
    fn take_name(transaction: &mut Transaction, id: FileId, name: &str) {
        // A name that nobody sees, because the transaction takes it away again.
        let passing = format!("\u{1}{}", id.0);
        transaction.link(passing.clone(), id).rename(passing, name);
    }

    /// Commits a transaction that also gives the file these names. The caller has the turn for
    /// them.
    fn commit_named(
        &self,
        mut transaction: Transaction,
        id: FileId,
        names: &[&str],
    ) -> Result<(), StoreError> {
        names.iter().for_each(|name| Self::take_name(&mut transaction, id, name));
        self.store.commit(transaction)
    }

    /// Makes an empty file and gives it the name.
    pub fn create(&self, name: &str, file: &NewFile) -> Result<Box<dyn FileWriter>, StoreError> {
        let writer = self.begin(file)?;
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), annotation(file.hint, file.modified));
        let _turn = self.turns.take([name]);
        self.commit_named(transaction, writer.id(), &[name])?;
        Ok(writer)
    }

    /// Ends a file that was [begun](Self::begin), and gives it names, which other files may have
    /// until then. All of it is one transaction: a name means the old file or the whole new one.
    pub fn publish(
        &self,
        writer: &mut dyn FileWriter,
        names: &[&str],
        file: &NewFile,
    ) -> Result<(), StoreError> {
        writer.finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(writer.id(), annotation(file.hint, file.modified));
        let _turn = self.turns.take(names.iter().copied());
        self.commit_named(transaction, writer.id(), names)
    }

    /// The same for a file that can go on to grow. Its bytes are durable. A
    /// [table](FileKind::Table) cannot be published so.
    pub fn publish_open(
        &self,
        writer: &mut dyn FileWriter,
        names: &[&str],
        file: &NewFile,
    ) -> Result<(), StoreError> {
        writer.sync()?;
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), annotation(file.hint, file.modified));
        let _turn = self.turns.take(names.iter().copied());
        self.commit_named(transaction, writer.id(), names)
    }

    /// Ends a file: it is durable, and takes no more bytes.
    pub fn seal(
        &self,
        writer: &mut dyn FileWriter,
        hint: PlacementHint,
        modified: u64,
    ) -> Result<(), StoreError> {
        writer.finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(writer.id(), annotation(hint, modified));
        self.store.commit(transaction)
    }

    /// A writer at the end of a file.
    pub fn append_to(&self, name: &str) -> Result<Box<dyn FileWriter>, StoreError> {
        let _turn = self.turns.take([name]);
        let info = self.find(name)?;
        if !info.sealed {
            return self.store.reopen(info.id);
        }
        let writer = self.copy(&info, info.size, FileKind::Client)?;
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), (*info.annotation).clone());
        self.commit_named(transaction, writer.id(), &[name])?;
        Ok(writer)
    }

    /// Cuts a file to its first `size` bytes. It is sealed then.
    pub fn truncate(&self, name: &str, size: u64) -> Result<(), StoreError> {
        let _turn = self.turns.take([name]);
        let info = self.find(name)?;
        // Holds off other writers until the new file has the name.
        let _former = if info.sealed { None } else { Some(self.store.reopen(info.id)?) };
        if size > info.size {
            let found = info.size;
            return Err(StoreError::Invalid(format!(
                "{name:?}: expected at least {size} bytes to keep, found a file of {found}"
            )));
        }
        let kind = if info.kind == FileKind::Log { FileKind::Client } else { info.kind };
        let mut writer = self.copy(&info, size, kind)?;
        writer.finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(writer.id(), (*info.annotation).clone());
        self.commit_named(transaction, writer.id(), &[name])
    }

    /// A new file with the first `size` bytes of another one, which are on the medium.
    fn copy(
        &self,
        from: &FileInfo,
        size: u64,
        kind: FileKind,
    ) -> Result<Box<dyn FileWriter>, StoreError> {
        let hint = from.annotation.hint;
        let new = NewFile { kind, hint, size: None, rank: Rank::Log, modified: 0 };
        let mut writer = self.begin(&new)?;
        let reader = self.store.open(from.id)?;
        let mut buffer = Vec::new();
        let mut at = 0;
        while at < size {
            buffer.resize((size - at).min(COPY_BYTES) as usize, 0);
            reader.read_at(at, &mut buffer, Cause::Client)?;
            writer.append(&buffer)?;
            at += buffer.len() as u64;
        }
        writer.sync()?;
        Ok(writer)
    }

    /// A reader of a file.
    pub fn open(&self, name: &str) -> Result<Arc<dyn FileReader>, StoreError> {
        self.store.open(self.find(name)?.id)
    }

    /// Gives the file of a name another one; the file that had that one loses it.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let mut transaction = Transaction::new();
        transaction.rename(from, to);
        let _turn = self.turns.take([from, to]);
        self.store.commit(transaction)
    }

    /// Gives all names that begin with `from` another beginning, by one transaction. An error if
    /// one of the two begins with the other: names would be moved onto each other.
    pub fn rename_all(&self, from: &str, to: &str) -> Result<(), StoreError> {
        if from != to && (to.starts_with(from) || from.starts_with(to)) {
            return Err(StoreError::Invalid(format!(
                "expected a beginning apart from {from:?}, found {to:?}"
            )));
        }
        let _turn = self.turns.take_all();
        let mut transaction = Transaction::new();
        for (name, _) in self.list(from) {
            let then = format!("{to}{}", &name[from.len()..]);
            transaction.rename(name, then);
        }
        self.store.commit(transaction)
    }

    /// Gives the file of a name a further one, which must be free.
    pub fn link(&self, name: &str, further: &str) -> Result<(), StoreError> {
        let _turn = self.turns.take([name, further]);
        let id = self.store.lookup(name).ok_or_else(|| no_file(name))?;
        let mut transaction = Transaction::new();
        transaction.link(further, id);
        self.store.commit(transaction)
    }

    /// Takes a name away; the file goes with its last name.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        let mut transaction = Transaction::new();
        transaction.unlink(name);
        let _turn = self.turns.take([name]);
        self.store.commit(transaction)
    }

    /// Takes names away, by one transaction.
    pub fn remove_all<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), StoreError> {
        let names: Vec<&str> = names.into_iter().collect();
        let _turn = self.turns.take(names.iter().copied());
        let mut transaction = Transaction::new();
        for name in names {
            transaction.unlink(name);
        }
        self.store.commit(transaction)
    }

    /// Files with a name that begins with `prefix`, in the order of these names.
    pub fn list(&self, prefix: &str) -> Vec<(String, FileInfo)> {
        let mut found = Vec::new();
        for info in self.store.list() {
            let names = info.names.iter().filter(|name| name.starts_with(prefix));
            found.extend(names.map(|name| (name.clone(), info.clone())));
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_env::store::{Latency, MemoryStore};
    use terrace_env::{runner, test_seeds};

    use super::*;

    const NEW: NewFile = NewFile {
        kind: FileKind::Client,
        hint: PlacementHint { level: None, stream: 0 },
        size: None,
        rank: Rank::Log,
        modified: 7,
    };

    fn files() -> NamedFiles {
        NamedFiles::new(Arc::new(MemoryStore::new()))
    }

    fn write(files: &NamedFiles, name: &str, bytes: &[u8]) {
        let mut writer = files.create(name, &NEW).unwrap();
        writer.append(bytes).unwrap();
        files.seal(&mut *writer, NEW.hint, 9).unwrap();
    }

    fn read(files: &NamedFiles, name: &str) -> Vec<u8> {
        let reader = files.open(name).unwrap();
        let mut bytes = vec![0; reader.len() as usize];
        reader.read_at(0, &mut bytes, Cause::Client).unwrap();
        bytes
    }

    #[test]
    fn a_file_created_under_a_name_that_is_taken_replaces_the_other() {
        let files = files();
        write(&files, "a", b"old");
        let reader = files.open("a").unwrap();
        write(&files, "a", b"newer");
        assert_eq!(read(&files, "a"), b"newer");
        assert_eq!(reader.len(), 3, "an open reader keeps the old one");
        assert_eq!(files.list("").len(), 1);
        assert_eq!(modified(&files.find("a").unwrap().annotation), 9);
    }

    #[test]
    fn a_sealed_file_can_be_appended_to_and_cut() {
        let files = files();
        write(&files, "a", b"12345");
        files.link("a", "b").unwrap();
        let mut writer = files.append_to("a").unwrap();
        writer.append(b"67").unwrap();
        writer.sync().unwrap();
        drop(writer);
        let mut writer = files.append_to("a").unwrap();
        writer.append(b"8").unwrap();
        files.seal(&mut *writer, NEW.hint, 9).unwrap();
        assert_eq!(read(&files, "a"), b"12345678");
        assert_eq!(read(&files, "b"), b"12345", "the other name keeps the old file");
        files.truncate("a", 2).unwrap();
        assert_eq!(read(&files, "a"), b"12");
        assert!(files.truncate("a", 3).is_err());
        files.truncate("a", 0).unwrap();
        assert_eq!(read(&files, "a"), b"");
    }

    #[test]
    fn a_file_that_is_begun_is_found_when_it_is_published() {
        let files = files();
        write(&files, "a", b"old");
        for open in [false, true] {
            let mut writer = files.begin(&NEW).unwrap();
            writer.append(b"new").unwrap();
            let before = read(&files, "a");
            assert!(files.open("b").is_err() || open);
            if open {
                files.publish_open(&mut *writer, &["a", "b"], &NEW).unwrap();
                drop(writer);
                let mut writer = files.append_to("a").unwrap();
                writer.append(b"er").unwrap();
                writer.sync().unwrap();
                assert_eq!(read(&files, "b"), b"newer");
            } else {
                files.publish(&mut *writer, &["a", "b"], &NEW).unwrap();
                assert_eq!(before, b"old");
                assert_eq!((read(&files, "a"), read(&files, "b")), (b"new".into(), b"new".into()));
            }
            assert_eq!(modified(&files.find("a").unwrap().annotation), 7);
        }
        files.begin(&NEW).unwrap().append(b"lost").unwrap();
        assert_eq!(files.store().list().len(), 1);
        assert!(files.remove_all(["a", "no such file"]).is_err());
        assert_eq!(files.list("").len(), 2, "all or nothing");
        files.remove_all(["a", "b"]).unwrap();
        assert!(files.store().list().is_empty());
    }

    #[test]
    fn a_file_that_is_being_written_is_not_cut() {
        let files = files();
        let mut writer = files.create("a", &NEW).unwrap();
        writer.append(b"123").unwrap();
        assert!(files.truncate("a", 1).is_err());
        writer.append(b"4").unwrap();
        drop(writer);
    }

    #[test]
    fn names_are_moved_shared_and_taken_away() {
        let files = files();
        write(&files, "a", b"1");
        write(&files, "b", b"2");
        files.rename("a", "b").unwrap();
        assert_eq!(read(&files, "b"), b"1");
        assert!(files.open("a").is_err());
        files.link("b", "c").unwrap();
        assert!(files.link("b", "c").is_err());
        files.remove("b").unwrap();
        assert_eq!(read(&files, "c"), b"1");
        assert!(files.remove("b").is_err());
        assert!(files.rename("b", "d").is_err());
    }

    #[test]
    fn all_names_of_one_beginning_are_moved_at_once() {
        let files = files();
        for name in ["x/1", "x/2", "xy"] {
            write(&files, name, name.as_bytes());
        }
        files.rename_all("x/", "y/z/").unwrap();
        let names: Vec<String> = files.list("").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["xy", "y/z/1", "y/z/2"]);
        assert_eq!(read(&files, "y/z/2"), b"x/2");
        files.rename_all("none", "some").unwrap();
        for (from, to) in [("y/", "y/z/"), ("y/z/", "y/")] {
            assert!(files.rename_all(from, to).is_err(), "{from} to {to}");
        }
    }

    /// Appends bytes to a file, however often another writer is in the way, and seals it.
    fn append(files: &NamedFiles, bytes: &[u8]) {
        loop {
            match files.append_to("a") {
                Ok(mut writer) => {
                    writer.append(bytes).unwrap();
                    return files.seal(&mut *writer, NEW.hint, 9).unwrap();
                }
                Err(error) => assert!(matches!(error, StoreError::WrongState { .. }), "{error}"),
            }
            runner::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn calls_that_copy_one_sealed_file_at_once_lose_nothing() {
        for seed in test_seeds(20) {
            runner::simulate(seed, || {
                let latency = Latency::uniform(Duration::from_millis(3));
                let store = MemoryStore::new().with_latency(seed, latency);
                let files = Arc::new(NamedFiles::new(Arc::new(store)));
                write(&files, "a", b"0");
                let clients: Vec<_> = [b"1", b"2", b"3"]
                    .map(|bytes| {
                        let files = Arc::clone(&files);
                        runner::spawn("client", move || append(&files, bytes))
                    })
                    .into();
                clients.into_iter().for_each(|client| client.join());
                let mut found = read(&files, "a");
                found.sort_unstable();
                assert_eq!(found, b"0123", "seed {seed}");
                assert_eq!(files.store().list().len(), 1);
            });
        }
    }

    #[test]
    fn a_file_that_is_removed_while_it_is_copied_is_gone() {
        for seed in test_seeds(20) {
            runner::simulate(seed, || {
                let latency = Latency::uniform(Duration::from_millis(3));
                let store = MemoryStore::new().with_latency(seed, latency);
                let files = Arc::new(NamedFiles::new(Arc::new(store)));
                write(&files, "a", b"12345");
                let cutter = Arc::clone(&files);
                let cut = runner::spawn("client", move || cutter.truncate("a", 1));
                runner::sleep(Duration::from_millis(seed % 5));
                files.remove("a").unwrap();
                let _ = cut.join();
                assert!(files.find("a").is_err(), "seed {seed}");
            });
        }
    }
}
