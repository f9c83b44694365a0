//! The project on disk: its root, its files, and calls of cargo in it.
//!
//! The root is that of the sources that this program was built from. The files are the regular
//! files below it that ignore files such as `.gitignore` do not exclude, whether they are committed
//! or new; those in `.git` are left out. Commands of [`Workspace::cargo`] start in the root, so
//! relative paths count from there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use cargo_metadata::{Metadata, MetadataCommand};

/// The checked-out project.
pub(crate) struct Workspace {
    root: PathBuf,
    metadata: Metadata,
}

impl Workspace {
    /// The workspace that this program was built from.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(manifest)
            .no_deps()
            .exec()
            .context("expected cargo metadata to read the workspace")?;
        Ok(Self { root: metadata.workspace_root.clone().into_std_path_buf(), metadata })
    }

    /// The directory that holds everything.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's metadata of the workspace members.
    pub(crate) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The directory for the files that chores leave.
    pub(crate) fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// This toolchain's cargo, started in the root.
    pub(crate) fn cargo<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(&self.root).args(words);
        command
    }

    /// All files that git would track, relative to the root, in order.
    pub(crate) fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        Self::files_below(&self.root)
    }

    /// The same in a copy of the project.
    pub(crate) fn files_below(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let walk = ignore::WalkBuilder::new(root)
            .hidden(false)
            .parents(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .sort_by_file_name(Ord::cmp)
            .build();
        for entry in walk {
            let entry = entry?;
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                files.push(entry.path().strip_prefix(root)?.to_path_buf());
            }
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_are_part_of_the_project_and_ignored_ones_are_not() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            (".gitignore", "/target\n"),
            (".ci/run", ""),
            (".git/config", ""),
            ("target/debris", ""),
            ("src/lib.rs", ""),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let files = Workspace::files_below(root.path()).unwrap();
        let names: Vec<_> = files.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, [".ci/run", ".gitignore", "src/lib.rs"]);
    }
}
