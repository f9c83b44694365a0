//! Tells regular files from pipes, devices, directories and other things that a path can lead to.
//! To open a pipe waits for another process at its other end, perhaps for ever. So
//! [`check_regular`] comes before the opening of a file that was found by a search, or that is read
//! more than once. It follows symbolic links.

use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Refuses anything but a regular file, without opening it.
///
/// # Errors
/// Of the kind [`InvalidData`](io::ErrorKind::InvalidData), with the expected and the found kind of
/// file; or an error of the host.
pub fn check_regular(path: &Path) -> io::Result<()> {
    let found = std::fs::metadata(path)?.file_type();
    if found.is_file() {
        return Ok(());
    }
    let message = format!("expected a file, found {}", in_words(found));
    Err(io::Error::new(io::ErrorKind::InvalidData, message))
}

/// The type of a file in words: `a pipe`.
#[must_use]
pub fn in_words(kind: FileType) -> &'static str {
    match () {
        () if kind.is_file() => "a file",
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_block_device() => "a block device",
        () => "a character device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_and_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        check_regular(&root.join("Cargo.toml")).unwrap();
        for (path, found) in [(root, "a directory"), (Path::new("/dev/null"), "a character device")]
        {
            let error = check_regular(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert_eq!(error.to_string(), format!("expected a file, found {found}"));
        }
        let error = check_regular(&root.join("none")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
