//! [`Translated`]: the timing model of a disk under a translation layer. The head of the
//! [module](super) has the rules.
//!
//! The layer has events of its own: a step of a rewrite ends, a burst was not written for
//! `burst_idle`, the host has asked nothing for `idle`. Each call first carries out the events that
//! are due by then, in the order of their times. So it does not matter how often the model is
//! asked.
//!
//! Writes that find no room wait in the order in which they came; later writes wait after them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use terrace_env::{ByteCount, Cause, Lba, Time};

use super::bands::{Bands, Burst};
use super::media_cache::{Cached, MediaCache};
use super::parameters::{CacheSettings, Settings};
use super::rewriter::{Job, Rewriter};
use super::streams::Streams;
use crate::emulator::{Command, Progress, RequestKind, Timing};
use crate::ranges::Ranges;
use crate::timing::disk::{Disk, DiskParameters};
use crate::timing::{Scale, Work};
use crate::{Geometry, Layout};

/// A disk that hides its shingled bands.
#[derive(Clone, Debug)]
pub struct Translated {
    settings: Settings,
    disk: Disk,
    logical_block: u64,
    bands: Bands,
    cache: Option<(CacheSettings, MediaCache)>,
    streams: Streams,
    rewriter: Rewriter,
    /// Writes that wait for room.
    waiting: VecDeque<Arrived>,
    decided: BTreeMap<u64, Progress>,
    /// Bytes in the buffer: of open bursts, and of those that are being rewritten.
    buffered: u64,
    /// A write has found the cache full; others wait until a band is cleaned.
    cache_full: bool,
    /// Time of the host's last request.
    last_asked: u64,
    clock: u64,
    written: Work,
}

/// Write of the host.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    ticket: u64,
    command: Command,
    /// Bytes of its stream up to its end.
    streamed: u64,
}

impl Translated {
    /// A drive of the given geometry, whose zones mean nothing here.
    pub(in crate::timing) fn new(
        settings: Settings,
        disk: &DiskParameters,
        geometry: &Geometry,
        scale: Scale,
    ) -> Self {
        let logical_block = u64::from(geometry.logical_block);
        let cache = settings.cache.map(|cache| (cache, MediaCache::new(cache.size, settings.band)));
        let cached = settings.cache.map_or(0, |cache| cache.size);
        let blocks = geometry.blocks() + cached / logical_block;
        let whole = Geometry {
            layout: Layout::Plain,
            zones: 1,
            zone_size: blocks,
            zone_capacity: blocks,
            last_zone_size: None,
            conventional: Vec::new(),
            ..geometry.clone()
        };
        Self {
            disk: Disk::new(disk, &whole, scale),
            logical_block,
            bands: Bands::new(settings.band),
            settings,
            cache,
            streams: Streams::default(),
            rewriter: Rewriter::default(),
            waiting: VecDeque::new(),
            decided: BTreeMap::new(),
            buffered: 0,
            cache_full: false,
            last_asked: 0,
            clock: 0,
            written: Work::default(),
        }
    }

    /// The bytes of the drive that a command is about.
    fn range(&self, command: &Command) -> Range<u64> {
        let start = command.lba.0 * self.logical_block;
        start..start + command.blocks * self.logical_block
    }

    /// The place of the drive's bytes on the disk: after the cache.
    fn home(&self, range: &Range<u64>) -> Range<u64> {
        let shift = self.settings.cache.map_or(0, |cache| cache.size);
        range.start + shift..range.end + shift
    }

    /// The same command for another place on the disk.
    fn at(&self, command: &Command, byte: u64) -> Command {
        Command { lba: Lba(byte / self.logical_block), ..*command }
    }

