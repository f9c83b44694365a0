//! Gathering: reclaim's part of the pool of shingled tracks. It says when free blocks are to be
//! gathered and between which free runs, and which writers wait for that.
//!
//! The end of a free run serves as a guard and cannot be written. The more runs there are, the more
//! free blocks are of no use. Files that lie between two free runs are moved elsewhere: the runs
//! become one, and one of two guards can be written.
//!
//! - **When**: a log of deletes, a flush or a compaction finds no room, and wants no more than the
//!   [`Governor`](super::governor::Governor) keeps for it. It waits until there is room, gathering
//!   is *exhausted*, or a device's worth of blocks has been moved. New data does not wait: it is
//!   refused.
//! - **Where**: [`PlainPool::choose_span`]. A *span* reaches from the end of a free run to the
//!   start of a later one, and holds files that can be moved, and free runs. The choice is the span
//!   that gains the most blocks for each block that is moved. Its files are moved in their order,
//!   to free runs outside of it: also to the one before it, which then grows as the span shrinks.
//! - **Exhausted**: no span gains anything, or there is no room for a copy. Blocks that come free,
//!   or are set aside no more, end that.
//!
//! # Threads
//! Runs under the pool's lock. `await_gathering` waits, and gives the lock up meanwhile.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::Rank;

use super::PlainPool;
use super::state::{State, blocks_of_bytes};
use crate::space::{Ask, Region};

/// Whether an actor gathers free blocks, and is to do so.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathering {
    /// There is an actor that gathers.
    present: bool,
    /// A writer waits.
    wanted: bool,
    /// Gathering is exhausted, and nothing has come free since.
    pub(super) in_vain: bool,
    /// Blocks that were leased to copies since the mount.
    moved: u64,
}

/// Files between free runs that are to be moved, so that the runs become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The blocks of the files, and of free runs between them.
    pub(crate) files: Range<u64>,
    /// The blocks from the span's start to the end of the free run after its files. Nothing of this
    /// is written meanwhile.
    pub(crate) barred: Range<u64>,
}

impl PlainPool {
    /// An actor gathers from now on, if that can be of use: if the device has guards.
    pub(crate) fn start_gathering(&self) -> bool {
        let mut state = self.state.lock();
        state.gathering.present = state.guard.most() > 0;
        state.gathering.present
    }

    /// The actor ends: ends the waits for it, and its own.
    pub(crate) fn stop_gathering(&self) {
        self.state.lock().gathering.present = false;
        self.changed.notify_all();
        self.gather.notify_all();
    }

    /// Waits until free blocks are to be gathered; `false` when the actor is to end.
    pub(crate) fn await_gathering(&self) -> bool {
        let mut state = self.state.lock();
        while state.gathering.present && !state.gathering.wanted {
            self.gather.wait(&mut state);
        }
        state.gathering.present
    }

    /// Whether gathering is to end.
    pub(crate) fn is_gathering_stopped(&self) -> bool {
        !self.state.lock().gathering.present
    }

    /// A span has been emptied, or as much of it as there was room for; or no span is left, and
    /// gathering is exhausted. Waiting writers look again.
    pub(crate) fn end_span(&self, in_vain: bool) {
        let mut state = self.state.lock();
        (state.gathering.wanted, state.gathering.in_vain) = (false, in_vain);
        self.changed.notify_all();
    }

    /// The span to empty. `files`: extents that can be moved, in the order of their blocks.
    /// `except`: where spans begin that there is no room for.
    pub(crate) fn choose_span(&self, files: &[Range<u64>], except: &BTreeSet<u64>) -> Option<Span> {
        self.state.lock().choose_span(files, except)
    }

    /// Leases a region for a copy: of free runs outside of `barred`, the shortest one in which it
    /// fits, else the longest one.
    pub(crate) fn lease_outside(self: Arc<Self>, ask: &Ask, barred: &Range<u64>) -> Option<Region> {
        let pool = Arc::clone(&self);
        let mut state = pool.state.lock();
        state.check_running().ok()?;
        let region = state.choose_outside(ask, barred)?;
        debug_assert!(
            region.end <= barred.start || region.start >= barred.end,
            "{region:?} is within {barred:?}"
        );
        state.gathering.moved += region.end - region.start;
        Some(self.lease_chosen(&mut state, ask, region))
    }
}

