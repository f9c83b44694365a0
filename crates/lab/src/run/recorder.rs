//! [`Recorder`]: records the requests to a drive with their times. It sits between the emulated
//! drive and the model of its times.
//!
//! A request is added to a hash of 64 bits when the model decides when it completes. If two runs
//! have the same hash, they have almost surely sent the same requests to their recorded drives at
//! the same times. Requests can also be written as text, one line each, in nanoseconds of the run
//! and logical blocks:
//!
//! > submitted start end cause kind block blocks flags
//!
//! The flags are `b` for a request to the own drive of a log device or an offload device, `f` for a
//! forced write, `a` for an append, and `!` for a refused request. The recorder also counts forced
//! writes and flushes that were not refused. If it was made with the notes of `addresses`, it tells
//! them where merges write.
//!
//! If a line cannot be written, the text ends there, and [`Trace::finish`] returns the error. A
//! request that is lost in a power cut before its completion is decided is not recorded.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use terrace_env::sync::Mutex;
use terrace_env::{Cause, Time};
use terrace_zone::emulator::{Command, Progress, RequestKind, Timing};
use terrace_zone::timing::Work;
use xxhash_rust::xxh3::Xxh3Default;

use super::addresses::Notes;

/// Hash of the recorded requests, and a file for them.
#[derive(Default)]
pub(super) struct Trace {
    hash: Xxh3Default,
    /// Forced writes and flushes that were carried out, by cause.
    syncs: BTreeMap<Cause, u64>,
    into: Option<Box<dyn Write + Send>>,
    failed: Option<io::Error>,
}

impl Trace {
    /// A recorder that also writes the trace down.
    pub(super) fn written_to(into: Option<Box<dyn Write + Send>>) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { into, ..Self::default() }))
    }

    /// The hash so far, as sixteen hexadecimal digits.
    pub(super) fn hash(&self) -> String {
        format!("{:016x}", self.hash.digest())
    }

    /// Forced writes and flushes so far, by cause.
    pub(super) fn syncs(&self) -> BTreeMap<Cause, u64> {
        self.syncs.clone()
    }

    /// Ends the record; returns the first error that there was.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let flushed = self.into.take().map_or(Ok(()), |mut into| into.flush());
        self.failed.take().map_or(flushed, Err)
    }

    fn record(
        &mut self,
        beside: bool,
        (submitted, start, end): (Time, Time, Time),
        command: &Command,
    ) {
        let flags = [beside, command.forced, command.append, command.refused];
        let bits = flags.iter().fold(0u8, |bits, flag| bits << 1 | u8::from(*flag));
        let words = [submitted.0, start.0, end.0, command.lba.0, command.blocks];
        let mut bytes = [0; 5 * 8 + 3];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[40..].copy_from_slice(&[command.cause as u8, command.kind as u8, bits]);
        self.hash.update(&bytes);
        let forced = command.forced || command.kind == RequestKind::Flush;
        if forced && !command.refused {
            *self.syncs.entry(command.cause).or_default() += 1;
        }
        if let Some(into) = &mut self.into {
            let marks = ['b', 'f', 'a', '!'];
            let flags: String =
                marks.iter().zip(flags).filter_map(|(mark, set)| set.then_some(*mark)).collect();
            let Command { cause, kind, lba, blocks, .. } = command;
            let line = writeln!(
                into,
                "{} {} {} {cause} {} {} {blocks} {flags}",
                submitted.0,
                start.0,
                end.0,
                kind.name(),
                lba.0
            );
            if let Err(error) = line {
                self.failed.get_or_insert(error);
                self.into = None;
            }
        }
    }
}

/// Name of the sum among metrics that go by cause.
pub(super) const TOTAL: &str = "total";

/// The trace of a phase, as its metrics have it.
pub(super) struct TraceOf {
    /// The hash of the run so far.
    pub(super) hash: String,
    /// Forced writes and flushes of the phase, by cause, and in all.
    pub(super) syncs: BTreeMap<String, f64>,
}

impl TraceOf {
    /// The trace since the counts of forced writes and flushes were `before`.
    pub(super) fn since(before: BTreeMap<Cause, u64>, trace: &Trace) -> Self {
        let since = |cause: &Cause, count: u64| count - before.get(cause).copied().unwrap_or(0);
        let counts = trace.syncs.iter();
        let syncs = counts.map(|(cause, count)| (cause.to_string(), since(cause, *count) as f64));
        let mut syncs: BTreeMap<_, _> = syncs.collect();
        syncs.insert(TOTAL.into(), syncs.values().sum());
        Self { hash: trace.hash(), syncs }
    }
}

