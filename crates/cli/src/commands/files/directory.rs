//! Directories of a file system that has names alone: a directory is a beginning of names that ends
//! with `/`. An empty file whose name ends with `/` marks a directory, so that it can be empty.
//!
//! - [`Found`] is the meaning of a name: a file, a directory, or nothing.
//! - [`children`] are the files and directories that lie directly in a directory.
//! - [`place`] is the name under which something arrives that is put or moved somewhere.

use terrace::fs::NamedFiles;
use terrace_env::store::FileInfo;

use crate::failure::{Failure, Kind};
use crate::output::counted;

/// Files with their names, in the order of these.
pub(super) type Named = Vec<(String, FileInfo)>;

/// Meaning of a name.
pub(super) enum Found {
    File(FileInfo),
    /// The files in it, its mark included.
    Directory(Named),
    Nothing,
}

impl Found {
    /// The meaning of a name; the empty one is the directory of all files.
    pub(super) fn of(files: &NamedFiles, name: &str) -> Self {
        if !name.ends_with('/')
            && let Ok(info) = files.find(name)
        {
            return Self::File(info);
        }
        let inside = files.list(&prefix(name));
        if inside.is_empty() && !name.is_empty() { Self::Nothing } else { Self::Directory(inside) }
    }

    /// In words.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::File(info) => format!("a file of {} bytes", info.size),
            Self::Directory(inside) => {
                format!("a directory of {}", counted(inside.len() as u64, "file", "files"))
            }
            Self::Nothing => "nothing".to_owned(),
        }
    }
}

/// The beginning of the names in a directory.
pub(super) fn prefix(directory: &str) -> String {
    if directory.is_empty() || directory.ends_with('/') {
        directory.to_owned()
    } else {
        format!("{directory}/")
    }
}

/// The part of a name after the last `/`, but for one at its end.
pub(super) fn last_part(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    &name[name.rfind('/').map_or(0, |at| at + 1)..]
}

/// Child of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Child<'a> {
    /// A file with its name.
    File(&'a str, usize),
    /// A directory: the beginning of its names, how many there are, and their bytes.
    Directory(&'a str, usize, u64),
}

/// The children of a directory, of files that all lie in it, in the order of their names. A file is
/// given by its index.
pub(super) fn children<'a>(files: &'a Named, directory: &str) -> Vec<Child<'a>> {
    let begin = prefix(directory).len();
    let mut found = Vec::new();
    for (index, (name, info)) in files.iter().enumerate() {
        // A `/` that names begin with ends no part.
        let from = begin + usize::from(begin == 0 && name.starts_with('/'));
        let Some(end) = name[from..].find('/').map(|at| from + at + 1) else {
            // The mark of the directory is no child of it.
            if name.len() > begin {
                found.push(Child::File(name, index));
            }
            continue;
        };
        let directory = &name[..end];
        // The names are in order, so those of a directory follow each other.
        match found.last_mut() {
            Some(Child::Directory(before, files, bytes)) if *before == directory => {
                *files += 1;
                *bytes += info.size;
            }
            _ => found.push(Child::Directory(directory, 1, info.size)),
        }
    }
    found
}

/// The error for a name that means nothing.
pub(super) fn missing(files: &NamedFiles, name: &str) -> Failure {
    let with_root = format!("/{name}");
    let hint = match Found::of(files, &with_root) {
        Found::Nothing => "see `fs ls`".to_owned(),
        _ => format!("did you mean `{with_root}`?"),
    };
    let message = format!("expected a file or directory `{name}`, found none; {hint}");
    Failure::new(Kind::NotFound, message)
}

