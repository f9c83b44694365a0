//! [`Copy`](struct@Copy): a copy of the project in a directory of its own.
//!
//! A file that is the same in both is not written, so that cargo sees no change in it. Files that
//! the project no longer has are removed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::workspace::Workspace;

/// The copy.
pub(super) struct Copy {
    root: PathBuf,
}

impl Copy {
    /// Brings the copy in `root` up to date.
    pub(super) fn of(workspace: &Workspace, root: PathBuf) -> anyhow::Result<Self> {
        let files = workspace.files()?;
        for file in &files {
            let bytes = std::fs::read(workspace.root().join(file))?;
            write(&root.join(file), &bytes)?;
        }
        let files: BTreeSet<_> = files.into_iter().collect();
        for file in Workspace::files_below(&root)?.iter().filter(|file| !files.contains(*file)) {
            std::fs::remove_file(root.join(file))?;
        }
        Ok(Self { root })
    }

    /// Its directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Changes a file for the time of a call.
    pub(super) fn changed<T>(
        &self,
        file: &Path,
        change: impl FnOnce(&str) -> anyhow::Result<String>,
        call: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let path = self.root.join(file);
        let before = std::fs::read_to_string(&path).with_context(|| file.display().to_string())?;
        write(&path, change(&before)?.as_bytes())?;
        let called = call();
        write(&path, before.as_bytes())?;
        called
    }
}

/// Writes a file, unless it has these bytes.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if std::fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    let failed = || format!("{}: expected to be written", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(failed)?;
    }
    std::fs::write(path, bytes).with_context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_as_before_after_the_call() {
        let folder = tempfile::tempdir().unwrap();
        let copy = Copy { root: folder.path().to_owned() };
        let (file, path) = (Path::new("src/a.rs"), folder.path().join("src/a.rs"));
        write(&path, b"right").unwrap();
        let read = || Ok(std::fs::read_to_string(&path)?);
        assert_eq!(copy.changed(file, |_| Ok("wrong".to_owned()), read).unwrap(), "wrong");
        assert_eq!(read().unwrap(), "right");
        let fails = || -> anyhow::Result<()> { anyhow::bail!("a failure") };
        let failed = copy.changed(file, |_| Ok("wrong".to_owned()), fails);
        assert_eq!(failed.unwrap_err().to_string(), "a failure");
        assert_eq!(read().unwrap(), "right");
    }

    #[test]
    fn a_file_that_has_its_bytes_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"1").unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH;
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        write(&path, b"1").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), old);
        write(&path, b"2").unwrap();
        assert_ne!(std::fs::metadata(&path).unwrap().modified().unwrap(), old);
    }
}
