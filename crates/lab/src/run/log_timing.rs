//! [`LogTiming`]: when requests to the log device of a run complete. The file system sees one
//! device, but log and metadata may lie in different [places](Places::of_cause):
//!
//! - *free*: a request completes when it is submitted;
//! - *on a log device*: it takes the times of that drive;
//! - *on another part of the drive of tables*: its block is moved past the [start](Starts) of that
//!   part, and the request goes to the model of that drive. It moves the drive's head and waits in
//!   its queue.
//!
//! A flush goes to each drive that one of the places is on, and completes when the last of them has
//! completed it.
//!
//! [`SharedTiming`] lets two emulated drives use one model: the tickets of the log device have a
//! bit of their own. Power cuts are not supported where log or metadata lie on the drive of tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::sync::Mutex;
use terrace_env::{Lba, Time};
use terrace_zone::emulator::{Command, Progress, RequestKind, Timing};
use terrace_zone::timing::Work;

use super::places::{Places, Starts, is_on_drive};
use crate::experiment::Location;

/// Tickets of the log device, among those of the drive of tables. A translation layer has tickets
/// of its own from the next power of two on.
const OF_LOG: u64 = 1 << 62;
/// Bytes of a block of the log device.
const LOG_BLOCK: u64 = 4096;

/// A model that several emulated drives use.
#[derive(Clone)]
pub(super) struct SharedTiming(Arc<Mutex<Box<dyn Timing>>>);

impl SharedTiming {
    pub(super) fn new(model: Box<dyn Timing>) -> Self {
        Self(Arc::new(Mutex::new(model)))
    }
}

impl Timing for SharedTiming {
    fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress {
        self.0.lock().submit(now, ticket, command)
    }

    fn poll(&mut self, now: Time, ticket: u64) -> Progress {
        self.0.lock().poll(now, ticket)
    }

    fn power_cut(&mut self, now: Time) {
        self.0.lock().power_cut(now);
    }

    fn work(&mut self, now: Time) -> Work {
        self.0.lock().work(now)
    }
}

/// Zones of the drive of tables, as the log device that they stand for.
pub(super) struct OnDrive {
    pub(super) model: SharedTiming,
    pub(super) starts: Starts,
    /// Bytes of a logical block of the drive.
    pub(super) block: u64,
}

impl OnDrive {
    fn submit(&mut self, now: Time, ticket: u64, place: Location, command: &Command) -> Progress {
        // A flush has no address.
        let start = self.starts.at(place).unwrap_or(0);
        let lba = Lba((start + command.lba.0 * LOG_BLOCK) / self.block);
        let blocks = command.blocks * LOG_BLOCK / self.block;
        let moved = Command { lba, blocks, zone: None, ..*command };
        self.model.submit(now, ticket | OF_LOG, &moved)
    }

    fn poll(&mut self, now: Time, ticket: u64) -> Progress {
        self.model.poll(now, ticket | OF_LOG)
    }
}

/// See the [module](self).
pub(super) struct LogTiming {
    places: Places,
    /// The model of the log device's own drive, where something lies there.
    device: Option<Box<dyn Timing>>,
    /// Where something lies in zones of the drive of tables.
    on_drive: Option<OnDrive>,
    /// Commands that one drive at least has not decided.
    undecided: BTreeMap<u64, Parts>,
}

/// The progress of a command on each drive that it went to.
#[derive(Clone, Copy, Default)]
struct Parts {
    device: Option<Progress>,
    on_drive: Option<Progress>,
}

impl Parts {
    /// Decided once both are: it begins with the first and ends with the last.
    fn together(self, now: Time) -> Progress {
        let free = Progress::Decided { start: now, end: now };
        match (self.device, self.on_drive) {
            (None, None) => free,
            (Some(one), None) | (None, Some(one)) => one,
            (Some(one), Some(other)) => both(one, other),
        }
    }
}

