//! Finds the next visible key in a direction, from the position of the cursor's merge.
//!
//! - Forward, the newest version of a key comes first, and the others are skipped. Backward, it
//!   comes last: the cursor keeps its value while the merge goes on to the next smaller key.
//! - After [`LEAP_AFTER`] entries in a row that range tombstones hide, the sources skip to the end
//!   of the hidden range (backward: to its start). A source that may have entries in between that
//!   are newer than the tombstone skips less, or nothing.
//! - After [`SKIP_AFTER`] versions in a row that are too old or too new, the sources skip to the
//!   newest visible one, or to the next key.
//! - The [`Stretch`] gets the entries that are passed, and knows the range to skip.
//!
//! One thread at a time, which holds no lock: a move may wait for the device.

use bytes::{Buf, Bytes};

use super::{Cursor, Standing};
use crate::Error;
use crate::cost;
use crate::expiry::{self, EXPIRY_BYTES};
use crate::key::{self, Kind, Trailer};
use crate::read::stretch::Stretch;

/// Entries between two charges of processor time.
const CHARGE_ENTRIES: u32 = 64;
/// Hidden entries in a row after which the sources skip to the end of the hiding range. The skip
/// costs each source a search, about as much as ten steps.
const LEAP_AFTER: u32 = 8;
/// Too old or too new versions in a row after which the sources skip the others.
const SKIP_AFTER: u32 = 16;

impl Cursor {
    /// Moves to the first visible key at or after a full key.
    pub(super) fn start_forward(&mut self, from: &[u8]) -> Result<bool, Error> {
        self.standing = Standing::Nowhere;
        let skip = self.stretch.as_mut().and_then(|stretch| stretch.begin_forward(from));
        let from = skip.as_deref().unwrap_or(from);
        self.open();
        self.merge.seek(&key::internal_key(from, Trailer::NEWEST))?;
        self.find_forward(false)
    }

    /// Moves to the last visible key before a full key, or of the range.
    pub(super) fn start_backward(&mut self, before: Option<Vec<u8>>) -> Result<bool, Error> {
        self.standing = Standing::Nowhere;
        self.open();
        match before {
            Some(before) => {
                let stretch = self.stretch.as_mut();
                let skip = stretch.and_then(|stretch| stretch.begin_backward(&before));
                let before = skip.unwrap_or(before);
                self.merge.seek_before(&key::internal_key(&before, Trailer::NEWEST))?;
            }
            None => {
                self.stretch.iter_mut().for_each(Stretch::end);
                self.merge.seek_to_last()?;
            }
        }
        self.find_backward()
    }

    /// Goes on to a visible key; `decided`: no further version of `full_key` is needed.
    pub(super) fn find_forward(&mut self, mut decided: bool) -> Result<bool, Error> {
        self.versions = 0;
        while let Some(found) = self.merge.key() {
            let (full_key, trailer) = key::split(found);
            let is_past = |end: &Vec<u8>| !key::is_before(full_key, end, self.end_head);
            if self.end.as_ref().is_some_and(is_past) {
                break;
            }
            self.uncharged += 1;
            let same = decided && full_key == self.full_key;
            let counts = !same && trailer.sequence() <= self.sequence;
            if counts {
                self.versions = 0;
                self.full_key.clear();
                self.full_key.extend_from_slice(full_key);
                decided = true;
                let hidden = match &mut self.coverage {
                    Some(coverage) => coverage.hides(full_key, trailer.sequence())?,
                    None => false,
                };
                if !hidden && trailer.is_operand() {
                    if self.combine()? {
                        self.hidden = 0;
                        return Ok(self.arrive_forward(Standing::Combined));
                    }
                    continue;
                }
                if !hidden && self.is_shown(trailer)? {
                    self.hidden = 0;
                    self.merge.ready()?;
                    return Ok(self.arrive_forward(Standing::Forward));
                }
                if hidden && self.leap_forward()? {
                    continue;
                }
            }
            if self.skip_forward(same)? || (!counts && self.skip_versions(same)?) {
                continue;
            }
            self.merge.next()?;
        }
        Ok(self.end_forward())
    }

