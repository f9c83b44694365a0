//! A directory tree as entries to store: a file is its path and its size, a symbolic link its path
//! and its target. Directories are no entries.
//!
//! - Paths are bytes, relative to the root of the tree, with `/` between names.
//! - A walk reads no contents and follows no links; the root may be a link to a directory. The size
//!   of a file is that of the moment when the walk found it.
//! - [`place`] is the way back: it turns a path into a place below a directory. It checks the text
//!   of the path and does not look at the disk, so it does not notice a directory on the way that
//!   is a link.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use terrace_env::ByteCount;

use crate::escape::Escaped;
use crate::exclude::Exclude;
use crate::failure::{Failure, Kind};

/// Something in a tree that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Path of the entry, relative to the root.
    pub(crate) path: Vec<u8>,
    /// Content of the entry.
    pub(crate) content: Content,
}

/// Content of an [`Entry`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A regular file, and its size when the tree was walked.
    File(u64),
    /// A symbolic link, and the path in it.
    Link(Vec<u8>),
}

impl Content {
    /// Bytes of contents.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::File(size) => *size,
            Self::Link(_) => 0,
        }
    }
}

/// Result of a walk.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Entries to store, in order of path within each directory.
    pub(crate) entries: Vec<Entry>,
    /// Entries that are left out.
    pub(crate) skipped: Skipped,
}

/// Entries that are left out of a store, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Skipped {
    /// Sockets, devices and pipes.
    pub(crate) special: u64,
    /// Files larger than the largest value.
    pub(crate) too_large: u64,
    /// Files, links and directories that could not be read.
    pub(crate) unreadable: u64,
    /// Entries after the limit that was asked for.
    pub(crate) beyond_limit: u64,
}

/// Treatment of a file that cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Such an entry is an error.
    Fail,
    /// A file that is too large is left out and counted, and any other one is an error.
    SkipLarge,
    /// Such an entry is left out and counted.
    Skip,
}

impl Strictness {
    /// Whether a file that cannot be read is an error.
    fn wants_all(self) -> bool {
        self != Self::Skip
    }
}

impl Tree {
    /// Walks the tree below `root`. Files above `size_max` bytes cannot be stored.
    pub(crate) fn walk(
        root: &Path,
        size_max: u64,
        strictness: Strictness,
    ) -> Result<Self, Failure> {
        let mut entries = Vec::new();
        let skipped = visit(root, &Exclude::default(), size_max, strictness, |entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(Self { entries, skipped })
    }

    /// Leaves out all files after the first `limit` bytes.
    pub(crate) fn cut(&mut self, limit: u64) {
        let mut bytes = 0;
        let mut fits = |entry: &Entry| {
            bytes += entry.content.size();
            bytes <= limit
        };
        let kept = self.entries.iter().take_while(|entry| fits(entry)).count();
        self.skipped.beyond_limit = (self.entries.len() - kept) as u64;
        self.entries.truncate(kept);
    }

    /// Bytes in all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.content.size()).sum()
    }
}

/// Walks the tree below `root`, one entry at a time, in order of path within each directory.
/// Returns the counts of entries that cannot be stored; those that `exclude` names are not counted.
/// Files above `size_max` bytes cannot be stored.
pub(crate) fn visit(
    root: &Path,
    exclude: &Exclude,
    size_max: u64,
    strictness: Strictness,
    mut take: impl FnMut(Entry) -> Result<(), Failure>,
) -> Result<Skipped, Failure> {
    check_directory(root)?;
    let mut skipped = Skipped::default();
    let walk = walkdir::WalkDir::new(root).min_depth(1).sort_by_file_name();
    for found in walk.into_iter().filter_entry(|found| !exclude.leaves_out(root, found)) {
        match found {
            Ok(found) => {
                if let Some(entry) = entry(root, &found, size_max, strictness, &mut skipped)? {
                    take(entry)?;
                }
            }
            // The root itself must be readable: otherwise it looks like an empty tree.
            Err(error) if error.depth() == 0 || strictness.wants_all() => {
                return Err(walk_failure(root, error));
            }
            Err(_) => skipped.unreadable += 1,
        }
    }
    Ok(skipped)
}

/// Refuses a root that is no directory: a walk of a file finds nothing below it, and would look
/// like that of an empty tree. The root may be a link to a directory.
pub(crate) fn check_directory(root: &Path) -> Result<(), Failure> {
    let found = fs::metadata(root).map_err(|error| Failure::path(root, &error))?;
    if found.is_dir() {
        return Ok(());
    }
    let what = if found.is_file() { "a file" } else { "a device, pipe or socket" };
    let root = root.display();
    Err(Failure::new(Kind::Failed, format!("{root}: expected a directory, found {what}")))
}

