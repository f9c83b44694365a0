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
//! A file becomes visible under its name when it is created, empty. Calls may wait for the device;
//! any thread may make them.

use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileInfo, FileKind, FileReader, FileWriter, PlacementHint, Rank,
    Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId};

use crate::failure::Failure;

/// Bytes that are copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// Facts about a new file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFile {
    pub(crate) kind: FileKind,
    pub(crate) hint: PlacementHint,
    pub(crate) size: Option<ByteCount>,
    pub(crate) rank: Rank,
    pub(crate) modified: u64,
}

/// Files with names in a store.
pub(crate) struct NamedFiles(pub(crate) Arc<dyn Store>);

/// The time of modification in an annotation; 0 if there is none.
pub(crate) fn modified(annotation: &Annotation) -> u64 {
    annotation.opaque.as_slice().try_into().map_or(0, u64::from_le_bytes)
}

fn annotation(hint: PlacementHint, modified: u64) -> Annotation {
    Annotation { hint, opaque: modified.to_le_bytes().to_vec() }
}

impl NamedFiles {
    /// The file of this name.
    pub(crate) fn find(&self, name: &str) -> Result<FileInfo, Failure> {
        let info = self.0.lookup(name).and_then(|id| self.0.info(id));
        info.ok_or_else(|| Failure::no_file(name))
    }

    fn begin(&self, file: &NewFile) -> Result<Box<dyn FileWriter>, StoreError> {
        self.0.create(&CreateOptions {
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

    /// Makes an empty file and gives it the name.
    pub(crate) fn create(
        &self,
        name: &str,
        file: &NewFile,
    ) -> Result<Box<dyn FileWriter>, Failure> {
        let writer = self.begin(file)?;
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), annotation(file.hint, file.modified));
        Self::take_name(&mut transaction, writer.id(), name);
        self.0.commit(transaction)?;
        Ok(writer)
    }

    /// Ends a file: it is durable, and takes no more bytes.
    pub(crate) fn seal(
        &self,
        writer: &mut dyn FileWriter,
        hint: PlacementHint,
        modified: u64,
    ) -> Result<(), Failure> {
        writer.finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(writer.id(), annotation(hint, modified));
        Ok(self.0.commit(transaction)?)
    }

    /// A writer at the end of a file.
    pub(crate) fn append_to(&self, name: &str) -> Result<Box<dyn FileWriter>, Failure> {
        let info = self.find(name)?;
        if !info.sealed {
            return Ok(self.0.reopen(info.id)?);
        }
        let writer = self.copy(&info, info.size, FileKind::Client)?;
        let mut transaction = Transaction::new();
        transaction.create(writer.id(), (*info.annotation).clone());
        Self::take_name(&mut transaction, writer.id(), name);
        self.0.commit(transaction)?;
        Ok(writer)
    }

    /// Cuts a file to its first `size` bytes. It is sealed then.
    pub(crate) fn truncate(&self, name: &str, size: u64) -> Result<(), Failure> {
        let info = self.find(name)?;
        // Holds off other writers until the new file has the name.
        let _former = if info.sealed { None } else { Some(self.0.reopen(info.id)?) };
        if size > info.size {
            let found = info.size;
            return Err(Failure::invalid(format_args!(
                "{name:?}: expected at least {size} bytes to keep, found a file of {found}"
            )));
        }
        let kind = if info.kind == FileKind::Log { FileKind::Client } else { info.kind };
        let mut writer = self.copy(&info, size, kind)?;
        writer.finish()?;
        let mut transaction = Transaction::new();
        transaction.seal(writer.id(), (*info.annotation).clone());
        Self::take_name(&mut transaction, writer.id(), name);
        Ok(self.0.commit(transaction)?)
    }

    /// A new file with the first `size` bytes of another one, which are on the medium.
    fn copy(
        &self,
        from: &FileInfo,
        size: u64,
        kind: FileKind,
    ) -> Result<Box<dyn FileWriter>, Failure> {
        let hint = from.annotation.hint;
        let new = NewFile { kind, hint, size: None, rank: Rank::Log, modified: 0 };
        let mut writer = self.begin(&new)?;
        let reader = self.0.open(from.id)?;
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
    pub(crate) fn open(&self, name: &str) -> Result<Arc<dyn FileReader>, Failure> {
        Ok(self.0.open(self.find(name)?.id)?)
    }

    /// Gives the file of a name another one; the file that had that one loses it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        let mut transaction = Transaction::new();
        transaction.rename(from, to);
        Ok(self.0.commit(transaction)?)
    }

    /// Gives all names that begin with `from` another beginning, by one transaction.
    pub(crate) fn rename_all(&self, from: &str, to: &str) -> Result<(), Failure> {
        let mut transaction = Transaction::new();
        for (name, _) in self.list(from) {
            let then = format!("{to}{}", &name[from.len()..]);
            transaction.rename(name, then);
        }
        Ok(self.0.commit(transaction)?)
    }

    /// Gives the file of a name a further one, which must be free.
    pub(crate) fn link(&self, name: &str, further: &str) -> Result<(), Failure> {
        let id = self.0.lookup(name).ok_or_else(|| Failure::no_file(name))?;
        let mut transaction = Transaction::new();
        transaction.link(further, id);
        Ok(self.0.commit(transaction)?)
    }

    /// Takes a name away; the file goes with its last name.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Failure> {
        let mut transaction = Transaction::new();
        transaction.unlink(name);
        Ok(self.0.commit(transaction)?)
    }

    /// Files with a name that begins with `prefix`, in the order of these names.
    pub(crate) fn list(&self, prefix: &str) -> Vec<(String, FileInfo)> {
        let mut found = Vec::new();
        for info in self.0.list() {
            let names = info.names.iter().filter(|name| name.starts_with(prefix));
            found.extend(names.map(|name| (name.clone(), info.clone())));
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found
    }
}

#[cfg(test)]
mod tests {
    use terrace::MemoryStore;

    use super::*;

    const NEW: NewFile = NewFile {
        kind: FileKind::Client,
        hint: PlacementHint { level: None, stream: 0 },
        size: None,
        rank: Rank::Log,
        modified: 7,
    };

    fn files() -> NamedFiles {
        NamedFiles(Arc::new(MemoryStore::new()))
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
    }
}