/// Where something arrives that is given to a place: at the place, or, if that is a directory or
/// ends with `/`, in it under the part of its own. An error if a directory of that name would have
/// to lie in a file.
pub(super) fn place(files: &NamedFiles, to: &str, own: &str) -> Result<String, Failure> {
    let is_directory = to.ends_with('/') || matches!(Found::of(files, to), Found::Directory(_));
    let name = if is_directory { prefix(to) + last_part(own) } else { to.to_owned() };
    if last_part(&name).is_empty() || name.ends_with('/') {
        let message = format!("expected a name for the file, in UTF-8, found `{name}`");
        return Err(Failure::new(Kind::Usage, message));
    }
    for (at, _) in name.match_indices('/').filter(|(at, _)| *at > 0) {
        if files.find(&name[..at]).is_ok() {
            let above = &name[..at];
            let message = format!("{name}: expected a directory `{above}`, found a file");
            return Err(Failure::new(Kind::Failed, message));
        }
    }
    Ok(name)
}

/// An error if something is in the way, unless it is a file that may be replaced.
pub(super) fn in_the_way(files: &NamedFiles, name: &str, force: bool) -> Result<(), Failure> {
    let found = Found::of(files, name);
    let advice = match found {
        Found::Nothing => return Ok(()),
        Found::File(_) if force => return Ok(()),
        Found::File(_) => "; use --force to replace it",
        Found::Directory(_) => "",
    };
    let message = format!("{name}: expected nothing there, found {}{advice}", found.describe());
    Err(Failure::new(Kind::Failed, message))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use terrace::MemoryStore;
    use terrace::fs::NewFile;
    use terrace_env::store::{FileKind, PlacementHint, Rank};

    use super::*;

    fn with(names: &[&str]) -> NamedFiles {
        let files = NamedFiles::new(Arc::new(MemoryStore::new()));
        for name in names {
            let hint = PlacementHint::default();
            let (kind, rank) = (FileKind::Client, Rank::Log);
            let new = NewFile { kind, hint, size: None, rank, modified: 0 };
            let mut writer = files.create(name, &new).unwrap();
            let bytes: &[u8] = if name.ends_with('/') { b"" } else { b"12" };
            writer.append(bytes).unwrap();
            files.seal(&mut *writer, hint, 0).unwrap();
        }
        files
    }

    #[test]
    fn files_and_directories_lie_in_a_directory() {
        let files = with(&["/db/", "/db/1", "/db/old/2", "/db-", "a", "b/c/d"]);
        let all = files.list("");
        let top = children(&all, "");
        let expected = [
            Child::File("/db-", 0),
            Child::Directory("/db/", 3, 4),
            Child::File("a", 4),
            Child::Directory("b/", 1, 2),
        ];
        assert_eq!(top, expected);
        let inside = files.list("/db/");
        let expected = [Child::File("/db/1", 1), Child::Directory("/db/old/", 1, 2)];
        assert_eq!(children(&inside, "/db"), expected);
        assert_eq!(children(&inside, "/db/"), expected);
        assert!(children(&with(&["e/"]).list("e/"), "e").is_empty());
    }

    #[test]
    fn what_is_put_into_a_directory_keeps_its_last_part() {
        let files = with(&["/db/1", "a"]);
        for (to, expected) in
            [("x", "x"), ("x/", "x/file"), ("/db", "/db/file"), ("", "file"), ("/", "/file")]
        {
            assert_eq!(place(&files, to, "some/file").unwrap(), expected, "{to}");
        }
        assert_eq!(place(&files, "/db", "some/directory/").unwrap(), "/db/directory");
        let failure = place(&files, "a/b", "file").unwrap_err();
        assert_eq!(failure.message, "a/b: expected a directory `a`, found a file");
        assert!(place(&files, "x/", "").is_err());
        assert!(in_the_way(&files, "a", false).is_err());
        assert!(in_the_way(&files, "a", true).is_ok());
        assert!(in_the_way(&files, "/db", true).is_err());
        assert!(in_the_way(&files, "b", false).is_ok());
    }

    #[test]
    fn a_name_that_only_lacks_its_root_is_guessed() {
        let files = with(&["/db/1"]);
        assert!(missing(&files, "db/1").message.ends_with("did you mean `/db/1`?"));
        assert!(missing(&files, "db").message.ends_with("did you mean `/db`?"));
        assert!(missing(&files, "x").message.ends_with("see `fs ls`"));
    }
}
