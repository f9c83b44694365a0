//! [`Loader`]: puts the files and symbolic links of a directory tree into a store, in batches.
//!
//! - Files go to one key space, and links to another one, whose name [`links_of`] makes from the
//!   name of the first.
//! - A path is a file, a link or a directory, so that a stored tree can be exported. A file that
//!   takes the place of a stored link deletes the link, in the same batch, and the other way round.
//!   If a file or link takes the place of a stored directory, all entries below the directory are
//!   deleted. If it lies below a stored file or link, the latter is deleted. Other stored paths
//!   that the tree does not have are left alone.
//! - [`Loader::finish`] writes the last batch. Batches are written with [`Durability::Gathered`],
//!   and are sure to be durable only when the store has been synced or closed. After an error, the
//!   batches that were written before stay.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use terrace::{Batch, Bounds, ByteCount, Db, Durability, KeySpace, VALUE_BYTES_MAX};

use crate::failure::{Failure, Kind};
use crate::tree::{Content, Entry};

/// Suffix of the name of a key space of links.
const LINKS: &str = "/links";

/// The name of the key space that holds the symbolic links of a tree whose files are in `space`.
/// A space of links has no links of its own, and is refused: its values are targets, not contents.
pub(crate) fn links_of(space: &str) -> Result<String, Failure> {
    match space.strip_suffix(LINKS) {
        None => Ok(format!("{space}{LINKS}")),
        Some(files) => Err(Failure::new(
            Kind::Usage,
            format!(
                "--space {space}: expected a key space for files, found the name of one that holds \
                 the links of `{files}`; use that, or another name"
            ),
        )),
    }
}

/// Bytes after which a batch is written: enough to share a log write among small files.
const BATCH: usize = 1 << 20;

/// Entries that were put into the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// Regular files.
    pub(crate) files: u64,
    /// Symbolic links.
    pub(crate) links: u64,
    /// Bytes of file contents.
    pub(crate) bytes: u64,
}

/// Puts entries of a tree into a store.
pub(crate) struct Loader<'a> {
    db: &'a Db,
    files: KeySpace,
    links: KeySpace,
    /// Nothing was stored there before, so that nothing is replaced.
    is_fresh: bool,
    /// The directory of the last entry: nothing is stored under its own path, nor above it.
    directory: Vec<u8>,
    batch: Batch,
    batched: usize,
    loaded: Loaded,
}

impl<'a> Loader<'a> {
    /// Files go to this key space, links to the one that [`links_of`] names.
    pub(crate) fn new(db: &'a Db, files: KeySpace) -> Result<Self, Failure> {
        let links = db.create_key_space(&links_of(files.name())?)?;
        let is_fresh = is_empty(&files, Bounds::all())? && is_empty(&links, Bounds::all())?;
        let (directory, batch, loaded) = (Vec::new(), Batch::new(), Loaded::default());
        Ok(Self { db, files, links, is_fresh, directory, batch, batched: 0, loaded })
    }

    /// Puts a file's contents, read by the caller.
    pub(crate) fn file(&mut self, path: &[u8], contents: &[u8]) -> Result<(), Failure> {
        self.loaded.files += 1;
        self.loaded.bytes += contents.len() as u64;
        let (files, links) = (self.files.clone(), self.links.clone());
        self.put(&files, &links, path, contents)
    }

    /// Puts an entry of the tree below `root`; returns the bytes of its contents.
    pub(crate) fn entry(&mut self, root: &Path, entry: &Entry) -> Result<u64, Failure> {
        match &entry.content {
            Content::File(_) => {
                let contents = read(root, &entry.path)?;
                self.file(&entry.path, &contents)?;
                Ok(contents.len() as u64)
            }
            Content::Link(target) => {
                self.loaded.links += 1;
                let (files, links) = (self.files.clone(), self.links.clone());
                self.put(&links, &files, &entry.path, target)?;
                Ok(0)
            }
        }
    }

