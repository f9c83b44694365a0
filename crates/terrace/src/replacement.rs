//! [`Replacement`]: replaces all files of a file system at once, for example to restore a backup.
//!
//! 1. Each new file is written and published under a name that no user gives: its number after
//!    [`STAGED`].
//! 2. [`commit`](Replacement::commit) removes the names of all old files and gives the new ones
//!    theirs, by one transaction.
//!
//! A power cut leaves the old files before that transaction, and the new ones after it. Before it,
//! staged files may remain, too; the drop of the replacement removes them, or the next replacement.
//! Until the commit there must be space for old and new files together.
//!
//! No other program may change the file system meanwhile: take the [claim](NamedFiles::claim)
//! before.

use terrace_env::FileId;
use terrace_env::store::{FileKind, FileWriter, StoreError, Transaction};

use crate::named_files::{NamedFiles, NewFile};

/// The beginning of the names of staged files.
const STAGED: &str = "\u{1}restore/";

/// New files for a file system.
pub struct Replacement<'a> {
    files: &'a NamedFiles,
    /// Names of each staged file, by its number.
    names: Vec<Vec<String>>,
    committed: bool,
}

impl<'a> Replacement<'a> {
    /// Begins a replacement, and removes the staged files of an earlier one.
    pub fn begin(files: &'a NamedFiles) -> Result<Self, StoreError> {
        remove_staged(files)?;
        Ok(Self { files, names: Vec::new(), committed: false })
    }

    /// Whether a name is that of a staged file, of this replacement or of one that ended early.
    #[must_use]
    pub fn is_staged(name: &str) -> bool {
        name.starts_with(STAGED)
    }

    /// Names of files that the commit removes, in order.
    #[must_use]
    pub fn replaced(&self) -> Vec<String> {
        let all = self.files.list("").into_iter();
        all.map(|(name, _)| name).filter(|name| !Self::is_staged(name)).collect()
    }

    /// Adds a file of these names. `fill` writes its bytes; if it fails, the file is not added.
    /// With `sealed` the file takes no more bytes; a [table](FileKind::Table) never does. Returns
    /// its id, for reads.
    pub fn add<E: From<StoreError>>(
        &mut self,
        names: &[String],
        file: &NewFile,
        sealed: bool,
        fill: impl FnOnce(&mut dyn FileWriter) -> Result<(), E>,
    ) -> Result<FileId, E> {
        if names.is_empty() {
            let message = "expected a name for each file, found a file without one";
            return Err(StoreError::Invalid(message.into()).into());
        }
        let mut writer = self.files.begin(file)?;
        fill(&mut *writer)?;
        let staged = staged(self.names.len());
        let sealed = sealed || file.kind == FileKind::Table;
        self.files.publish_under_any(&mut *writer, &[&staged], file, sealed)?;
        self.names.push(names.to_vec());
        Ok(writer.id())
    }

    /// Replaces the old files by the new ones. An error, without a change, if two new files have
    /// the same name.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let mut transaction = Transaction::new();
        let id_of = |name: &str| self.files.store().lookup(name);
        for name in self.replaced() {
            transaction.unlink(name);
        }
        for (number, names) in self.names.iter().enumerate() {
            let staged = staged(number);
            // A rename would remove a name from another new file.
            for (id, name) in names.iter().filter_map(|name| Some((id_of(&staged)?, name))) {
                transaction.link(name, id);
            }
            transaction.unlink(staged);
        }
        self.files.store().commit(transaction)?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for Replacement<'_> {
    fn drop(&mut self) {
        if !self.committed {
            // The next replacement removes remaining files.
            let _ = remove_staged(self.files);
        }
    }
}

fn staged(number: usize) -> String {
    format!("{STAGED}{number}")
}

fn remove_staged(files: &NamedFiles) -> Result<(), StoreError> {
    let staged = files.list(STAGED);
    files.remove_all(staged.iter().map(|(name, _)| name.as_str()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use terrace_env::store::{MemoryStore, PlacementHint, Rank};

    use super::*;

    const NEW: NewFile = NewFile {
        kind: FileKind::Client,
        hint: PlacementHint { level: None, stream: 0 },
        size: None,
        rank: Rank::Log,
        modified: 7,
    };

    fn files() -> NamedFiles {
        let files = NamedFiles::new(Arc::new(MemoryStore::new()));
        for name in ["a", "b"] {
            let mut writer = files.create(name, &NEW).unwrap();
            writer.append(b"old").unwrap();
            files.seal(&mut *writer, NEW.hint, 1).unwrap();
        }
        files
    }

    fn add(replacement: &mut Replacement<'_>, names: &[&str], sealed: bool) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let fill = |writer: &mut dyn FileWriter| writer.append(b"newer");
        replacement.add(&names, &NEW, sealed, fill).unwrap();
    }

    fn names(files: &NamedFiles) -> Vec<(String, u64)> {
        files.list("").into_iter().map(|(name, info)| (name, info.size)).collect()
    }

    #[test]
    fn all_files_are_replaced_by_the_commit() {
        let files = files();
        let mut replacement = Replacement::begin(&files).unwrap();
        add(&mut replacement, &["b", "c"], true);
        add(&mut replacement, &["d"], false);
        assert_eq!(replacement.replaced(), ["a", "b"]);
        assert_eq!(files.find("b").unwrap().size, 3);
        replacement.commit().unwrap();
        let new = |name: &str| (name.to_owned(), 5);
        assert_eq!(names(&files), [new("b"), new("c"), new("d")]);
        assert_eq!(files.find("b").unwrap().id, files.find("c").unwrap().id);
        assert!(!files.find("d").unwrap().sealed && files.find("c").unwrap().sealed);
    }

    #[test]
    fn nothing_is_changed_without_the_commit_or_if_it_fails() {
        let files = files();
        let before = names(&files);
        let mut replacement = Replacement::begin(&files).unwrap();
        add(&mut replacement, &["c"], true);
        drop(replacement);
        assert_eq!(names(&files), before);
        let mut replacement = Replacement::begin(&files).unwrap();
        add(&mut replacement, &["c"], true);
        add(&mut replacement, &["c"], true);
        assert!(matches!(replacement.commit(), Err(StoreError::NameTaken(_))));
        assert_eq!(names(&files), before);
        // As after a power cut.
        let mut writer = files.begin(&NEW).unwrap();
        files.publish_under_any(&mut *writer, &[&staged(0)], &NEW, true).unwrap();
        let replacement = Replacement::begin(&files).unwrap();
        assert_eq!(names(&files), before);
        replacement.commit().unwrap();
        assert!(names(&files).is_empty(), "an empty one leaves no files");
    }
}
