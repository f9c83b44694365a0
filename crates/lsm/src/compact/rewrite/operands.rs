//! Combines the operands of a key in a [`Rewrite`]: they are held in
//! [`Combining`](super::Combining) until the job meets the entry below them, or an entry of another
//! key.
//!
//! - The first kept operand of a key decides where the key goes, as any first entry does.
//! - The entry below is a put, a delete or an expired entry that the same readers see. It and the
//!   operands become a put.
//! - A put with an expiry stays as it is: once it has expired, the operands count without it.
//! - If the job has no older entry of the key, and none may lie below its inputs, nothing counts
//!   below the operands.
//!
//! One actor carries out a job.

use super::Rewrite;
use crate::Error;
use crate::compact::combining::{Base, Combined, Ended};
use crate::key::{self, Kind, Trailer};
use crate::old_versions::HeldBy;

impl Rewrite {
    /// Takes the operand that the merge stands on. `first`: it is the first of its key; `joins`:
    /// the same readers see the operands before it.
    pub(super) fn push_operand(
        &mut self,
        (first, joins): (bool, bool),
        held_by: Option<HeldBy>,
    ) -> Result<(), Error> {
        if self.combining.is_begun() && !joins {
            self.end_operands(Base::Unknown)?;
        }
        self.begin_entry(first)?;
        let (full_key, trailer) = key::split(self.merge.key().expect("a merge on an entry"));
        let operand = Combined { trailer, value: self.merge.value_slice().to_vec(), held_by };
        if self.combining.push(full_key, first, operand) {
            self.end_operands(Base::Unknown)?;
        }
        Ok(())
    }

    /// Ends the operands above the merge's current entry, which is no operand and has this trailer
    /// for the job. Returns whether they contain it. `joins`: the same readers see it.
    pub(super) fn joins_operands(&mut self, joins: bool, trailer: Trailer) -> Result<bool, Error> {
        let base = match trailer.kind() {
            Some(Kind::Put) if joins => Base::Value(self.merge.value_slice()),
            Some(Kind::Delete) if joins => Base::Nothing,
            _ => Base::Unknown,
        };
        let ended = self.combining.end(base);
        let is_put = ended.is_put;
        // A put counts its base as dropped; a delete is one more dropped entry.
        self.counts.dropped += u64::from(is_put && base == Base::Nothing);
        self.write_ended(ended)?;
        Ok(is_put)
    }

    /// Ends the operands if the merge's current entry has another key. Returns whether it did.
    pub(super) fn end_key(&mut self) -> Result<bool, Error> {
        let here = self.merge.key().map(|found| key::split(found).0);
        let Some(full_key) = self.combining.full_key().filter(|of| here != Some(*of)) else {
            return Ok(false);
        };
        let base = if self.elision.may_hold(full_key) { Base::Unknown } else { Base::Nothing };
        self.end_operands(base)?;
        Ok(true)
    }

    fn end_operands(&mut self, base: Base<'_>) -> Result<(), Error> {
        let ended = self.combining.end(base);
        self.write_ended(ended)
    }

    /// Writes the entries that replace operands, to the place of the key's first entry.
    fn write_ended(&mut self, ended: Ended) -> Result<(), Error> {
        let Ended { full_key, entries, dropped, is_put, is_first } = ended;
        self.counts.dropped += dropped;
        for Combined { mut trailer, mut value, held_by } in entries {
            if is_put && is_first && self.filter.drops_combined(&full_key, trailer, &value) {
                self.counts.filtered += 1;
                if !self.retention.has_snapshots() && !self.elision.may_hold(&full_key) {
                    self.counts.dropped += 1;
                    continue;
                }
                trailer = Trailer::new(trailer.sequence(), Kind::Delete);
                value.clear();
            }
            let route = (self.route, &self.routes[self.route]);
            let internal_key = key::internal_key(&full_key, trailer);
            self.tables.add(route, (&internal_key, &value), held_by)?;
        }
        Ok(())
    }
}