/// See the [module](self).
pub(super) struct Recorder {
    inner: Box<dyn Timing>,
    trace: Arc<Mutex<Trace>>,
    /// The requests are those to the log device.
    beside: bool,
    /// Commands that the model has not decided.
    undecided: BTreeMap<u64, (Time, Command)>,
    /// Told of the writes of merges, in bytes of the device; and the bytes of its block.
    notes: Option<(Arc<Mutex<Notes>>, u64)>,
}

impl Recorder {
    pub(super) fn new(inner: Box<dyn Timing>, trace: Arc<Mutex<Trace>>) -> Self {
        Self { inner, trace, beside: false, undecided: BTreeMap::new(), notes: None }
    }

    /// A recorder that also notes where merges write on a device with blocks of `block` bytes.
    pub(super) fn noting(self, notes: Option<Arc<Mutex<Notes>>>, block: u64) -> Self {
        Self { notes: notes.map(|notes| (notes, block)), ..self }
    }

    /// The recorder of the log device's own drive.
    pub(super) fn beside(inner: Box<dyn Timing>, trace: Arc<Mutex<Trace>>) -> Self {
        Self { beside: true, ..Self::new(inner, trace) }
    }

    fn note(&mut self, submitted: Time, command: &Command, progress: Progress) -> bool {
        let Progress::Decided { start, end } = progress else { return false };
        self.trace.lock().record(self.beside, (submitted, start, end), command);
        true
    }
}

impl Timing for Recorder {
    fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress {
        if let Some((notes, block)) = &self.notes
            && (command.kind, command.cause) == (RequestKind::Write, Cause::Compaction)
            && !command.refused
        {
            let start = command.lba.0 * block;
            notes.lock().write(start..start + command.blocks * block);
        }
        let progress = self.inner.submit(now, ticket, command);
        if !self.note(now, command, progress) {
            self.undecided.insert(ticket, (now, *command));
        }
        progress
    }

    fn poll(&mut self, now: Time, ticket: u64) -> Progress {
        let progress = self.inner.poll(now, ticket);
        if let Some((submitted, command)) = self.undecided.remove(&ticket)
            && !self.note(submitted, &command, progress)
        {
            self.undecided.insert(ticket, (submitted, command));
        }
        progress
    }

    fn power_cut(&mut self, now: Time) {
        self.undecided.clear();
        self.inner.power_cut(now);
    }

    fn work(&mut self, now: Time) -> Work {
        self.inner.work(now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_env::Lba;

    use super::*;

    /// Takes a millisecond for each request, and one nanosecond more for one of them.
    struct Tampered(Option<u64>);

    impl Timing for Tampered {
        fn submit(&mut self, now: Time, ticket: u64, _: &Command) -> Progress {
            let more = u64::from(self.0 == Some(ticket));
            let end = now + Duration::from_nanos(1_000_000 + more);
            Progress::Decided { start: now, end }
        }
    }

    fn command(cause: Cause, lba: u64) -> Command {
        Command {
            kind: RequestKind::Write,
            cause,
            lba: Lba(lba),
            blocks: 8,
            zone: None,
            append: false,
            forced: true,
            refused: false,
        }
    }

    fn recorded(tampered: Option<u64>, lba: u64) -> String {
        let trace = Trace::written_to(None);
        let inner = Box::new(Tampered(tampered));
        let mut recorder = Recorder::new(inner, Arc::clone(&trace));
        for ticket in 0..100 {
            let cause = if ticket % 2 == 0 { Cause::Log } else { Cause::Flush };
            let _ = recorder.submit(Time(ticket * 7), ticket, &command(cause, lba + ticket));
        }
        trace.lock().hash()
    }

    #[test]
    fn a_nanosecond_or_a_block_of_one_request_changes_the_hash() {
        let hash = recorded(None, 0);
        assert_eq!(hash.len(), 16);
        assert_eq!(recorded(None, 0), hash);
        assert_ne!(recorded(Some(57), 0), hash, "a canary that does not trip");
        assert_ne!(recorded(None, 1), hash);
    }

    #[test]
    fn a_trace_is_written_a_line_to_a_request() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let into = Box::new(path.reopen().unwrap());
        let trace = Trace::written_to(Some(into));
        let mut recorder = Recorder::new(Box::new(Tampered(None)), Arc::clone(&trace));
        let _ = recorder.submit(Time(5), 0, &command(Cause::Log, 64));
        trace.lock().finish().unwrap();
        let text = std::fs::read_to_string(path.path()).unwrap();
        assert_eq!(text, "5 5 1000005 log write 64 8 f\n");
    }
}
