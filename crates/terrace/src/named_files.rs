//! [`NamedFiles`]: files with names, on top of a [`Store`], for programs that were written for an
//! ordinary file system.
//!
//! The store has ids, and files that take no more bytes once they are sealed. This module adds:
//! - *Creation* under a name in use: the new file takes the name in the transaction that creates
//!   it. The old one is deleted with its last name.
//! - *Appending* to a sealed file: the bytes are copied to a new file, which then takes all names
//!   of the old one. The copy of a log is a client's file. A
//!   [`NamedWriter`](crate::fs::NamedWriter) copies when the first bytes are appended.
//! - *Truncation*: the file is sealed, its annotation gets the new length, and the blocks after
//!   that are freed. Nothing is copied. The blocks of a log are freed with its last name.
//! - *Time of modification*, in the file's annotation; the caller gives the number.
//!
//! The store below reports the length of a file before its cut: sizes, readers and lists must be
//! taken from here.
//!
//! A file that is [created](NamedFiles::create) is visible under its name at once, empty. One that
//! is [begun](NamedFiles::begin) is visible when it is published, whole.
//!
//! Threads: any. Calls may wait for the device. A call that changes the file of a name waits until
//! another call for the same name has returned, for example while a sealed file is copied. This
//! holds for the calls of one [`NamedFiles`]: two of them over one store do not know of each other.

use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileInfo, FileKind, FileReader, FileWriter, PlacementHint, Rank,
    Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, Claim, FileId};
use terrace_fs::Access;
use terrace_lsm::remembered_system;

use crate::Error;
use crate::cut_reader::CutReader;
use crate::file_room::{FileRoom, PatientWriter};
use crate::name_turns::{NameTurn, NameTurns};
use crate::named_annotation::{annotation, as_named, cut_annotation, modified};
use crate::replacement::Replacement;

/// Bytes that are copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// Facts about a new file.
#[derive(Clone, Copy, Debug)]
pub struct NewFile {
    /// Kind of the file.
    pub kind: FileKind,
    /// Hint for its placement.
    pub hint: PlacementHint,
    /// Its largest size, if that is known.
    pub size: Option<ByteCount>,
    /// Rank for its space: [`Rank::Log`] for most, [`Rank::UrgentLog`] for files without which no
    /// space can be freed.
    pub rank: Rank,
    /// The time of modification.
    pub modified: u64,
}

/// Files with names in a store.
pub struct NamedFiles {
    store: Arc<dyn Store>,
    turns: NameTurns,
    /// The engine that has the store open: its tables and logs have kinds of their own, and it can
    /// free space.
    next_to_keys: Option<FileRoom>,
}

/// An error for a name that only uncommitted files of a [`Replacement`] have.
fn check_name(name: &str) -> Result<(), StoreError> {
    if !Replacement::is_staged(name) {
        return Ok(());
    }
    let message = "expected a name without the beginning that is kept for files of a restore";
    Err(StoreError::Invalid(format!("{message}, found {name:?}")))
}

fn no_file(name: &str) -> StoreError {
    StoreError::NameNotFound(name.to_owned())
}