fn both(one: Progress, other: Progress) -> Progress {
    match (one, other) {
        (Progress::Decided { start, end }, Progress::Decided { start: first, end: last }) => {
            Progress::Decided { start: start.min(first), end: end.max(last) }
        }
        (Progress::Undecided { ask }, Progress::Undecided { ask: other }) => {
            Progress::Undecided { ask: ask.min(other) }
        }
        (undecided @ Progress::Undecided { .. }, _) | (_, undecided) => undecided,
    }
}

impl LogTiming {
    pub(super) fn new(
        places: Places,
        device: Option<Box<dyn Timing>>,
        on_drive: Option<OnDrive>,
    ) -> Self {
        Self { places, device, on_drive, undecided: BTreeMap::new() }
    }

    fn note(&mut self, now: Time, ticket: u64, parts: Parts) -> Progress {
        let progress = parts.together(now);
        if let Progress::Undecided { .. } = progress {
            self.undecided.insert(ticket, parts);
        }
        progress
    }
}

impl Timing for LogTiming {
    fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress {
        let everywhere = command.kind == RequestKind::Flush;
        let place = self.places.of_cause(command.cause);
        let device = self.device.as_mut().filter(|_| everywhere || place == Location::LogDevice);
        let device = device.map(|device| device.submit(now, ticket, command));
        let zones = self.on_drive.as_mut().filter(|_| everywhere || is_on_drive(place));
        let on_drive = zones.map(|zones| zones.submit(now, ticket, place, command));
        self.note(now, ticket, Parts { device, on_drive })
    }

    fn poll(&mut self, now: Time, ticket: u64) -> Progress {
        let mut parts = self.undecided.remove(&ticket).unwrap_or_default();
        let due = |part: Option<Progress>| match part {
            Some(Progress::Undecided { ask }) => ask <= now,
            _ => false,
        };
        if due(parts.device) {
            parts.device = self.device.as_mut().map(|device| device.poll(now, ticket));
        }
        if due(parts.on_drive) {
            parts.on_drive = self.on_drive.as_mut().map(|zones| zones.poll(now, ticket));
        }
        self.note(now, ticket, parts)
    }

    fn power_cut(&mut self, now: Time) {
        self.undecided.clear();
        if let Some(device) = &mut self.device {
            device.power_cut(now);
        }
    }

