//! Reads text of foreign origin, up to a limit: a device such as `/dev/zero` has no end,
//! and would take all memory.
//!
//! - [`read_file`]: the whole text of a regular file.
//! - [`read_input`]: the whole text of a file, a pipe or a device.
//! - [`read_line`]: the next line, as bytes.
//! - [`Lines`]: an iterator over lines of text.
//!
//! Text beyond the limit, or bytes other than UTF-8 where text is wanted, are an error of the kind
//! [`InvalidData`](io::ErrorKind::InvalidData), which says the expected and the found value. It
//! does not name the file or the line.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::ByteCount;
use crate::regular_file::check_regular;

/// The longest file of settings: some hundred times the largest in the project.
pub const SETTINGS_MAX: ByteCount = ByteCount::mib(4);

/// Reads a regular file of at most `max` bytes; anything else is refused, unopened.
pub fn read_file(path: &Path, max: ByteCount) -> io::Result<String> {
    check_regular(path)?;
    read_input(path, max)
}

/// Reads at most `max` bytes of a path that a user has named. Waits for the writer of a named pipe.
pub fn read_input(path: &Path, max: ByteCount) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max.0.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max.0 {
        return Err(wrong(&format!("expected at most {max} of text, found more")));
    }
    in_utf8(bytes)
}

/// Reads a line, with its end, and returns its bytes; 0 at the end of the input. An error if the
/// line is longer than `max`, which its end does not count for.
pub fn read_line(input: &mut impl BufRead, max: u64, line: &mut Vec<u8>) -> io::Result<usize> {
    let read = input.take(max.saturating_add(1)).read_until(b'\n', line)?;
    if read as u64 > max && line.last() != Some(&b'\n') {
        return Err(wrong(&format!("expected a line of at most {max} bytes, found a longer one")));
    }
    Ok(read)
}

/// The lines of a text, without their ends (`\n` or `\r\n`).
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    max: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines of this input; one that is longer than `max` bytes is an error.
    pub fn new(input: R, max: u64) -> Self {
        Self { input, max }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<io::Result<String>> {
        let mut line = Vec::new();
        match read_line(&mut self.input, self.max, &mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
        if line.pop_if(|byte| *byte == b'\n').is_some() {
            line.pop_if(|byte| *byte == b'\r');
        }
        Some(in_utf8(line))
    }
}

fn in_utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
        wrong(&format!("expected text in UTF-8, found the byte {:#04x} at offset {at}", bytes[at]))
    })
}

fn wrong(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = read_input(Path::new("/dev/zero"), ByteCount::kib(1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(error.to_string(), "expected at most 1 KiB of text, found more");
        assert_eq!(read_input(Path::new("/dev/null"), ByteCount(0)).unwrap(), "");
        let error = read_file(Path::new("/dev/zero"), ByteCount::kib(1)).unwrap_err();
        assert_eq!(error.to_string(), "expected a file, found a character device");
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_and_not_cut_in_two() {
        let mut input = &b"k\tvalue\nk\tvalue"[..];
        for expected in [&b"k\tvalue\n"[..], b"k\tvalue", b""] {
            let mut line = Vec::new();
            assert_eq!(read_line(&mut input, 7, &mut line).unwrap(), expected.len());
            assert_eq!(line, expected);
        }
        let error = read_line(&mut &b"k\tva\tlue\n"[..], 7, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("at most 7 bytes"), "{error}");
    }

    #[test]
    fn lines_come_without_their_ends_and_other_bytes_than_text_are_told() {
        let read = |text: &'static [u8]| Lines::new(text, 9).collect::<io::Result<Vec<String>>>();
        assert_eq!(read(b"one\r\n\ntwo\rx\nlast").unwrap(), ["one", "", "two\rx", "last"]);
        let error = read(b"ab\xffc\n").unwrap_err().to_string();
        assert_eq!(error, "expected text in UTF-8, found the byte 0xff at offset 2");
    }
}
