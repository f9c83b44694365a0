//! [`Rewriter`]: rewrites shingled bands on a modelled disk, one after the other, in the order in
//! which the jobs were given.
//!
//! A job first reads in pieces, each when the one before has been read, so that the host's reads
//! can come between them. Then it writes everything by one request, and ends when the medium has
//! it.

use std::collections::VecDeque;
use std::ops::Range;

use terrace_env::Cause;

use super::bands::Burst;
use crate::emulator::Progress;
use crate::timing::disk::Disk;

/// Bytes that are read at once.
const PIECE: u64 = 4 << 20;
/// Tickets of the rewriter's own; those of the host are below.
const TICKETS: u64 = 1 << 63;

/// A band to be rewritten.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// The host's changes, which are in the drive's buffer until the job has ended.
    pub(super) burst: Option<Burst>,
    pub(super) cause: Cause,
    /// Addresses on the disk to be read.
    pub(super) reads: Vec<Range<u64>>,
    /// The addresses to be written, after all is read.
    pub(super) write: Range<u64>,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct Rewriter {
    /// The job in front is running if `step` is not `None`.
    jobs: VecDeque<Job>,
    /// Ranges that are left to be read for the job in front.
    reads: VecDeque<Range<u64>>,
    step: Option<Step>,
    tickets: u64,
}

/// Read or write that the disk has been asked for.
#[derive(Clone, Copy, Debug)]
struct Step {
    ticket: u64,
    writes: bool,
    /// Time at which the step ends, once the disk has decided.
    end: Option<u64>,
}

impl Rewriter {
    pub(super) fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The bursts that have not been rewritten yet.
    pub(super) fn bursts(&self) -> impl Iterator<Item = &Burst> {
        self.jobs.iter().filter_map(|job| job.burst.as_ref())
    }

    pub(super) fn add(&mut self, disk: &mut Disk, now: u64, job: Job) {
        self.jobs.push_back(job);
        if self.step.is_none() {
            self.begin(disk, now);
        }
    }

    /// When there is something to do that is known by now.
    pub(super) fn due(&self) -> Option<u64> {
        self.step.and_then(|step| step.end)
    }

    /// Asks the disk whether it has decided when the step ends.
    pub(super) fn notice(&mut self, disk: &mut Disk) {
        if let Some(step) = &mut self.step
            && let Some(Progress::Decided { end, .. }) = disk.outcome(step.ticket)
        {
            step.end = Some(end.0);
        }
    }

    /// Goes on if a step has ended; gives the job that this completes.
    pub(super) fn advance(&mut self, disk: &mut Disk, now: u64) -> Option<Job> {
        let ended = self.step.take_if(|step| step.end.is_some_and(|end| end <= now))?;
        if !ended.writes {
            self.go_on(disk, now);
            return None;
        }
        let job = self.jobs.pop_front();
        self.begin(disk, now);
        job
    }

    fn begin(&mut self, disk: &mut Disk, now: u64) {
        let Some(job) = self.jobs.front() else { return };
        let pieces = |range: &Range<u64>| {
            let end = range.end;
            let piece = move |at: u64| at..end.min(at + PIECE);
            range.clone().step_by(PIECE as usize).map(piece)
        };
        self.reads = job.reads.iter().flat_map(pieces).collect();
        self.go_on(disk, now);
    }

    /// The next step of the job in front.
    fn go_on(&mut self, disk: &mut Disk, now: u64) {
        let Some(job) = self.jobs.front() else { return };
        let ticket = TICKETS + self.tickets;
        self.tickets += 1;
        let read = self.reads.pop_front();
        self.step = Some(Step { ticket, writes: read.is_none(), end: None });
        match read {
            Some(range) => disk.read_inside(now, ticket, range, job.cause),
            None => disk.write_inside(now, ticket, job.write.clone(), job.cause, true),
        }
        self.notice(disk);
    }

    /// Forgets all jobs.
    pub(super) fn clear(&mut self) {
        *self = Self { tickets: self.tickets, ..Self::default() };
    }
}