    /// Carries out the work that falls due by `now`.
    fn advance(&mut self, now: u64) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            self.clock = at;
            self.disk.run_to(at);
            self.rewriter.notice(&mut self.disk);
            self.act(at);
        }
        self.clock = now;
        self.disk.run_to(now);
    }

    /// When there will be something to do or to decide.
    fn next(&self) -> Option<u64> {
        let own = [self.rewriter.due(), self.burst_due(), self.clean_due()];
        let own = own.into_iter().flatten().map(|due| due.max(self.clock));
        own.chain(self.disk.next()).min()
    }

    fn burst_due(&self) -> Option<u64> {
        self.bands.open().map(|burst| burst.last + self.settings.burst_idle).min()
    }

    fn clean_due(&self) -> Option<u64> {
        let (settings, cache) = self.cache.as_ref()?;
        let idle = self.rewriter.is_idle() && !cache.is_empty();
        idle.then_some(self.last_asked + settings.idle)
    }

    fn act(&mut self, now: u64) {
        if let Some(job) = self.rewriter.advance(&mut self.disk, now) {
            self.buffered -= job.burst.map_or(0, |burst| burst.bytes);
            self.cache_full = false;
        }
        let idle = self.settings.burst_idle;
        while let Some(burst) = self.bands.end_oldest(|burst| burst.last + idle <= now) {
            self.rewrite(burst, now);
        }
        if self.clean_due().is_some_and(|due| due <= now) {
            self.clean(now);
        }
        while let Some(write) = self.waiting.pop_front() {
            if !self.write(&write, now) {
                self.waiting.push_front(write);
                break;
            }
        }
    }

    fn rewrite(&mut self, burst: Burst, now: u64) {
        let moved = self.bands.moved(burst.band, &burst.changed, self.settings.rewrite);
        let reads = Some(self.home(&moved.read)).filter(|read| !read.is_empty());
        self.order(reads.into_iter().collect(), &moved.write, burst.cause, Some(burst), now);
    }

    fn order(
        &mut self,
        reads: Vec<Range<u64>>,
        write: &Range<u64>,
        cause: Cause,
        burst: Option<Burst>,
        now: u64,
    ) {
        self.written.count_rewrite(cause, ByteCount(write.end - write.start));
        let job = Job { burst, cause, reads, write: self.home(write) };
        self.rewriter.add(&mut self.disk, now, job);
    }

    /// Writes the cached bytes of the band that has waited longest to where they belong.
    fn clean(&mut self, now: u64) {
        let Some((_, cache)) = &mut self.cache else { return };
        let Some(Cached { band, entries }) = cache.take_oldest() else { return };
        let mut changed = Ranges::default();
        let mut reads = Vec::with_capacity(entries.len() + 1);
        for (range, at) in entries {
            reads.push(at..at + range.end - range.start);
            self.bands.grow(&range);
            changed.insert(range);
        }
        let moved = self.bands.moved(band, &changed, self.settings.rewrite);
        reads.extend(Some(self.home(&moved.read)).filter(|read| !read.is_empty()));
        self.order(reads, &moved.write, Cause::Reclaim, None, now);
    }

    /// Carries out a write, unless there is no room for it now.
    fn write(&mut self, write: &Arrived, now: u64) -> bool {
        let Arrived { ticket, command, .. } = *write;
        let range = self.range(&command);
        let bytes = range.end - range.start;
        if self.is_cached(&range, write.streamed) {
            return self.write_cached(ticket, range, command.cause, now);
        }
        let pieces: Vec<Range<u64>> = self.bands.pieces(range.clone()).collect();
        let appends = pieces.iter().all(|piece| self.bands.appends(piece));
        let room = self.settings.burst_buffer.saturating_sub(self.buffered);
        if !appends && bytes > room && self.buffered > 0 {
            if let Some(burst) = self.bands.end_oldest(|_| true) {
                self.rewrite(burst, now);
            }
            return false;
        }
        if let Some((_, cache)) = &mut self.cache {
            cache.drop_range(range.clone());
        }
        if appends {
            pieces.iter().for_each(|piece| self.bands.grow(piece));
            self.written.count(command.cause, ByteCount(bytes), ByteCount(bytes));
            let there = self.at(&command, self.home(&range).start);
            self.pass_on(now, ticket, &there);
            return true;
        }
        self.written.count(command.cause, ByteCount(bytes), ByteCount(0));
        for piece in pieces {
            self.change(piece, command.cause, now);
        }
        while self.bands.open().count() > self.settings.open_bands {
            let oldest = self.bands.end_oldest(|_| true).expect("an open burst");
            self.rewrite(oldest, now);
        }
        let end = self.disk.take_in(now, bytes);
        self.decide(ticket, now, end);
        true
    }

    fn change(&mut self, piece: Range<u64>, cause: Cause, now: u64) {
        if self.bands.appends(&piece) {
            self.bands.grow(&piece);
            self.written.count(cause, ByteCount(0), ByteCount(piece.end - piece.start));
            return self.disk.write_inside(now, NOBODY, self.home(&piece), cause, false);
        }
        let held = |bands: &Bands| bands.open().map(|burst| burst.bytes).sum::<u64>();
        let before = held(&self.bands);
        self.bands.change(piece, cause, now);
        self.buffered += held(&self.bands) - before;
    }

    /// Whether a write goes to the persistent cache.
    fn is_cached(&self, range: &Range<u64>, streamed: u64) -> bool {
        let joins = || self.bands.pieces(range.clone()).all(|piece| self.bands.is_open(&piece));
        self.settings.cache.is_some_and(|cache| streamed < cache.bypass && !joins())
    }

    fn write_cached(&mut self, ticket: u64, range: Range<u64>, cause: Cause, now: u64) -> bool {
        let Some((settings, cache)) = &mut self.cache else { return false };
        let bytes = range.end - range.start;
        if self.cache_full || !cache.has_room(bytes) {
            self.cache_full = true;
            if self.rewriter.is_idle() {
                self.clean(now);
            }
            return false;
        }
        let mut at = 0;
        for piece in self.bands.pieces(range) {
            at = cache.put(piece.clone()) + piece.end - piece.start;
        }
        let end = self.disk.occupy(now, settings.entry, at.saturating_sub(bytes)..at, cause);
        self.written.count(cause, ByteCount(bytes), ByteCount(bytes));
        self.decide(ticket, now, end);
        true
    }

    fn decide(&mut self, ticket: u64, start: u64, end: u64) {
        let progress = Progress::Decided { start: Time(start), end: Time(end) };
        self.decided.insert(ticket, progress);
    }

    fn read(&mut self, now: u64, ticket: u64, command: &Command) {
        let range = self.range(command);
        if self.bands.open().chain(self.rewriter.bursts()).any(|burst| burst.holds(&range)) {
            let end = self.disk.take_in(now, range.end - range.start);
            return self.decide(ticket, now, end);
        }
        let cached = self.cache.as_ref().and_then(|(_, cache)| cache.find(&range));
        let byte = cached.unwrap_or_else(|| self.home(&range).start);
        let there = self.at(command, byte);
        self.pass_on(now, ticket, &there);
    }

    fn pass_on(&mut self, now: u64, ticket: u64, command: &Command) {
        if let Progress::Decided { start, end } = self.disk.submit(Time(now), ticket, command) {
            self.decide(ticket, start.0, end.0);
        }
    }

    fn progress(&mut self, ticket: u64, now: Time) -> Progress {
        if let Some(progress) = self.decided.remove(&ticket) {
            return progress;
        }
        if let Some(progress) = self.disk.outcome(ticket) {
            return progress;
        }
        let ask = Time(self.next().expect("something to do while a command waits"));
        assert!(ask > now, "ticket {ticket} is undecided at {now} with something due at {ask}");
        Progress::Undecided { ask }
    }
}

