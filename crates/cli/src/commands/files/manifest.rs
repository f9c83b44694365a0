//! [`Manifest`]: the list of the files in a backup, the file [`NAME`] of its directory. It is text,
//! a JSON object a line:
//!
//! 1. [`Head`]: the version of the list, how many files there are, and their bytes.
//! 2. [`Entry`], one for each file: its names on the drive, where its bytes are in the backup, and
//!    the values that a restore needs. A file without bytes may have no place.
//! 3. [`Tail`]: the checksum of all lines before.
//!
//! All checksums are XXH3 of 128 bits, as 32 hexadecimal digits. They find damage, but not a
//! deliberate change of a backup. [`Manifest::read`] refuses places outside of the backup.

use std::io::ErrorKind;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use terrace::ByteCount;
use terrace_env::store::FileKind;
use terrace_env::text::read_file;
use xxhash_rust::xxh3::xxh3_128;

use crate::failure::{Failure, Kind};

/// The name of the list in the directory of a backup.
pub(super) const NAME: &str = "manifest.jsonl";

/// The longest list that is read, which is in memory as a whole: that of some million files.
const TEXT_MAX: ByteCount = ByteCount::gib(1);

/// The version that is written and understood.
const VERSION: u32 = 1;

/// The first line of a list.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    terrace_backup: u32,
    files: u64,
    bytes: ByteCount,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Names of the file on the drive, at least one.
    pub(super) names: Vec<String>,
    /// Path of the file's bytes in the directory of the backup; `None` if it has none.
    pub(super) path: Option<String>,
    pub(super) size: u64,
    pub(super) kind: FileKind,
    /// Whether it takes no more bytes.
    pub(super) sealed: bool,
    /// The hint for placement: the level of a store, for a file with names its lifetime less 1.
    pub(super) level: Option<u8>,
    pub(super) stream: u16,
    pub(super) modified: u64,
    /// The checksum of its bytes.
    pub(super) xxh3_128: String,
}

/// The last line of a list.
#[derive(Debug, Serialize, Deserialize)]
struct Tail {
    xxh3_128: String,
}

/// A checksum in digits.
pub(super) fn digits(checksum: u128) -> String {
    format!("{checksum:032x}")
}

/// List of the files in a backup.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub(super) entries: Vec<Entry>,
}

impl Manifest {
    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.size))
    }

    /// The list as its file has it.
    pub(super) fn text(&self) -> Result<String, Failure> {
        let head = Head {
            terrace_backup: VERSION,
            files: self.entries.len() as u64,
            bytes: ByteCount(self.bytes()),
        };
        let mut text = line(&head)?;
        for entry in &self.entries {
            text += &line(entry)?;
        }
        let tail = Tail { xxh3_128: digits(xxh3_128(text.as_bytes())) };
        Ok(text + &line(&tail)?)
    }

    /// Reads the list of a backup.
    pub(super) fn read(backup: &Path) -> Result<Self, Failure> {
        let path = backup.join(NAME);
        let text = read_file(&path, TEXT_MAX).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => {
                Failure { kind: Kind::Corruption, ..Failure::path(&path, &error) }
            }
            _ => Failure::path(&path, &error),
        })?;
        Self::parse(text.as_bytes()).map_err(|failure| failure.while_doing(path.display()))
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        let damaged = |what: String| Failure::new(Kind::Corruption, what);
        let text = std::str::from_utf8(bytes)
            .map_err(|error| damaged(format!("expected UTF-8 text, found other bytes: {error}")))?;
        let mut lines = text.lines();
        let head: Head = object(lines.next(), 1)?;
        if head.terrace_backup != VERSION {
            let found = head.terrace_backup;
            let message = format!("expected a backup of version {VERSION}, found version {found}");
            return Err(Failure::new(Kind::Failed, message));
        }
        let last = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        let tail: Tail = object(text[last..].lines().next(), text.lines().count())?;
        let found = digits(xxh3_128(&bytes[..last]));
        if tail.xxh3_128 != found {
            let expected = tail.xxh3_128;
            return Err(damaged(format!("expected lines of checksum {expected}, found {found}")));
        }
        let mut entries = Vec::new();
        for (index, line) in text[..last].lines().enumerate().skip(1) {
            let entry: Entry = object(Some(line), index + 1)?;
            check(&entry).map_err(|message| damaged(format!("line {}: {message}", index + 1)))?;
            entries.push(entry);
        }
        let manifest = Self { entries };
        let found = (manifest.entries.len() as u64, manifest.bytes());
        if found != (head.files, head.bytes.0) {
            let (files, bytes) = found;
            return Err(damaged(format!(
                "expected {} files of {} bytes, found {files} of {bytes}",
                head.files, head.bytes.0
            )));
        }
        Ok(manifest)
    }
}

fn line(object: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(object);
    let text = text.map_err(|error| Failure::new(Kind::Failed, format!("the list: {error}")))?;
    Ok(text + "\n")
}

fn object<'a, T: Deserialize<'a>>(line: Option<&'a str>, number: usize) -> Result<T, Failure> {
    serde_json::from_str(line.unwrap_or_default()).map_err(|error| {
        let message = format!("line {number}: expected an object of a backup, found none: {error}");
        Failure::new(Kind::Corruption, message)
    })
}

/// Refuses an entry that no backup has.
fn check(entry: &Entry) -> Result<(), String> {
    if entry.names.is_empty() {
        return Err("expected a file with a name, found one without".to_owned());
    }
    let Some(path) = &entry.path else {
        return if entry.size == 0 {
            Ok(())
        } else {
            Err(format!("expected a place of {} bytes, found none", entry.size))
        };
    };
    if path.is_empty()
        || !Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
    {
        return Err(format!("expected a place in the backup, found {path:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let entry = Entry {
            names: vec!["/db/1".into(), "/copy/1".into()],
            path: Some("files/db/1".into()),
            size: 5,
            kind: FileKind::Table,
            sealed: true,
            level: Some(2),
            stream: 0,
            modified: 7,
            xxh3_128: digits(1),
        };
        let empty = Entry { names: vec!["/db/".into()], path: None, size: 0, ..entry.clone() };
        Manifest { entries: vec![entry, empty] }
    }

    #[test]
    fn a_list_is_read_back() {
        let text = manifest().text().unwrap();
        assert_eq!(Manifest::parse(text.as_bytes()).unwrap().entries, manifest().entries);
        let none = Manifest::default().text().unwrap();
        assert!(Manifest::parse(none.as_bytes()).unwrap().entries.is_empty());
    }

    #[test]
    fn damage_at_any_byte_is_found() {
        let text = manifest().text().unwrap();
        for at in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let failure = Manifest::parse(&bytes).expect_err("a byte was changed");
            // A head of another version is not damage.
            assert!(matches!(failure.kind, Kind::Corruption | Kind::Failed), "{at}");
            assert!(Manifest::parse(&text.as_bytes()[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_place_outside_of_the_backup_is_refused() {
        for place in ["", "/etc/passwd", "../a", "files/../../a"] {
            let mut manifest = manifest();
            manifest.entries[0].path = Some(place.into());
            let text = manifest.text().unwrap();
            let failure = Manifest::parse(text.as_bytes()).unwrap_err();
            assert!(failure.message.starts_with("line 2: expected a place"), "{}", failure.message);
        }
    }
}