impl NamedFiles {
    /// Files of this store. Others may still change them: see [`claim`](Self::claim).
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, turns: NameTurns::default(), next_to_keys: None }
    }

    /// Files in a store that an engine has open. All of them are of the kind
    /// [`FileKind::Client`]: another file would be taken for the engine's.
    pub(crate) fn next_to_keys(store: Arc<dyn Store>, room: FileRoom) -> Self {
        Self { next_to_keys: Some(room), ..Self::new(store) }
    }

    /// Claims the store until the claim is dropped: no engine may use the files meanwhile. An error
    /// if another user has it ([`InUse`](crate::ErrorKind::InUse)), or if it holds keys and values
    /// ([`Invalid`](crate::ErrorKind::Invalid)).
    pub fn claim(&self, access: Access) -> Result<Claim, Error> {
        let users = self.store.users();
        let claim = match access {
            Access::ReadOnly | Access::Beside => users.claim_to_read(),
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
        let info = self.store.lookup(name).and_then(|id| self.info(id));
        info.ok_or_else(|| no_file(name))
    }

    /// Information about a file.
    #[must_use]
    pub fn info(&self, id: FileId) -> Option<FileInfo> {
        self.store.info(id).map(as_named)
    }

    /// All files, those without names included.
    #[must_use]
    pub fn all(&self) -> Vec<FileInfo> {
        self.store.list().into_iter().map(as_named).collect()
    }

    /// Bytes of the files with this level of [`PlacementHint`], without tables. A file counts once,
    /// with any number of names.
    #[must_use]
    pub fn bytes_on(&self, level: Option<u8>) -> u64 {
        let on =
            |info: &FileInfo| info.kind != FileKind::Table && info.annotation.hint.level == level;
        self.all().iter().filter(|info| on(info)).map(|info| info.size).sum()
    }

    /// Begins a file that has no name until it is published ([`publish`](Self::publish)). It is
    /// removed if its writer is dropped before, or by a power cut.
    pub fn begin(&self, file: &NewFile) -> Result<Box<dyn FileWriter>, StoreError> {
        if self.next_to_keys.is_some() && file.kind != FileKind::Client {
            let (message, kind) = ("expected a client's file next to keys", file.kind);
            return Err(StoreError::Invalid(format!("{message}, found the kind {kind:?}")));
        }
        let options = CreateOptions {
            kind: file.kind,
            hint: file.hint,
            size: file.size,
            rank: file.rank,
            reservation: None,
            group: None,
            offload: false,
            cause: Cause::Client,
        };
        let Some(room) = &self.next_to_keys else { return self.store.create(&options) };
        let writer = room.during(&mut (), |()| self.store.create(&options), |()| true)?;
        Ok(Box::new(PatientWriter::new(writer, room.clone())))
    }

    /// Gives a file a name in a transaction; another file may have the name until then.
    fn take_name(transaction: &mut Transaction, id: FileId, name: &str) {
        // A name that is never seen, because the transaction removes it again.
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

    /// Creates an empty file with this name.
    pub fn create(&self, name: &str, file: &NewFile) -> Result<Box<dyn FileWriter>, StoreError> {
        check_name(name)?;
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
        names.iter().try_for_each(|name| check_name(name))?;
        self.publish_under_any(writer, names, file, true)
    }

    /// The same for a file that may still grow. Its bytes are durable. A [table](FileKind::Table)
    /// cannot be published in this way.
    pub fn publish_open(
        &self,
        writer: &mut dyn FileWriter,
        names: &[&str],
        file: &NewFile,
    ) -> Result<(), StoreError> {
        names.iter().try_for_each(|name| check_name(name))?;
        self.publish_under_any(writer, names, file, false)
    }

    /// Publishes a file, sealed or open, also under names that no user gives.
    pub(crate) fn publish_under_any(
        &self,
        writer: &mut dyn FileWriter,
        names: &[&str],
        file: &NewFile,
        sealed: bool,
    ) -> Result<(), StoreError> {
        let mut transaction = Transaction::new();
        let annotation = annotation(file.hint, file.modified);
        if sealed {
            writer.finish()?;
            transaction.seal(writer.id(), annotation);
        } else {
            writer.sync()?;
            transaction.create(writer.id(), annotation);
        }
        let _turn = self.turns.take(names.iter().copied());
        self.commit_named(transaction, writer.id(), names)
    }

    /// Ends files that were [begun](Self::begin), and gives each of them a name, by one
    /// transaction: all of them are published, or none.
    pub fn publish_each(
        &self,
        files: &mut [(&mut dyn FileWriter, &str, &NewFile)],
    ) -> Result<(), StoreError> {
        let mut transaction = Transaction::new();
        for (writer, name, file) in &mut *files {
            check_name(name)?;
            writer.finish()?;
            transaction.seal(writer.id(), annotation(file.hint, file.modified));
            Self::take_name(&mut transaction, writer.id(), name);
        }
        let _turn = self.turns.take(files.iter().map(|(_, name, _)| *name));
        self.store.commit(transaction)
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

    /// A writer at the end of a file. A sealed file is copied at once.
    pub fn append_to(&self, name: &str) -> Result<Box<dyn FileWriter>, StoreError> {
        self.on_file_of(name, |id| self.append_to_file(id))
    }

    /// Carries out a call for the file of a name, and once more for the next one if another call
    /// has replaced it meanwhile.
    fn on_file_of<T>(
        &self,
        name: &str,
        call: impl Fn(FileId) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        loop {
            let id = self.find(name)?.id;
            match call(id) {
                Err(StoreError::NotFound(gone)) if gone == id => {}
                result => return result,
            }
        }
    }

    /// The same for a file of any name.
    pub(crate) fn append_to_file(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        let (_turn, info) = self.turn_of(id)?;
        if !info.sealed {
            return self.store.reopen(id);
        }
        let writer = self.copy(&info, FileKind::Client)?;
        let mut transaction = Transaction::new();
        let new = annotation(info.annotation.hint, modified(&info.annotation));
        transaction.create(writer.id(), new);
        let names: Vec<&str> = info.names.iter().map(String::as_str).collect();
        self.commit_named(transaction, writer.id(), &names)?;
        Ok(writer)
    }

    /// A turn for all names of a file, and its information then.
    fn turn_of(&self, id: FileId) -> Result<(NameTurn<'_>, FileInfo), StoreError> {
        let find = || self.info(id).ok_or(StoreError::NotFound(id));
        let mut info = find()?;
        loop {
            let turn = self.turns.take(info.names.iter().map(String::as_str));
            let then = find()?;
            if then.names == info.names {
                return Ok((turn, then));
            }
            drop(turn);
            info = then;
        }
    }

    /// Cuts a file to its first `size` bytes, under all its names. It is sealed then.
    pub fn truncate(&self, name: &str, size: u64) -> Result<(), StoreError> {
        self.on_file_of(name, |id| self.truncate_file(id, size))
    }

    /// The same for a file of any name.
    pub(crate) fn truncate_file(&self, id: FileId, size: u64) -> Result<(), StoreError> {
        let (_turn, info) = self.turn_of(id)?;
        if !info.sealed {
            let mut writer = self.store.reopen(id)?;
            return self.cut(Some(&mut *writer), &info, size);
        }
        if size == info.size { Ok(()) } else { self.cut(None, &info, size) }
    }

    /// Ends an open file with its first `size` bytes.
    pub(crate) fn finish_cut(
        &self,
        writer: &mut dyn FileWriter,
        hint: PlacementHint,
        size: u64,
    ) -> Result<(), StoreError> {
        let (_turn, mut info) = self.turn_of(writer.id())?;
        info.size = writer.len();
        info.annotation = Arc::new(annotation(hint, modified(&info.annotation)));
        self.cut(Some(writer), &info, size)
    }

    /// Cuts a file, whose turn the caller has; its writer, if there is one, is ended.
    fn cut(
        &self,
        writer: Option<&mut dyn FileWriter>,
        info: &FileInfo,
        size: u64,
    ) -> Result<(), StoreError> {
        let (id, found) = (info.id, info.size);
        if size > found {
            let name = info.names.first().map_or("", String::as_str);
            return Err(StoreError::Invalid(format!(
                "{name:?}: expected at least {size} bytes to keep, found a file of {found}"
            )));
        }
        let annotation = cut_annotation(&info.annotation, size);
        let mut transaction = Transaction::new();
        let end = match writer {
            Some(writer) => {
                writer.finish()?;
                transaction.seal(id, annotation);
                writer.len()
            }
            None => {
                transaction.annotate(id, annotation);
                self.store.info(id).ok_or(StoreError::NotFound(id))?.size
            }
        };
        transaction.trim(id, size, end);
        self.store.commit(transaction)
    }

    /// Changes a file's placement hint; written bytes stay in place.
    pub(crate) fn set_hint(&self, id: FileId, hint: PlacementHint) -> Result<(), StoreError> {
        let (_turn, info) = self.turn_of(id)?;
        let mut transaction = Transaction::new();
        let annotation = Annotation { hint, ..(*info.annotation).clone() };
        transaction.annotate(id, annotation);
        self.store.commit(transaction)
    }

    /// The same for the file of a name. No effect if it has that hint.
    pub fn set_hint_of(&self, name: &str, hint: PlacementHint) -> Result<(), StoreError> {
        let info = self.find(name)?;
        if info.annotation.hint == hint { Ok(()) } else { self.set_hint(info.id, hint) }
    }

    /// A new file with the bytes of another one, which are on the medium.
    fn copy(&self, from: &FileInfo, kind: FileKind) -> Result<Box<dyn FileWriter>, StoreError> {
        let size = from.size;
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
        self.open_file(self.find(name)?.id)
    }

    /// A reader of a file, whether it has a name or not.
    pub fn open_file(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        let whole = self.store.open(id)?;
        Ok(match self.info(id) {
            Some(info) if info.sealed && info.size < whole.len() => {
                Arc::new(CutReader { whole, size: info.size })
            }
            _ => whole,
        })
    }

    /// Renames a file. A file that has the new name loses it.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), StoreError> {
        check_name(to)?;
        let mut transaction = Transaction::new();
        transaction.rename(from, to);
        let _turn = self.turns.take([from, to]);
        self.store.commit(transaction)
    }

    /// Renames all files whose names begin with `from`, by one transaction. An error if one of the
    /// two prefixes begins with the other: names would be moved onto each other.
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
            check_name(&then)?;
            transaction.rename(name, then);
        }
        self.store.commit(transaction)
    }

    /// Gives a file a further name, which must be free.
    pub fn link(&self, name: &str, further: &str) -> Result<(), StoreError> {
        check_name(further)?;
        let _turn = self.turns.take([name, further]);
        let id = self.store.lookup(name).ok_or_else(|| no_file(name))?;
        let mut transaction = Transaction::new();
        transaction.link(further, id);
        self.store.commit(transaction)
    }

    /// Removes a name; the file is deleted with its last name.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        let mut transaction = Transaction::new();
        transaction.unlink(name);
        let _turn = self.turns.take([name]);
        self.store.commit(transaction)
    }

    /// Removes names, by one transaction.
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
        for info in self.all() {
            let names = info.names.iter().filter(|name| name.starts_with(prefix));
            found.extend(names.map(|name| (name.clone(), info.clone())));
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found
    }
}