/// Entry for something that a walk found; `None` if it is not stored.
fn entry(
    root: &Path,
    found: &walkdir::DirEntry,
    size_max: u64,
    strictness: Strictness,
    skipped: &mut Skipped,
) -> Result<Option<Entry>, Failure> {
    let kind: FileType = found.file_type();
    let content = if kind.is_dir() {
        return Ok(None);
    } else if kind.is_file() {
        let size = match found.metadata() {
            Ok(metadata) => metadata.len(),
            Err(error) if strictness.wants_all() => return Err(walk_failure(root, error)),
            Err(_) => {
                skipped.unreadable += 1;
                return Ok(None);
            }
        };
        if size > size_max {
            if strictness == Strictness::Fail {
                return Err(too_large(found.path(), size, size_max));
            }
            skipped.too_large += 1;
            return Ok(None);
        }
        Content::File(size)
    } else if kind.is_symlink() {
        match fs::read_link(found.path()) {
            Ok(target) => Content::Link(target.into_os_string().into_vec()),
            Err(error) if strictness.wants_all() => {
                return Err(Failure::path(found.path(), &error));
            }
            Err(_) => {
                skipped.unreadable += 1;
                return Ok(None);
            }
        }
    } else {
        skipped.special += 1;
        return Ok(None);
    };
    let path = found.path().strip_prefix(root).unwrap_or(found.path());
    Ok(Some(Entry { path: path.as_os_str().as_bytes().to_vec(), content }))
}

/// Where an entry lies on the host, below `root`; an error if that would be anywhere else.
pub(crate) fn place(root: &Path, key: &[u8]) -> Result<PathBuf, Failure> {
    let path = Path::new(OsStr::from_bytes(key));
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    // Components are normalised: only a path that is spelled like its components names one entry.
    let plain = path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
    if key.is_empty() || key.contains(&0) || !inside || !plain {
        let key = Escaped(key);
        return Err(Failure::new(
            Kind::Failed,
            format!("expected keys that are relative paths, found `{key}`; export another space"),
        ));
    }
    Ok(root.join(path))
}

fn too_large(path: &Path, size: u64, limit: u64) -> Failure {
    let (size, limit) = (ByteCount(size).exact(), ByteCount(limit).exact());
    Failure::new(
        Kind::Failed,
        format!(
            "{}: expected files of at most {limit}, found {size}; --exclude leaves it out, and \
             --skip-large all such files; a drive formatted with --files takes files of any size \
             (`terrace fs put`)",
            path.display()
        ),
    )
}

fn walk_failure(root: &Path, error: walkdir::Error) -> Failure {
    let path = error.path().unwrap_or(root).to_path_buf();
    match error.into_io_error() {
        Some(error) => Failure::path(&path, &error),
        None => Failure::new(Kind::Failed, format!("{}: found a loop", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(tree: &Tree) -> Vec<String> {
        tree.entries.iter().map(|entry| Escaped(&entry.path).to_string()).collect()
    }

    #[test]
    fn a_tree_is_files_and_links_and_the_rest_is_counted() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/empty")).unwrap();
        fs::write(root.path().join("a/file"), "twelve bytes").unwrap();
        fs::write(root.path().join(OsStr::from_bytes(b"a/\xff")), "").unwrap();
        fs::write(root.path().join("b"), [0; 100]).unwrap();
        symlink("../nowhere", root.path().join("a/link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("s")).unwrap();

        let tree = Tree::walk(root.path(), 99, Strictness::Skip).unwrap();
        assert_eq!(names(&tree), ["a/file", "a/link", "a/\\xff"]);
        assert_eq!(tree.bytes(), 12);
        assert_eq!(tree.entries[1].content, Content::Link(b"../nowhere".to_vec()));
        assert_eq!(tree.skipped, Skipped { special: 1, too_large: 1, ..Skipped::default() });

        let failure = Tree::walk(root.path(), 99, Strictness::Fail).unwrap_err();
        assert!(failure.message.contains("at most 99 B, found 100 B; --exclude leaves it out"));
    }

    #[test]
    fn a_root_that_is_not_there_is_an_error_even_where_others_are_skipped() {
        let root = tempfile::tempdir().unwrap();
        let failure = Tree::walk(&root.path().join("gone"), 1, Strictness::Skip).unwrap_err();
        assert_eq!(failure.kind, Kind::NotFound);
    }

    /// A walk reads the names of a directory at once: a file may go before its turn comes.
    #[test]
    fn an_entry_that_goes_during_the_walk_is_left_out_or_an_error() {
        for gone in ["file", "link"] {
            let visit_while_it_goes = |strictness| {
                let root = tempfile::tempdir().unwrap();
                fs::write(root.path().join("a"), "").unwrap();
                fs::write(root.path().join("file"), "").unwrap();
                symlink("../nowhere", root.path().join("link")).unwrap();
                let mut seen = 0;
                let skipped = visit(root.path(), &Exclude::default(), 99, strictness, |entry| {
                    if entry.path == b"a" {
                        fs::remove_file(root.path().join(gone)).unwrap();
                    }
                    seen += 1;
                    Ok(())
                });
                skipped.map(|skipped| (seen, skipped))
            };
            let (seen, skipped) = visit_while_it_goes(Strictness::Skip).unwrap();
            assert_eq!(seen, 2, "without {gone}");
            assert_eq!(skipped, Skipped { unreadable: 1, ..Skipped::default() });
            let failure = visit_while_it_goes(Strictness::Fail).unwrap_err();
            assert_eq!(failure.kind, Kind::NotFound, "{gone}");
            assert!(failure.message.contains(gone), "{}", failure.message);
        }
    }

    #[test]
    fn nothing_is_written_outside_the_tree() {
        let root = Path::new("out");
        assert_eq!(place(root, b"a/b").unwrap(), Path::new("out/a/b"));
        for key in
            [&b""[..], b"/etc/passwd", b"../a", b"a/../../b", b"a//b", b"a/", b"./a", b"a\0b"]
        {
            assert!(place(root, key).is_err(), "{}", Escaped(key));
        }
    }
}