/// The ticket of the layer's writes, which have no waiter.
const NOBODY: u64 = u64::MAX - 1;

impl Timing for Translated {
    fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress {
        self.advance(now.0);
        self.last_asked = now.0;
        match command.kind {
            _ if command.refused => self.pass_on(now.0, ticket, command),
            RequestKind::Read => self.read(now.0, ticket, command),
            RequestKind::Write => {
                let streamed = self.streams.write(&self.range(command));
                let write = Arrived { ticket, command: *command, streamed };
                if !self.waiting.is_empty() || !self.write(&write, now.0) {
                    self.waiting.push_back(write);
                }
            }
            _ => self.pass_on(now.0, ticket, command),
        }
        self.advance(now.0);
        self.progress(ticket, now)
    }

    fn poll(&mut self, now: Time, ticket: u64) -> Progress {
        self.advance(now.0);
        self.progress(ticket, now)
    }

    fn power_cut(&mut self, now: Time) {
        self.advance(now.0);
        self.disk.power_cut(now);
        self.rewriter.clear();
        self.bands.clear();
        self.waiting.clear();
        self.decided.clear();
        self.buffered = 0;
        self.cache_full = false;
    }

    fn work(&mut self, now: Time) -> Work {
        self.advance(now.0);
        let mut work = self.disk.work(now);
        work.take_counts(&self.written);
        work
    }
}
