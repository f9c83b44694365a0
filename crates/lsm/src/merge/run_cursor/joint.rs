//! [`Joint`]: the bytes of a run's next segments (tables, or ranges of tables), read by one request
//! because their files are adjacent on the device.
//!
//! A job for which tables are written as *sets* reads a set in this way. The request is as large as
//! the memory of jobs allows, and ends at the end of a segment. Its memory counts until the last
//! segment has been walked. If the store refuses, the caller reads each further table of the run on
//! its own, in pieces.
//!
//! A read waits for the device, so the caller holds no lock.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;
use terrace_env::{Cause, FileId, IoBuf, MemoryLease};

use crate::memory::Walk;
use crate::tree::{Run, Segment};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Joint {
    /// The segment that the front part belongs to.
    first: usize,
    /// For each segment, the offset of the part in its table, and its bytes.
    parts: VecDeque<(u64, Bytes)>,
    /// Whether the store refuses such a read of this run.
    is_refused: bool,
}

/// Memory of a request, which counts.
struct Buffer {
    bytes: IoBuf,
    _lease: MemoryLease,
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Joint {
    /// The part of a segment: from memory, or by a request for it and the next ones.
    pub(super) fn take(&mut self, run: &Run, at: usize, cause: Cause) -> Option<(u64, Bytes)> {
        if at < self.first || at >= self.first + self.parts.len() {
            self.parts.clear();
            if self.is_refused {
                return None;
            }
            self.parts = read(run, at, cause).unwrap_or_default();
            self.is_refused = self.parts.is_empty();
            self.first = at;
        }
        self.parts.drain(..at - self.first);
        self.first = at + 1;
        self.parts.pop_front()
    }
}

/// Reads the adjacent segments from the one at `at` on.
fn read(run: &Run, at: usize, cause: Cause) -> Option<VecDeque<(u64, Bytes)>> {
    let first = run.segments.get(at)?.table.table(cause).ok()?;
    let memory = first.memory();
    let most = memory.job_joint();
    let mut left = most.0;
    let mut parts = Vec::new();
    for segment in run.segments.slice(at..run.segments.len()).iter() {
        let Some((id, part)) = part(segment, cause) else { break };
        let Some(rest) = left.checked_sub(part.end - part.start) else { break };
        left = rest;
        parts.push((id, part));
    }
    let (_, front) = parts.first()?;
    let size = usize::try_from(most.0 - left).ok()?;
    let mut lease = memory.gauge(Walk::Job(cause)).lease(size);
    let read = first.read_joint(front.clone(), &parts[1..], most, cause)?;
    lease.resize(read.bytes.capacity());
    let bytes = Bytes::from_owner(Buffer { bytes: read.bytes, _lease: lease });
    let with_part = |(start, (_, part)): (usize, (FileId, Range<u64>))| {
        (part.start, bytes.slice(start..start + (part.end - part.start) as usize))
    };
    Some(read.starts.into_iter().zip(parts).map(with_part).collect())
}

/// The data blocks of a segment; `None` if it has none, or if the table cannot be read.
fn part(segment: &Segment, cause: Cause) -> Option<(FileId, Range<u64>)> {
    let part = segment.table.table(cause).ok()?.part_of(&segment.span, cause).ok()?;
    (!part.is_empty()).then(|| (segment.table.id(), part))
}
