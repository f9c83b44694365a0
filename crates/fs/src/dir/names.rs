//! Names of the store's files in the directory: `CURRENT`; `CURRENT.new`, until it is renamed;
//! a journal by its number, such as `JOURNAL-000002`; `LOCK`; `TAIL`; and one for each file by id
//! and kind, such as `000007.table`.
//!
//! [`parse`] gives the meaning of a name. The spelling must be exact: `7.table` and `JOURNAL-2` are
//! foreign names.

use terrace_env::FileId;
use terrace_env::store::FileKind;

use super::Files;
use crate::growing::FILE_ID_END;

/// File that a process locks as long as it has the store open.
pub(super) const LOCK: &str = "LOCK";
/// Bytes of a log that are in no frame yet.
pub(super) const TAIL: &str = "TAIL";
/// The superblock: it names the journal in force.
pub(super) const CURRENT: &str = "CURRENT";
/// The next superblock, until it is renamed.
pub(super) const CURRENT_NEW: &str = "CURRENT.new";

/// A directory that the tools of ext file systems make at their root, so that a store may lie
/// there.
pub(super) const LOST_FOUND: &str = "lost+found";

const JOURNAL: &str = "JOURNAL-";

/// Meaning of a file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Lock,
    Current,
    CurrentNew,
    Tail,
    Journal(u64),
    File(FileId, FileKind),
    /// Not one of the store's; left alone.
    Foreign,
}

/// The name of a file.
pub(super) fn file(id: FileId, kind: FileKind) -> String {
    format!("{:06}.{}", id.0, extension(kind))
}

/// A file of the directory, for errors.
pub(super) fn path(files: &dyn Files, name: &str) -> String {
    format!("{}/{name}", files.describe())
}

/// The name of a journal.
pub(super) fn journal(generation: u64) -> String {
    format!("{JOURNAL}{generation:06}")
}

/// Meaning of a name in the directory. Only the exact spelling counts: `1.log` is foreign.
pub(super) fn parse(name: &str) -> Named {
    let exact =
        |named: Named, spelled: String| if spelled == name { named } else { Named::Foreign };
    match name {
        LOCK => return Named::Lock,
        CURRENT => return Named::Current,
        CURRENT_NEW => return Named::CurrentNew,
        TAIL => return Named::Tail,
        _ => {}
    }
    if let Some(generation) = name.strip_prefix(JOURNAL).and_then(|text| text.parse().ok()) {
        return exact(Named::Journal(generation), journal(generation));
    }
    let kinds = [FileKind::Table, FileKind::Log, FileKind::Client];
    let parsed = name.split_once('.').and_then(|(number, rest)| {
        let kind = kinds.into_iter().find(|kind| extension(*kind) == rest)?;
        let id: u64 = number.parse().ok()?;
        (id < FILE_ID_END).then_some((FileId(id), kind))
    });
    match parsed {
        Some((id, kind)) => exact(Named::File(id, kind), file(id, kind)),
        None => Named::Foreign,
    }
}

fn extension(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Table => "table",
        FileKind::Log => "log",
        FileKind::Client => "client",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_given_is_recognised() {
        for id in [FileId(1), FileId(999_999), FileId(1 << 40)] {
            for kind in [FileKind::Table, FileKind::Log, FileKind::Client] {
                assert_eq!(parse(&file(id, kind)), Named::File(id, kind));
            }
        }
        assert_eq!(parse(&journal(7)), Named::Journal(7));
        assert_eq!(parse(CURRENT), Named::Current);
        assert_eq!(parse(TAIL), Named::Tail);
    }

    #[test]
    fn other_spellings_are_foreign() {
        for name in ["1.log", "+00001.log", "000001.LOG", "000001.log.gz", "JOURNAL-7", "notes"] {
            assert_eq!(parse(name), Named::Foreign, "{name}");
        }
    }
}
