//! Opens the files of a measurement: a trace to replay, and new files for a recorded trace or for
//! latencies, which [`write_histograms`] writes as text.
//!
//! - [`create`] empties a file that exists.
//! - [`Replay::open`] reads the whole trace once, so that a line that cannot be parsed is found
//!   there. Then it opens the file again for the replay; a pipe is refused for this reason.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use terrace_env::regular_file::check_regular;
use terrace_lab::bench::{Measurement, write_distribution};
use terrace_lab::workload::{Trace, TraceError, TraceSummary};

use crate::failure::{Failure, Kind};

/// A trace that was read through once: all of it can be read.
pub(super) struct Replay {
    pub(super) trace: Trace<BufReader<File>>,
    pub(super) summary: TraceSummary,
}

impl Replay {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let wrong = |error: TraceError| {
            let message = format!("{}: {error}", path.display());
            Failure::new(Kind::Failed, message)
        };
        let open = || {
            let file = File::open(path).map_err(|error| Failure::path(path, &error))?;
            Trace::new(BufReader::new(file)).map_err(wrong)
        };
        check_regular(path).map_err(|error| Failure::path(path, &error))?;
        let summary = open()?.summary().map_err(wrong)?;
        Ok(Self { trace: open()?, summary })
    }
}

/// A file that does not exist yet, or is written over.
pub(super) fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file = File::create(path).map_err(|error| Failure::path(path, &error))?;
    Ok(BufWriter::new(file))
}

/// Writes down how long operations took: a distribution for each piece of work, and for each kind
/// of operation in it.
pub(super) fn write_histograms(
    path: &Path,
    into: &mut impl Write,
    measurements: &[Measurement],
) -> Result<(), Failure> {
    let mut write = || {
        for measurement in measurements {
            for (kind, histogram) in &measurement.histograms {
                let kind = kind.unwrap_or("all");
                writeln!(into, "#[{}, {kind}: microseconds]", measurement.mix)?;
                write_distribution(histogram, into)?;
                writeln!(into)?;
            }
        }
        into.flush()
    };
    write().map_err(|error| Failure::path(path, &error))
}
