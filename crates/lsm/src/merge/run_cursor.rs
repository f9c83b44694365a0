//! [`RunCursor`]: walks a sorted run, forward and backward: its segments (tables, or ranges of
//! tables) one after the other, each within its range.
//!
//! - The run must have a segment; [`RunCursor::new`] panics otherwise. All entries of a segment's
//!   range are shown, with the global sequence number if the table has one (as after an ingest).
//!   Range tombstones are not applied.
//! - A table is opened when the walk comes to it. A job that goes forward submits the first read of
//!   the next table earlier, while it consumes the end of the current one, if there is memory.
//! - A [`joint`](RunCursor::joint) cursor reads tables by one request if they are adjacent on the
//!   device.
//! - [`RunCursor::leap`] and [`RunCursor::leap_back`] skip whole tables that are older than a range
//!   tombstone and lie in its range, without opening them.
//! - A scan forward of tables with first keys in their indexes may stand at the first entry of a
//!   block that is not read: [`RunCursor::ready`], or the next move, reads it.
//! - If memory is short, the value may have been freed ([`RunCursor::park`]): [`RunCursor::ready`]
//!   reads it again.
//! - After an error the cursor must seek before any other use.
//!
//! One owner, which holds no lock: a call may wait for the device.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::{Cause, SeqNo};
use terrace_policy::Span;

use joint::Joint;

use crate::Error;
use crate::key::{self, Head, Trailer};
use crate::memory::Walk;
use crate::table::GlobalSequenceCursor;
use crate::tree::{Run, Segment, TableKind};

/// Walks a run.
#[derive(Debug)]
pub(crate) struct RunCursor {
    run: Arc<Run>,
    walk: Walk,
    /// Index of the segment that `cursor` walks, and its range.
    at: usize,
    within: Span,
    /// Head of the end of that range.
    end: Head,
    cursor: Option<GlobalSequenceCursor>,
    /// The next segment, once its first read has been submitted, or could not be.
    next: Option<(usize, Option<GlobalSequenceCursor>)>,
    /// The segments read by one request, for a joint cursor.
    joint: Option<Joint>,
}

impl RunCursor {
    /// A cursor that stands on no entry until it seeks.
    pub(crate) fn new(run: Arc<Run>, walk: Walk) -> Self {
        let within = run.segments[0].span.clone();
        let end = key::head(&within.end);
        Self { run, walk, at: 0, within, end, cursor: None, next: None, joint: None }
    }

    /// A cursor for a job, forward, that reads segments by one request if their files are adjacent.
    pub(crate) fn joint(run: Arc<Run>, cause: Cause) -> Self {
        Self { joint: Some(Joint::default()), ..Self::new(run, Walk::Job(cause)) }
    }

