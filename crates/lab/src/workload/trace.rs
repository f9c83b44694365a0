//! [`Trace`] and [`TraceWriter`]: sequences of operations as text, to be carried out again.
//! `docs/format/trace.md` describes the format: a header line, the order of keys (a reader also
//! takes a trace without this line), then one operation per line.
//!
//! A trace has the sizes of values, but not their bytes, and not the sizes of keys.
//!
//! It is read line by line. So an error in a line is found only when this line is reached.

use std::io::{self, BufRead, Write};

use super::entries::KeyOrder;
use super::operation::Operation;

/// The first line; the number is the format's version.
const HEADER: &str = "terrace-trace 1";

/// Reads a trace, line by line.
#[derive(Debug)]
pub struct Trace<R> {
    lines: io::Lines<R>,
    line: u64,
    order: KeyOrder,
    /// The first line of an operation, read while looking for something else.
    first: Option<String>,
}

/// Summary of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSummary {
    /// Where in the order of keys its records lie.
    pub order: KeyOrder,
    /// How many operations there are.
    pub operations: u64,
    /// How many of them write a value.
    pub writes: u64,
    /// Bytes of all values that are written.
    pub value_bytes: u64,
    /// The largest of these.
    pub value_size_max: u32,
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("line {line}: {source}")]
    Io {
        /// The line, from 1.
        line: u64,
        /// Error of the system.
        source: io::Error,
    },
    /// A line is not what it must be.
    #[error("line {line}: expected {expected}, found `{got}`")]
    Line {
        /// The line, from 1.
        line: u64,
        /// Value expected.
        expected: &'static str,
        /// Value found.
        got: String,
    },
}

impl<R: BufRead> Trace<R> {
    /// Reads the header.
    pub fn new(reader: R) -> Result<Self, TraceError> {
        let (lines, order) = (reader.lines(), KeyOrder::Numbered);
        let mut trace = Self { lines, line: 0, order, first: None };
        let got = trace.next_line()?.unwrap_or_default();
        if got != HEADER {
            return Err(TraceError::Line {
                line: 1,
                expected: "the header `terrace-trace 1`",
                got,
            });
        }
        trace.first = trace.next_line()?;
        if let Some(name) = trace.first.as_ref().and_then(|text| text.strip_prefix("keys ")) {
            let found = KeyOrder::ALL.into_iter().find(|order| order.name() == name);
            let (line, expected) = (trace.line, "`keys numbered` or `keys hashed`");
            let wrong = || TraceError::Line { line, expected, got: format!("keys {name}") };
            trace.order = found.ok_or_else(wrong)?;
            trace.first = None;
        }
        Ok(trace)
    }

    /// Where in the order of keys its records lie.
    #[must_use]
    pub fn order(&self) -> KeyOrder {
        self.order
    }

    /// Reads all that is left, and sums it up.
    pub fn summary(mut self) -> Result<TraceSummary, TraceError> {
        let order = self.order;
        let (operations, writes, value_bytes, value_size_max) = (0, 0, 0, 0);
        let mut sum = TraceSummary { order, operations, writes, value_bytes, value_size_max };
        while let Some(operation) = self.next_operation()? {
            sum.operations += 1;
            if let Some(size) = operation.value_size() {
                sum.writes += 1;
                sum.value_bytes += u64::from(size);
                sum.value_size_max = size.max(sum.value_size_max);
            }
        }
        Ok(sum)
    }

    /// The next line that is neither empty nor a comment.
    fn next_line(&mut self) -> Result<Option<String>, TraceError> {
        loop {
            self.line += 1;
            let line = self.line;
            match self.lines.next() {
                None => return Ok(None),
                Some(Err(source)) => return Err(TraceError::Io { line, source }),
                Some(Ok(text)) if text.is_empty() || text.starts_with('#') => {}
                Some(Ok(text)) => return Ok(Some(text)),
            }
        }
    }

    /// The next operation; `None` at the end.
    pub fn next_operation(&mut self) -> Result<Option<Operation>, TraceError> {
        let next = if self.first.is_some() { self.first.take() } else { self.next_line()? };
        let Some(text) = next else { return Ok(None) };
        let expected = "`read N`, `update N SIZE`, `insert N SIZE`, `scan N LENGTH`, \
                        `modify N SIZE` or `delete N`";
        let wrong = |got| TraceError::Line { line: self.line, expected, got };
        parse(&text).map(Some).ok_or(text).map_err(wrong)
    }
}