    /// Goes back to a visible key.
    pub(super) fn find_backward(&mut self) -> Result<bool, Error> {
        self.versions = 0;
        // Whether the newest version so far of `full_key` is shown, once one is visible.
        let mut newest: Option<bool> = None;
        while let Some(found) = self.merge.key() {
            let (full_key, trailer) = key::split(found);
            if full_key < &self.start[..] {
                break;
            }
            if newest.is_some() && full_key != self.full_key {
                if newest == Some(true) {
                    break;
                }
                newest = None;
            }
            self.uncharged += 1;
            if self.skip_backward()? {
                newest = None;
                continue;
            }
            let Some(found) = self.merge.key() else { break };
            let (full_key, _) = key::split(found);
            let visible = trailer.sequence() <= self.sequence;
            if newest.is_none() && visible {
                self.versions = 0;
            }
            self.versions += 1;
            if self.versions >= SKIP_AFTER {
                self.versions = 0;
                newest = self.find_newest()?;
                continue;
            }
            let hidden = match &mut self.coverage {
                Some(coverage) if visible => coverage.hides(full_key, trailer.sequence())?,
                _ => false,
            };
            if visible && !hidden && trailer.is_operand() {
                // This may be the newest version: the entry below has been passed already.
                self.hidden = 0;
                newest = self.find_newest()?;
                continue;
            }
            if visible && !hidden {
                self.hidden = 0;
                if newest.is_none() {
                    self.full_key.clear();
                    self.full_key.extend_from_slice(full_key);
                }
                newest = Some(self.take_shown(trailer)?);
            }
            if !(hidden && newest.is_none() && self.leap_backward()?) {
                self.merge.prev()?;
            }
        }
        Ok(self.end_backward(newest == Some(true)))
    }

    /// Whether the merge's entry has a value that had not expired when the cursor was made. Notes
    /// its expiry.
    fn is_shown(&mut self, trailer: Trailer) -> Result<bool, Error> {
        self.expiry = None;
        match trailer.kind() {
            Some(Kind::Put) => Ok(true),
            Some(Kind::PutWithExpiry) => {
                self.merge.ready()?;
                self.expiry = expiry::split(self.merge.value_slice()).map(|(expiry, _)| expiry);
                let is_shown =
                    self.expiry.is_some_and(|expiry| !expiry::has_expired(expiry, self.date));
                if !is_shown && let Some(stretch) = &mut self.stretch {
                    stretch.note_expired();
                }
                Ok(is_shown)
            }
            Some(Kind::Operand | Kind::Delete | Kind::RangeDelete) | None => Ok(false),
        }
    }

    /// The same; stores the value if it is shown.
    fn take_shown(&mut self, trailer: Trailer) -> Result<bool, Error> {
        let is_shown = self.is_shown(trailer)?;
        if is_shown {
            self.merge.ready()?;
            self.value = self.merge.value();
            self.value.advance(self.expiry.map_or(0, |_| EXPIRY_BYTES));
        }
        Ok(is_shown)
    }

    /// Forward, passes an entry: skips to the end of the keys that are known to be empty. Returns
    /// whether the merge was moved. `same`: the entry is of the same key as the one before.
    pub(super) fn skip_forward(&mut self, same: bool) -> Result<bool, Error> {
        let (Some(stretch), Some(found)) = (&mut self.stretch, self.merge.key()) else {
            return Ok(false);
        };
        let Some(until) = stretch.pass_forward(key::split(found).0, same) else { return Ok(false) };
        self.merge.skip_to(&key::internal_key(&until, Trailer::NEWEST))?;
        Ok(true)
    }

    /// The same backward.
    pub(super) fn skip_backward(&mut self) -> Result<bool, Error> {
        let (Some(stretch), Some(found)) = (&mut self.stretch, self.merge.key()) else {
            return Ok(false);
        };
        let Some(from) = stretch.pass_backward(key::split(found).0) else { return Ok(false) };
        self.merge.skip_before(&key::internal_key(&from, Trailer::NEWEST))?;
        Ok(true)
    }