    /// Whether the run lies on a drive with a head.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.run.segments[0].table.is_on_disk()
    }

    /// Whether reads that are submitted may be in flight together.
    pub(crate) fn queues_reads(&self) -> bool {
        self.run.queues_reads()
    }

    /// Index of the first segment that ends after the key.
    fn place_of(&self, full_key: &[u8]) -> usize {
        self.run.segments.partition_point(|segment| &segment.span.end[..] <= full_key)
    }

    /// Index of the last segment that begins at or before the key; without a key, the last of all.
    fn place_before(&self, target: Option<&[u8]>) -> Option<usize> {
        let segments = &self.run.segments;
        let full_key = target.map(|target| key::split(target).0);
        let begins =
            |segment: &Segment| full_key.is_none_or(|full_key| &segment.span.start[..] <= full_key);
        segments.partition_point(begins).checked_sub(1)
    }

    /// Submits the first read of a seek to `target`, an internal key, or of one to the first entry.
    /// The seek must follow, and gets the same errors.
    pub(crate) fn submit_seek(&mut self, target: Option<&[u8]>) {
        let full_key = target.map(|target| key::split(target).0);
        let at = full_key.map_or(0, |full_key| self.place_of(full_key));
        if self.open(at).is_err() {
            return;
        }
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            let _ = match target.filter(|target| &segment.span.start[..] <= key::split(target).0) {
                Some(target) => cursor.submit_seek(Some(target)),
                None => cursor.submit_seek(start_of(segment).as_deref()),
            };
        }
    }

    /// Submits the first read of a seek to before `target`, an internal key, or of one to the last
    /// entry. The seek must follow, and gets the same errors.
    pub(crate) fn submit_seek_before(&mut self, target: Option<&[u8]>) {
        let Some(at) = self.place_before(target) else { return };
        if self.open(at).is_err() {
            return;
        }
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            let _ = match target.filter(|target| key::split(target).0 < &segment.span.end[..]) {
                Some(target) => cursor.submit_seek_before(target),
                None => cursor.submit_seek_before(&end_of(segment)),
            };
        }
    }

    /// Submits the first read of the next segment, once this one is read to its end.
    fn submit_next(&mut self) {
        if self.walk == Walk::Scan || self.next.is_some() {
            return;
        }
        if !self.cursor.as_ref().is_some_and(GlobalSequenceCursor::has_room_for_another) {
            return;
        }
        let at = self.at + 1;
        // The walk gets an error again when it comes there.
        let cursor = segments_at(&self.run, at).and_then(|segment| {
            let mut cursor = self.cursor_of(segment).ok()?;
            cursor.submit_seek(start_of(segment).as_deref()).ok()?;
            Some(cursor)
        });
        self.next = Some((at, cursor));
    }

    /// Moves to the first entry at or after `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        let (full_key, _) = key::split(target);
        let at = self.place_of(full_key);
        self.open(at)?;
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            if &segment.span.start[..] <= full_key {
                cursor.seek(target)?;
            } else {
                cursor.seek(&key::internal_key(&segment.span.start, Trailer::NEWEST))?;
            }
        }
        self.settle()
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<(), Error> {
        self.start(0)?;
        self.settle()
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        let Some(at) = self.place_before(Some(target)) else {
            self.cursor = None;
            return Ok(());
        };
        if &self.run.segments[at].span.end[..] <= key::split(target).0 {
            self.start_at_end(at)?;
        } else {
            self.open(at)?;
            if let Some(cursor) = &mut self.cursor {
                cursor.seek_before(target)?;
            }
        }
        self.settle_back()
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<(), Error> {
        self.start_at_end(self.run.segments.len() - 1)?;
        self.settle_back()
    }

    pub(crate) fn next(&mut self) -> Result<(), Error> {
        if let Some(cursor) = &mut self.cursor {
            cursor.next()?;
        }
        self.submit_next();
        self.settle()
    }

    pub(crate) fn prev(&mut self) -> Result<(), Error> {
        if let Some(cursor) = &mut self.cursor {
            cursor.prev()?;
        }
        self.settle_back()
    }

    /// Skips to the first entry at or after `until`, a full key, or less far if there are entries
    /// newer than `cover` in between. Tables before it are not even opened.
    pub(crate) fn leap(&mut self, cover: SeqNo, until: &[u8]) -> Result<(), Error> {
        let segments = &self.run.segments;
        let older = |segment: &Segment| segment.table.record().last_sequence < cover;
        let passed = |segment: &&Segment| older(segment) && &segment.span.end[..] <= until;
        let rest = segments.slice(self.at..segments.len());
        let at = self.at + rest.iter().take_while(passed).count();
        match segments.get(at) {
            Some(segment) if older(segment) && &segment.span.start[..] < until => {
                self.open(at)?;
                if let Some(cursor) = &mut self.cursor {
                    cursor.seek(&key::internal_key(until, Trailer::NEWEST))?;
                }
            }
            _ if at > self.at => self.start(at)?,
            _ => {}
        }
        self.settle()
    }

    /// Skips back to the last entry before `from`, a full key, or less far if there are entries
    /// newer than `cover` in between.
    pub(crate) fn leap_back(&mut self, cover: SeqNo, from: &[u8]) -> Result<(), Error> {
        let segments = &self.run.segments;
        let older = |segment: &Segment| segment.table.record().last_sequence < cover;
        let passed = |segment: &&Segment| older(segment) && from <= &segment.span.start[..];
        let passed = segments.slice(0..self.at + 1).iter().rev().take_while(passed).count();
        let Some(at) = self.at.checked_sub(passed) else {
            self.cursor = None;
            return Ok(());
        };
        if older(&segments[at]) && from < &segments[at].span.end[..] {
            self.open(at)?;
            if let Some(cursor) = &mut self.cursor {
                cursor.seek_before(&key::internal_key(from, Trailer::NEWEST))?;
            }
        } else if passed > 0 {
            self.start_at_end(at)?;
        }
        self.settle_back()
    }

    /// Approximate memory, without the bytes that its own lease counts.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.cursor.as_ref().map_or(0, GlobalSequenceCursor::uncounted)
    }

    /// See [`TableCursor::park`](crate::table::TableCursor::park).
    pub(crate) fn park(&mut self) {
        if let Some(cursor) = &mut self.cursor {
            cursor.park();
        }
    }

    /// See [`TableCursor::ready`](crate::table::TableCursor::ready).
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        self.cursor.as_mut().map_or(Ok(()), GlobalSequenceCursor::ready)
    }

    /// The current internal key, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.cursor.as_ref()?.key()
    }

    /// The current value.
    ///
    /// # Panics
    /// If it stands on no entry.
    pub(crate) fn value(&self) -> Bytes {
        self.cursor.as_ref().expect("a cursor that stands on an entry").value()
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        self.cursor.as_ref().expect("a cursor that stands on an entry").value_slice()
    }

    /// Goes on to the next segment while this one has no more entry in its range.
    fn settle(&mut self) -> Result<(), Error> {
        while let Some(cursor) = &self.cursor {
            let is_within = |found| key::is_before(key::split(found).0, &self.within.end, self.end);
            if cursor.key().is_some_and(is_within) {
                return Ok(());
            }
            self.start(self.at + 1)?;
        }
        Ok(())
    }

    /// Goes back to the segment before while this one has no more entry in its range.
    fn settle_back(&mut self) -> Result<(), Error> {
        while let Some(cursor) = &self.cursor {
            if cursor.key().is_some_and(|found| key::split(found).0 >= &self.within.start[..]) {
                return Ok(());
            }
            match self.at.checked_sub(1) {
                Some(before) => self.start_at_end(before)?,
                None => self.cursor = None,
            }
        }
        Ok(())
    }

    /// Moves to the last entry of a segment.
    fn start_at_end(&mut self, at: usize) -> Result<(), Error> {
        self.open(at)?;
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            cursor.seek_before(&end_of(segment))?;
        }
        Ok(())
    }

    /// Moves to the first entry of a segment.
    fn start(&mut self, at: usize) -> Result<(), Error> {
        self.open(at)?;
        if let (Some(cursor), Some(segment)) = (&mut self.cursor, segments_at(&self.run, at)) {
            match start_of(segment) {
                None => cursor.seek_to_first()?,
                Some(start) => cursor.seek(&start)?,
            }
        }
        Ok(())
    }

    fn open(&mut self, at: usize) -> Result<(), Error> {
        if self.cursor.is_some() && self.at == at {
            return Ok(());
        }
        self.at = at;
        self.cursor = None;
        let (next, cause) = (self.next.take().filter(|(place, _)| *place == at), self.walk.cause());
        if let Some(segment) = segments_at(&self.run, at) {
            self.within = segment.span.clone();
            self.end = key::head(&self.within.end);
            self.cursor = match next {
                Some((_, Some(cursor))) => Some(cursor),
                _ => {
                    let mut cursor = self.cursor_of(segment)?;
                    let joint = self.joint.as_mut();
                    let part = joint.and_then(|joint| joint.take(&self.run, at, cause));
                    if let Some((offset, bytes)) = part {
                        cursor.share(offset, bytes);
                    }
                    Some(cursor)
                }
            };
        }
        Ok(())
    }

    /// A cursor that stays within a segment.
    fn cursor_of(&self, segment: &Segment) -> Result<GlobalSequenceCursor, Error> {
        let table = segment.table.table(self.walk.cause())?;
        let record = segment.table.record();
        let mut cursor = match record.kind {
            TableKind::Sorted => {
                GlobalSequenceCursor::new(table, self.walk, record.global_sequence)
            }
        };
        cursor.stay_within(&segment.span);
        Ok(cursor)
    }
}

/// The internal key to seek for a segment's first entry; `None`: the first entry of its table.
fn start_of(segment: &Segment) -> Option<Vec<u8>> {
    let is_whole = segment.span.start[..] <= segment.table.record().smallest[..];
    (!is_whole).then(|| key::internal_key(&segment.span.start, Trailer::NEWEST))
}

/// The internal key to seek before for a segment's last entry.
fn end_of(segment: &Segment) -> Vec<u8> {
    key::internal_key(&segment.span.end, Trailer::NEWEST)
}

fn segments_at(run: &Run, at: usize) -> Option<&Segment> {
    run.segments.get(at)
}

mod joint;
#[cfg(test)]
pub(super) mod tests;