fn parse(text: &str) -> Option<Operation> {
    let mut words = text.split(' ');
    let (name, record) = (words.next()?, words.next()?.parse().ok()?);
    let mut number = || words.next()?.parse().ok();
    let operation = match name {
        "read" => Operation::Read(record),
        "update" => Operation::Update(record, number()?),
        "insert" => Operation::Insert(record, number()?),
        "scan" => Operation::Scan(record, number()?),
        "modify" => Operation::ReadModifyWrite(record, number()?),
        "delete" => Operation::Delete(record),
        _ => return None,
    };
    words.next().is_none().then_some(operation)
}

/// Writes operations down, one after the other.
#[derive(Debug)]
pub struct TraceWriter<W> {
    into: W,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header, and how keys lie.
    pub fn new(mut into: W, order: KeyOrder) -> io::Result<Self> {
        writeln!(into, "{HEADER}\nkeys {}", order.name())?;
        Ok(Self { into })
    }

    /// Writes an operation down.
    pub fn write(&mut self, operation: Operation) -> io::Result<()> {
        let (into, name) = (&mut self.into, operation.kind().name());
        match operation {
            Operation::Read(record) | Operation::Delete(record) => {
                writeln!(into, "{name} {record}")
            }
            Operation::Update(record, number)
            | Operation::Insert(record, number)
            | Operation::Scan(record, number)
            | Operation::ReadModifyWrite(record, number) => {
                writeln!(into, "{name} {record} {number}")
            }
        }
    }

    /// Hands on what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }

    /// The writer that the trace was written to.
    pub fn into_inner(self) -> W {
        self.into
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sizes, Ycsb};
    use super::*;

    fn read(text: &str) -> Result<Vec<Operation>, TraceError> {
        let mut trace = Trace::new(text.as_bytes())?;
        let mut found = Vec::new();
        while let Some(operation) = trace.next_operation()? {
            found.push(operation);
        }
        Ok(found)
    }

    #[test]
    fn what_is_written_down_reads_back() {
        let mut written: Vec<Operation> = Ycsb::ALL
            .into_iter()
            .flat_map(|ycsb| {
                let mut workload = ycsb.workload(Sizes::Uniform(0, 9_000), 50, 1);
                (0..100).map(move |_| workload.next_operation())
            })
            .collect();
        written.push(Operation::Delete(u64::MAX));
        let mut writer = TraceWriter::new(Vec::new(), KeyOrder::Hashed).unwrap();
        written.iter().for_each(|operation| writer.write(*operation).unwrap());
        let text = writer.into_inner();
        assert_eq!(read(std::str::from_utf8(&text).unwrap()).unwrap(), written);
        let sum = Trace::new(text.as_slice()).unwrap().summary().unwrap();
        assert_eq!((sum.order, sum.operations), (KeyOrder::Hashed, written.len() as u64));
        let sizes = || written.iter().filter_map(|operation| operation.value_size());
        assert_eq!(
            (sum.writes, sum.value_size_max),
            (sizes().count() as u64, sizes().max().unwrap())
        );
        assert_eq!(sum.value_bytes, sizes().map(u64::from).sum::<u64>());
    }

    #[test]
    fn comments_and_empty_lines_are_passed_over() {
        let text = "# of Tuesday\n\nterrace-trace 1\nread 7\n# a pause\n\ndelete 8\n";
        assert_eq!(read(text).unwrap(), [Operation::Read(7), Operation::Delete(8)]);
        assert_eq!(Trace::new(text.as_bytes()).unwrap().order(), KeyOrder::Numbered);
        assert_eq!(read("terrace-trace 1\n").unwrap(), []);
    }

    #[test]
    fn a_wrong_line_is_told_with_its_number() {
        for (text, line) in [
            ("", 1),
            ("terrace-trace 2\n", 1),
            ("terrace-trace 1\nread\n", 2),
            ("terrace-trace 1\nread 1\nread 1 2\n", 3),
            ("terrace-trace 1\nscan 1 -1\n", 2),
            ("terrace-trace 1\nupdate 1 99999999999\n", 2),
            ("terrace-trace 1\ntouch 1\n", 2),
            ("terrace-trace 1\n# how\nkeys sorted\n", 3),
            ("terrace-trace 1\nread 1\nkeys hashed\n", 3),
        ] {
            let error = read(text).unwrap_err();
            assert!(matches!(error, TraceError::Line { line: at, .. } if at == line), "{error}");
        }
    }
}