    /// Forward, passes a version that is too old or too new. After many in a row it skips the older
    /// ones of the key (`same`), or those that are too new. Returns whether the merge was moved.
    pub(super) fn skip_versions(&mut self, same: bool) -> Result<bool, Error> {
        self.versions += 1;
        let Some(found) = self.merge.key().filter(|_| self.versions >= SKIP_AFTER) else {
            return Ok(false);
        };
        let (full_key, _) = key::split(found);
        let target = match same {
            true => key::internal_key(&key::successor(full_key), Trailer::NEWEST),
            false => key::internal_key(full_key, Trailer::seek(self.sequence)),
        };
        self.versions = 0;
        self.merge.skip_to(&target)?;
        Ok(true)
    }

    /// Backward, if a key has many versions: whether the newest visible one is shown, if there is
    /// one. The key of the merge's entry goes to `full_key`. The merge goes on to the key before.
    pub(super) fn find_newest(&mut self) -> Result<Option<bool>, Error> {
        let Some(found) = self.merge.key() else { return Ok(None) };
        let full_key = key::split(found).0.to_vec();
        self.merge.seek(&key::internal_key(&full_key, Trailer::seek(self.sequence)))?;
        let found = self.merge.key().map(key::split);
        let mut newest = found.filter(|(key, _)| *key == full_key).map(|(_, trailer)| trailer);
        if let (Some(coverage), Some(trailer)) = (&mut self.coverage, newest)
            && coverage.hides(&full_key, trailer.sequence())?
        {
            newest = None;
        }
        self.full_key = full_key;
        let newest = match newest {
            Some(trailer) if trailer.is_operand() => Some(self.combine()?),
            Some(trailer) => Some(self.take_shown(trailer)?),
            None => None,
        };
        self.merge.seek_before(&key::internal_key(&self.full_key, Trailer::NEWEST))?;
        Ok(newest)
    }

    /// After many hidden entries in a row, skips to the end of the hiding range, in the sources
    /// that have only older entries in between. Returns whether the merge was moved.
    pub(super) fn leap_forward(&mut self) -> Result<bool, Error> {
        self.hidden += 1;
        let around = self.coverage.as_ref().and_then(|coverage| coverage.around());
        let Some((cover, _, until)) = around.filter(|_| self.hidden >= LEAP_AFTER) else {
            return Ok(false);
        };
        self.hidden = 0;
        self.merge.leap(cover, until)?;
        Ok(true)
    }

    /// The same backward.
    pub(super) fn leap_backward(&mut self) -> Result<bool, Error> {
        self.hidden += 1;
        let around = self.coverage.as_ref().and_then(|coverage| coverage.around());
        let Some((cover, from, _)) = around.filter(|_| self.hidden >= LEAP_AFTER) else {
            return Ok(false);
        };
        self.hidden = 0;
        self.merge.leap_back(cover, from)?;
        Ok(true)
    }

    /// Sets the position to the key in `full_key`.
    pub(super) fn arrive_forward(&mut self, standing: Standing) -> bool {
        if let Some(stretch) = &mut self.stretch {
            stretch.end_forward(&self.full_key);
        }
        self.arrive(standing)
    }

    /// Notes that there is no further key.
    pub(super) fn end_forward(&mut self) -> bool {
        match (&mut self.stretch, &self.end) {
            (Some(stretch), Some(end)) => stretch.end_forward(end),
            (Some(stretch), None) => stretch.end(),
            (None, _) => {}
        }
        self.arrive(Standing::Nowhere)
    }

    /// Sets the position to the key in `full_key` if one was `found`; else there is no further key.
    pub(super) fn end_backward(&mut self, found: bool) -> bool {
        if let Some(stretch) = &mut self.stretch {
            match found {
                true => stretch.end_backward_at(&self.full_key),
                false => stretch.end_backward(&self.start),
            }
        }
        self.arrive(if found { Standing::Backward } else { Standing::Nowhere })
    }

    pub(super) fn arrive(&mut self, standing: Standing) -> bool {
        self.standing = standing;
        debug_assert!(
            standing != Standing::Forward || self.merge.key().is_some(),
            "the value is that of the merge"
        );
        if !matches!(standing, Standing::Backward | Standing::Combined) {
            self.value = Bytes::new();
        }
        if standing == Standing::Nowhere || self.uncharged >= CHARGE_ENTRIES {
            cost::charge_scan(std::mem::take(&mut self.uncharged));
        }
        self.is_on_key()
    }
}