impl State {
    /// Whether a writer that finds no room for `blocks` waits for free blocks to be gathered; if
    /// so, gathering begins. `patience`: the blocks moved after which it waits no more.
    pub(super) fn calls_gathering(
        &mut self,
        (rank, blocks): (Rank, u64),
        patience: &mut Option<u64>,
    ) -> bool {
        let Gathering { present, in_vain, moved, .. } = self.gathering;
        let is_patient = moved <= *patience.get_or_insert(moved + self.capacity);
        let calls = present && !in_vain && is_patient && blocks <= self.governor.kept_for(rank);
        self.gathering.wanted |= calls;
        calls
    }

    /// The region that a writer gets: see [`PlainPool::lease_outside`].
    fn choose_outside(&self, ask: &Ask, barred: &Range<u64>) -> Option<Range<u64>> {
        let least = u64::from(ask.least.max(1));
        let available = self.available(ask.rank, ask.reservation);
        let wanted = ask.left.map_or(least, blocks_of_bytes).max(least).min(available);
        let blocks = (wanted >= least).then_some((least, wanted))?;
        self.choose_of(ask.rank, blocks, u64::MAX, barred)
    }

    /// See [`PlainPool::choose_span`]. From each free run on, spans to the later ones are looked
    /// at, up to the first that gains anything. Spans with room outside for all their files come
    /// before those whose files must go one by one to the room that earlier files leave.
    fn choose_span(&self, files: &[Range<u64>], except: &BTreeSet<u64>) -> Option<Span> {
        let runs: Vec<Range<u64>> = self.free.runs().collect();
        let between = between(&runs, files);
        let all: u64 = runs.iter().map(|run| self.usable(run)).sum();
        let stretch = self.free.stretch(0).end;
        let kept = self.governor.stretches_kept(Rank::Reclaim, self.journal);
        let spare = self.free.whole().saturating_sub(kept) * stretch;
        let available = self.available(Rank::Reclaim, 0);
        let mut best: Option<(Worth, Span)> = None;
        let firsts = (0..runs.len()).filter(|first| !except.contains(&runs[*first].end));
        for first in firsts {
            let (mut moved, mut largest, mut barred) = (0, 0, 0);
            let mut writable = self.guard.writable(&runs[first]);
            for last in first + 1..runs.len() {
                let Some(files) = between[last - 1] else { break };
                (moved, largest) = (moved + files.blocks, largest.max(files.largest));
                writable += self.guard.writable(&runs[last]);
                barred += self.usable(&runs[last]);
                let joined = self.guard.writable(&(runs[first].start..runs[last].end));
                let gain = joined.saturating_sub(writable + moved);
                if gain == 0 {
                    continue;
                }
                // The region of a copy has a guard of its own, and may leave one at its old place.
                let room = (all + spare - barred).min(available);
                let room = room.saturating_sub(2 * self.guard.most());
                if largest <= room {
                    let worth = Worth { at_once: moved <= room, gain, moved };
                    if best.as_ref().is_none_or(|(other, _)| worth.is_more_than(other)) {
                        let start = runs[first].end;
                        let (files, barred) = (start..runs[last].start, start..runs[last].end);
                        best = Some((worth, Span { files, barred }));
                    }
                }
                break;
            }
        }
        best.map(|(_, span)| span)
    }

    /// Blocks of a free run that can be written without breaking a whole stretch.
    fn usable(&self, run: &Range<u64>) -> u64 {
        let stretches = self.free.stretches_in(run) * self.free.stretch(0).end;
        self.guard.writable(run).saturating_sub(stretches)
    }
}

/// Files between two free runs that follow each other, all of which can be moved.
#[derive(Clone, Copy, Debug)]
struct Between {
    blocks: u64,
    largest: u64,
}

/// Files between each free run and the next; `None` if there is anything that cannot be moved.
fn between(runs: &[Range<u64>], files: &[Range<u64>]) -> Vec<Option<Between>> {
    let mut files = files.iter().peekable();
    let between = |pair: &[Range<u64>]| {
        let (start, end) = (pair[0].end, pair[1].start);
        let (mut at, mut largest) = (start, 0);
        while files.next_if(|file| file.start < at).is_some() {}
        while let Some(file) = files.next_if(|file| file.start == at && file.end <= end) {
            (at, largest) = (file.end, largest.max(file.end - file.start));
        }
        (at == end).then_some(Between { blocks: end - start, largest })
    };
    runs.windows(2).map(between).collect()
}

/// Worth of a span.
#[derive(Clone, Copy, Debug)]
struct Worth {
    /// There is room outside for all files of the span.
    at_once: bool,
    gain: u64,
    moved: u64,
}

impl Worth {
    fn is_more_than(&self, other: &Self) -> bool {
        let gain = |of: &Self, by: &Self| u128::from(of.gain) * u128::from(by.moved);
        (self.at_once, gain(self, other)) > (other.at_once, gain(other, self))
    }
}
