//! Finds the value of a key that has operands: the cursor walks the entries of the key forward,
//! from the newest visible one to the base, and has them combined.
//!
//! Backward, the cursor seeks to the newest entry first, and then to the key before.
//!
//! One thread at a time, which holds no lock: a walk may wait for the device.

use bytes::Buf;

use super::Cursor;
use crate::Error;
use crate::expiry::{self, EXPIRY_BYTES, Shown};
use crate::key::{self, Kind, SPACE_BYTES};
use crate::operands::Chain;

impl Cursor {
    /// Combines the operands of the key in `full_key`. The merge must stand at its newest visible
    /// entry, an operand. Stores the value, and the date at which it changes. The merge goes on to
    /// the base, or past the operands. `false`: the key is left out.
    #[cold]
    pub(super) fn combine(&mut self) -> Result<bool, Error> {
        self.expiry = None;
        let mut chain = Chain::default();
        while let Some((found, trailer)) = self.merge.key().map(key::split) {
            if found != &self.full_key[..] {
                break;
            }
            let hidden = match &mut self.coverage {
                Some(coverage) => coverage.hides(found, trailer.sequence())?,
                None => false,
            };
            if hidden {
                chain.end_deleted();
                break;
            }
            self.uncharged += 1;
            self.merge.ready()?;
            let mut value = self.merge.value();
            match trailer.kind() {
                Some(Kind::Operand) => chain.push(value),
                Some(Kind::Put) => chain.end_with(Shown { value, expiry: None }, self.date),
                Some(Kind::PutWithExpiry) => {
                    let expiry = expiry::split(&value).map(|(expiry, _)| expiry);
                    value.advance(EXPIRY_BYTES.min(value.len()));
                    chain.end_with(Shown { value, expiry }, self.date);
                }
                Some(Kind::Delete | Kind::RangeDelete) | None => chain.end_deleted(),
            }
            if chain.is_ended() {
                break;
            }
            self.merge.next()?;
        }
        if self.is_partial && !chain.is_ended() {
            return Ok(false);
        }
        let Shown { value, expiry } =
            self.combiner.combine(&self.full_key[SPACE_BYTES..], chain)?;
        (self.value, self.expiry) = (value, expiry);
        Ok(true)
    }
}
