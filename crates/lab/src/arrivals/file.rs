//! Reads and writes arrivals as text: on each line one instant, in whole nanoseconds since the
//! beginning, as a decimal number.
//!
//! The reader passes over empty lines, lines that begin with `#`, and blanks around a line. It
//! fails with [`InstantsError::Line`] if an instant is no such number or is before the one above
//! it, and with the same error at more than 100,000,000 instants. The writer begins with a `#`
//! line, and does not check the order.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use terrace_env::text::Lines;

/// The longest line: the one with the process, which may be a curve from a file.
const LINE_MAX: u64 = 64 << 20;
/// The most instants, which are all in memory: three hours at 10,000 a second.
const INSTANTS_MAX: usize = 100_000_000;

/// Arrivals that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InstantsError {
    /// The file cannot be read.
    #[error("line {line}: {source}")]
    Io {
        /// The line, from 1.
        line: u64,
        /// Error of the system.
        source: io::Error,
    },
    /// A line has not the required form.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// The line, from 1.
        line: u64,
        /// Value expected.
        expected: String,
        /// Text found.
        found: String,
    },
}

/// Reads all instants.
pub fn read_instants(reader: impl BufRead) -> Result<Vec<Duration>, InstantsError> {
    let mut instants = Vec::new();
    let mut last = 0;
    for (text, line) in Lines::new(reader, LINE_MAX).zip(1..) {
        let text = text.map_err(|source| InstantsError::Io { line, source })?;
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let nanos = text.parse().ok().filter(|nanos: &u64| *nanos >= last);
        let wrong = || InstantsError::Line {
            line,
            expected: format!("nanoseconds, a whole number of at least {last}"),
            found: text.to_owned(),
        };
        last = nanos.ok_or_else(wrong)?;
        if instants.len() == INSTANTS_MAX {
            let expected = format!("at most {INSTANTS_MAX} arrivals");
            return Err(InstantsError::Line { line, expected, found: text.to_owned() });
        }
        instants.push(Duration::from_nanos(last));
    }
    Ok(instants)
}

/// Writes instants, after a line that says where they are from.
pub fn write_instants(
    mut into: impl Write,
    origin: &str,
    instants: impl IntoIterator<Item = Duration>,
) -> io::Result<()> {
    writeln!(into, "# arrivals in nanoseconds: {origin}")?;
    for instant in instants {
        writeln!(into, "{}", instant.as_nanos())?;
    }
    into.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_a_wrong_line_is_named() {
        let instants = [0, 7, 7, 1 << 60].map(Duration::from_nanos);
        let mut text = Vec::new();
        write_instants(&mut text, "a test", instants).unwrap();
        assert_eq!(read_instants(text.as_slice()).unwrap(), instants);
        for (text, message) in [
            ("5\n\n4\n", "line 3: expected nanoseconds, a whole number of at least 5, found `4`"),
            ("0.5", "line 1: expected nanoseconds, a whole number of at least 0, found `0.5`"),
        ] {
            assert_eq!(read_instants(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }
}