    /// Writes the rest of the batch.
    pub(crate) fn finish(mut self) -> Result<Loaded, Failure> {
        self.write()?;
        Ok(self.loaded)
    }

    /// Puts an entry into a key space, and deletes an earlier import's entry at this path of the
    /// other one: both or neither, since one batch has both.
    fn put(
        &mut self,
        space: &KeySpace,
        other: &KeySpace,
        path: &[u8],
        value: &[u8],
    ) -> Result<(), Failure> {
        if self.batched > 0 && self.batched + path.len() + value.len() > BATCH {
            self.write()?;
        }
        if !self.is_fresh {
            self.delete(other, path)?;
            for space in [space, other] {
                self.delete_below(space, path)?;
            }
            self.delete_above(path)?;
        }
        self.batch.key_space(space).put(path, value);
        self.batched += path.len() + value.len();
        Ok(())
    }

    /// Deletes the entry at a path.
    fn delete(&mut self, space: &KeySpace, path: &[u8]) -> Result<(), Failure> {
        if space.get(path)?.is_some() {
            self.batch.key_space(space).delete(path);
            self.batched += path.len();
        }
        Ok(())
    }

    /// Deletes the entries below a path.
    fn delete_below(&mut self, space: &KeySpace, path: &[u8]) -> Result<(), Failure> {
        let below = || Bounds::prefix(&[path, b"/"].concat());
        if !is_empty(space, below())? {
            self.batch.key_space(space).delete_range(below());
            self.batched += 2 * path.len();
        }
        Ok(())
    }

    /// Deletes files and links that are stored at the path of a directory in which this path lies.
    fn delete_above(&mut self, path: &[u8]) -> Result<(), Failure> {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let ends: Vec<usize> = slashes.map(|(at, _)| at).collect();
        let directory = ends.last().map_or(&[][..], |end| &path[..*end]);
        if directory == self.directory {
            return Ok(());
        }
        for end in ends {
            for space in [self.files.clone(), self.links.clone()] {
                self.delete(&space, &path[..end])?;
            }
        }
        self.directory = directory.to_vec();
        Ok(())
    }

    fn write(&mut self) -> Result<(), Failure> {
        self.batched = 0;
        let batch = std::mem::take(&mut self.batch);
        Ok(self.db.write_with(batch, Durability::Gathered)?)
    }
}

fn is_empty(space: &KeySpace, bounds: Bounds) -> Result<bool, Failure> {
    Ok(space.scan(bounds)?.next().transpose()?.is_none())
}

/// The contents of a file of the tree below `root`. One that has grown beyond the largest value
/// since the walk is refused; some files of `/proc` and `/sys` have no end.
pub(crate) fn read(root: &Path, path: &[u8]) -> Result<Vec<u8>, Failure> {
    let path = root.join(OsStr::from_bytes(path));
    let mut contents = Vec::new();
    let read = File::open(&path)
        .and_then(|file| file.take(VALUE_BYTES_MAX as u64 + 1).read_to_end(&mut contents));
    read.map_err(|error| Failure::path(&path, &error))?;
    if contents.len() <= VALUE_BYTES_MAX {
        return Ok(contents);
    }
    let (path, limit) = (path.display(), ByteCount(VALUE_BYTES_MAX as u64).exact());
    let message = format!("{path}: expected a file of at most {limit}, found more bytes in it");
    Err(Failure::new(Kind::Failed, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_has_grown_beyond_the_largest_value_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let file = File::create(root.path().join("a")).unwrap();
        file.set_len(VALUE_BYTES_MAX as u64).unwrap();
        assert_eq!(read(root.path(), b"a").unwrap().len(), VALUE_BYTES_MAX);
        file.set_len(VALUE_BYTES_MAX as u64 + 1).unwrap();
        let message = read(root.path(), b"a").unwrap_err().message;
        assert!(
            message.ends_with("at most 67108864 B (64 MiB), found more bytes in it"),
            "{message}"
        );
    }
}
