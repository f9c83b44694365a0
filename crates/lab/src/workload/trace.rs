//! [`Trace`] and [`TraceWriter`]: sequences of operations as text, to be carried out again.
//! `docs/format/trace.md` describes the format: a header line, the order of keys (a reader also
//! takes a trace without this line), then one operation per line. In version 2, an operation may
//! have its arrival before it. A reader passes over empty lines, and lines that begin with `#`.
//!
//! A trace has the sizes of values, but not their bytes, and not the sizes of keys.
//!
//! It is read line by line. So an error in a line is found only when this line is reached.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use terrace_env::text::Lines;

use super::entries::KeyOrder;
use super::operation::Operation;
use super::source::Request;

/// The first line; the number is the format's version. The first has no arrivals.
const HEADERS: [&str; 2] = ["terrace-trace 1", "terrace-trace 2"];

/// The longest line. An operation takes less than a hundred bytes; the rest is for comments.
const LINE_MAX: u64 = 64 << 10;

/// Reads a trace, line by line.
#[derive(Debug)]
pub struct Trace<R> {
    lines: Lines<R>,
    line: u64,
    order: KeyOrder,
    has_arrivals: bool,
    last_arrival: Duration,
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
    /// A line has not the required form.
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
        let (lines, order) = (Lines::new(reader, LINE_MAX), KeyOrder::Numbered);
        let (has_arrivals, last_arrival) = (false, Duration::ZERO);
        let mut trace = Self { lines, line: 0, order, has_arrivals, last_arrival, first: None };
        let got = trace.next_line()?.unwrap_or_default();
        let version = HEADERS.iter().position(|header| *header == got);
        let expected = "the header `terrace-trace 1` or `terrace-trace 2`";
        let line = trace.line;
        let wrong = || TraceError::Line { line, expected, got };
        trace.has_arrivals = version.ok_or_else(wrong)? > 0;
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

    /// Whether operations may have arrivals: it is of version 2.
    #[must_use]
    pub fn has_arrivals(&self) -> bool {
        self.has_arrivals
    }

    /// Reads all that is left, and sums it up.
    pub fn summary(mut self) -> Result<TraceSummary, TraceError> {
        let order = self.order;
        let (operations, writes, value_bytes, value_size_max) = (0, 0, 0, 0);
        let mut sum = TraceSummary { order, operations, writes, value_bytes, value_size_max };
        while let Some(Request { operation, .. }) = self.next_request()? {
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
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        let next = if self.first.is_some() { self.first.take() } else { self.next_line()? };
        let Some(text) = next else { return Ok(None) };
        let line = self.line;
        let wrong = |expected| TraceError::Line { line, expected, got: text.clone() };
        let time = self.has_arrivals.then(|| text.split_once(' ')).flatten();
        let time = time.and_then(|(word, rest)| Some((word.parse().ok()?, rest)));
        let (arrival, rest) = match time {
            Some((nanos, rest)) => (Some(Duration::from_nanos(nanos)), rest),
            None => (None, text.as_str()),
        };
        if arrival.is_some_and(|at| at < self.last_arrival) {
            return Err(wrong("an arrival that is not before the last one"));
        }
        self.last_arrival = arrival.unwrap_or(self.last_arrival);
        let expected = "`read N`, `update N SIZE`, `insert N SIZE`, `scan N LENGTH`, \
                        `modify N SIZE` or `delete N`";
        let operation = parse(rest).ok_or_else(|| wrong(expected))?;
        Ok(Some(Request { operation, arrival }))
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
    arrivals: bool,
    last_arrival: Duration,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header, and how keys lie. Arrivals of operations are left out.
    pub fn new(into: W, order: KeyOrder) -> io::Result<Self> {
        Self::begin(into, order, false)
    }

    /// A writer that also writes the arrivals of operations that have some.
    pub fn with_arrivals(into: W, order: KeyOrder) -> io::Result<Self> {
        Self::begin(into, order, true)
    }

    fn begin(mut into: W, order: KeyOrder, arrivals: bool) -> io::Result<Self> {
        writeln!(into, "{}\nkeys {}", HEADERS[usize::from(arrivals)], order.name())?;
        Ok(Self { into, arrivals, last_arrival: Duration::ZERO })
    }

    /// The last arrival that was written; 0 without any.
    pub(super) fn last_arrival(&self) -> Duration {
        self.last_arrival
    }

    /// Writes an operation down.
    pub fn write(&mut self, request: Request) -> io::Result<()> {
        let Request { operation, arrival } = request;
        let (into, name) = (&mut self.into, operation.kind().name());
        if let Some(arrival) = arrival.filter(|_| self.arrivals) {
            write!(into, "{} ", arrival.as_nanos())?;
            self.last_arrival = arrival;
        }
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

    /// Hands on the buffered lines.
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
        while let Some(Request { operation, .. }) = trace.next_request()? {
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
        let request = |operation: &Operation| Request { operation: *operation, arrival: None };
        written.iter().for_each(|operation| writer.write(request(operation)).unwrap());
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
    fn arrivals_read_back_where_the_writer_has_them_and_may_not_fall() {
        let at = |nanos, record| Request {
            operation: Operation::Read(record),
            arrival: Some(Duration::from_nanos(nanos)),
        };
        let now = Request { operation: Operation::Delete(3), arrival: None };
        let requests = [now, at(0, 1), at(70, 2), now, at(70, 3)];
        for arrivals in [true, false] {
            let new = if arrivals { TraceWriter::with_arrivals } else { TraceWriter::new };
            let mut writer = new(Vec::new(), KeyOrder::Numbered).unwrap();
            requests.iter().for_each(|request| writer.write(*request).unwrap());
            let text = writer.into_inner();
            let mut trace = Trace::new(text.as_slice()).unwrap();
            assert_eq!(trace.has_arrivals(), arrivals);
            for request in requests {
                let arrival = request.arrival.filter(|_| arrivals);
                let read = trace.next_request().unwrap();
                assert_eq!(read, Some(Request { arrival, ..request }));
            }
            assert_eq!(trace.next_request().unwrap(), None);
        }
        for (text, message) in [
            ("terrace-trace 2\n5 read 1\n4 read 2\n", "line 3: expected an arrival that is not"),
            ("terrace-trace 1\n5 read 1\n", "line 2: expected `read N`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
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
            ("terrace-trace 3\n", 1),
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