    /// Work of the log device's own drive: the drive of tables counts the work in its zones.
    fn work(&mut self, now: Time) -> Work {
        self.device.as_mut().map(|device| device.work(now)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_env::{ByteCount, Cause};
    use terrace_zone::Geometry;

    use super::*;

    /// Decides each command after a number of milliseconds, when it is asked; notes its place.
    struct Slow(u64, Arc<Mutex<Vec<Command>>>, BTreeMap<u64, Time>);

    impl Timing for Slow {
        fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress {
            let end = now + Duration::from_millis(self.0);
            self.1.lock().push(*command);
            self.2.insert(ticket, end);
            Progress::Undecided { ask: end }
        }

        fn poll(&mut self, now: Time, ticket: u64) -> Progress {
            assert!(now >= self.2[&ticket], "asked too early");
            Progress::Decided { start: now, end: self.2.remove(&ticket).unwrap() }
        }
    }

    fn command(kind: RequestKind, cause: Cause) -> Command {
        let (lba, blocks) = (Lba(3), if kind == RequestKind::Flush { 0 } else { 2 });
        let (append, forced, refused) = (false, true, false);
        Command { kind, cause, lba, blocks, zone: None, append, forced, refused }
    }

    /// A log device of places on a drive with this geometry: a log on a device of its own takes
    /// 3 ms, and the drive takes 10 ms. Also returns the commands that each of the two was given.
    fn timing(log: Location, metadata: Location) -> (LogTiming, [Arc<Mutex<Vec<Command>>>; 2]) {
        let given = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
        let [device, zones] = [(3, 0), (10, 1)].map(|(millis, at)| {
            Box::new(Slow(millis, Arc::clone(&given[at]), BTreeMap::new())) as Box<dyn Timing>
        });
        let model = SharedTiming::new(zones);
        let places = Places { log, metadata };
        // Four zones of a MiB, two of them conventional, of which the store has three.
        let whole = Geometry {
            conventional: std::iter::once(0..2).collect(),
            ..Geometry::uniform(ByteCount(MIB), 4)
        };
        let store = Geometry { zones: 3, ..whole.clone() };
        let starts = Starts::of(places, ByteCount(MIB), &store, &whole).unwrap();
        let on_drive = OnDrive { model, starts, block: 4096 };
        (LogTiming::new(places, Some(device), Some(on_drive)), given)
    }

    const MIB: u64 = 1 << 20;

    const MS: u64 = 1_000_000;

    fn ask(millis: u64) -> Progress {
        Progress::Undecided { ask: Time(millis * MS) }
    }

    #[test]
    fn each_request_goes_where_its_cause_lies() {
        let (mut timing, given) = timing(Location::LogDevice, Location::Conventional);
        let log = command(RequestKind::Write, Cause::Log);
        assert_eq!(timing.submit(Time(0), 0, &log), ask(3));
        let journal = command(RequestKind::Write, Cause::Journal);
        assert_eq!(timing.submit(Time(0), 1, &journal), ask(10));
        assert_eq!(timing.poll(Time(0), 1), ask(10), "asked before it is due");
        let ended = Progress::Decided { start: Time(3 * MS), end: Time(3 * MS) };
        assert_eq!(timing.poll(Time(3 * MS), 0), ended);
        assert_eq!(*given[0].lock(), [log]);
        let moved = Command { lba: Lba(MIB / 4096 + 3), ..journal };
        assert_eq!(*given[1].lock(), [moved]);
    }

    #[test]
    fn two_places_on_the_drive_have_starts_of_their_own() {
        let (mut timing, given) = timing(Location::Conventional, Location::Sequential);
        let log = command(RequestKind::Write, Cause::Log);
        let journal = command(RequestKind::Write, Cause::Journal);
        for (ticket, command) in [log, journal].iter().enumerate() {
            assert_eq!(timing.submit(Time(0), ticket as u64, command), ask(10));
        }
        // After the first zone, and after the three of the store.
        let lbas = given[1].lock().iter().map(|command| command.lba.0).collect::<Vec<_>>();
        assert_eq!(lbas, [MIB / 4096 + 3, 3 * MIB / 4096 + 3]);
        assert!(given[0].lock().is_empty());
    }

    #[test]
    fn a_flush_goes_everywhere_and_ends_with_the_last() {
        let (mut timing, given) = timing(Location::LogDevice, Location::Conventional);
        let flush = command(RequestKind::Flush, Cause::Log);
        assert_eq!(timing.submit(Time(0), 7, &flush), ask(3));
        assert_eq!(given.map(|of| of.lock().len()), [1, 1]);
        assert_eq!(timing.poll(Time(3 * MS), 7), ask(10));
        let ended = Progress::Decided { start: Time(3 * MS), end: Time(10 * MS) };
        assert_eq!(timing.poll(Time(10 * MS), 7), ended);
    }

    #[test]
    fn what_is_free_takes_no_time() {
        let places = Places { log: Location::Free, metadata: Location::LogDevice };
        let device = Box::new(Slow(3, Arc::default(), BTreeMap::new()));
        let mut timing = LogTiming::new(places, Some(device), None);
        let now = Progress::Decided { start: Time(5), end: Time(5) };
        assert_eq!(timing.submit(Time(5), 0, &command(RequestKind::Write, Cause::Log)), now);
        let journal = command(RequestKind::Write, Cause::Journal);
        assert_ne!(timing.submit(Time(5), 1, &journal), now);
    }
}
