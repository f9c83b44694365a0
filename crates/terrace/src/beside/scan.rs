//! [`ReaderScan`]: the entries of a range, read next to a writer.
//!
//! It holds one view. If the writer frees a table of the view before the scan has read it, the next
//! step fails with [`Moved`](crate::ErrorKind::Moved); a scan that [goes on](ReaderScan::going_on)
//! continues after the last key in a newer view instead.
//!
//! One thread at a time uses it. A step may wait for the medium.

use std::sync::Arc;

use bytes::Bytes;
use terrace_lsm::Bounds;

use super::reader::{Reader, is_damage, outrun};
use super::view::View;
use crate::{Error, ErrorKind, Scan};

/// How often a step is tried, each time in a newer view.
const TRIES: u32 = 16;

/// The entries of a range in order, as an iterator from both ends. Ends after the first error.
///
/// All entries are of the view at its start. The writer does not wait for it: once it has freed and
/// reused a part of the view that the scan has not read yet, the next step is an error of the kind
/// [`Moved`](crate::ErrorKind::Moved). With [`going_on`](Self::going_on) the scan continues.
pub struct ReaderScan {
    // Before the view, whose files it reads.
    scan: Option<Scan>,
    view: Arc<View>,
    reader: Reader,
    space: String,
    /// The rest of the range, without the entries that were returned.
    rest: Bounds,
    goes_on: bool,
}

impl ReaderScan {
    pub(super) fn begin(reader: Reader, space: &str, bounds: Bounds) -> Result<Self, Error> {
        let space = space.to_owned();
        let view = reader.view();
        let (scan, rest, goes_on) = (None, bounds, false);
        let mut begun = Self { scan, view, reader, space, rest, goes_on };
        let (mut tries, mut before) = (TRIES, None);
        loop {
            tries -= 1;
            let error = match begun.open() {
                Ok(()) => return Ok(begun),
                Err(error) => error,
            };
            if is_damage(before.as_ref(), &error) {
                return Err(error);
            }
            begun.move_on(&error, tries)?;
            before = Some(error);
        }
    }

    /// The same scan; if the writer frees a part that it was going to read, it continues after the
    /// last key in a newer view. So each entry is one that the store had at some moment since the
    /// start, but not all of them at the same moment.
    #[must_use]
    pub fn going_on(mut self) -> Self {
        self.goes_on = true;
        self
    }

    fn open(&mut self) -> Result<(), Error> {
        let space = self.view.db.key_space(&self.space)?;
        self.scan = Some(space.scan(self.rest.clone())?);
        Ok(())
    }

    /// Takes a newer view, or returns the error if that does not help.
    fn move_on(&mut self, error: &Error, tries: u32) -> Result<(), Error> {
        self.scan = None;
        if !self.view.may_be_behind(error) {
            return Err(error.clone());
        }
        if tries == 0 {
            return Err(outrun(error));
        }
        self.view = self.reader.newer_than(&self.view)?;
        Ok(())
    }

    fn step(&mut self, backward: bool) -> Result<Option<(Bytes, Bytes)>, Error> {
        let (mut tries, mut before) = (TRIES, None);
        loop {
            tries -= 1;
            let Some(scan) = &mut self.scan else { return Ok(None) };
            let error = match if backward { scan.next_back() } else { scan.next() } {
                None => return Ok(None),
                Some(Ok((key, value))) => {
                    self.rest = without(&self.rest, &key, backward);
                    return Ok(Some((key, value)));
                }
                Some(Err(error)) => error,
            };
            if !self.goes_on {
                self.scan = None;
                return Err(self.judged(error, backward));
            }
            if is_damage(before.as_ref(), &error) {
                self.scan = None;
                return Err(error);
            }
            let mut last = error;
            loop {
                self.move_on(&last, tries)?;
                match self.open() {
                    Ok(()) => break,
                    Err(next) => (last, tries) = (next, tries.saturating_sub(1)),
                }
            }
            before = Some(last);
        }
    }

    /// The error of a step: [`Moved`](ErrorKind::Moved) if the writer has freed what the step was
    /// going to read. Damage is found by a newer view as well.
    fn judged(&self, error: Error, backward: bool) -> Error {
        let moved = self.view.as_moved(error.clone());
        if error.kind() != ErrorKind::Corruption || moved.kind() != ErrorKind::Moved {
            return moved;
        }
        let newer = self.reader.newer_than(&self.view).and_then(|view| {
            let space = view.db.key_space(&self.space)?;
            let mut scan = space.scan(self.rest.clone())?;
            let next = if backward { scan.next_back() } else { scan.next() };
            next.transpose()
        });
        match newer {
            Err(newer) if is_damage(Some(&error), &newer) => error,
            _ => moved,
        }
    }
}

/// The range after a key was taken from its front, or its back.
fn without(rest: &Bounds, key: &[u8], backward: bool) -> Bounds {
    let (start, end) = rest.user_keys();
    if backward {
        return Bounds::starting_at(&start).until(key);
    }
    // The first key after it.
    let after = Bounds::starting_at(&[key, &[0]].concat());
    match end {
        Some(end) => after.until(&end),
        None => after,
    }
}

impl Iterator for ReaderScan {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(false).transpose()
    }
}

impl DoubleEndedIterator for ReaderScan {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(true).transpose()
    }
}

impl std::iter::FusedIterator for ReaderScan {}
