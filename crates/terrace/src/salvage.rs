//! [`Salvage`]: reads a range of a store with damaged tables. It returns, in key order, the entries
//! that are certainly the newest, and lists the ranges of keys in which entries are left out.
//!
//! - All tables of the range are read and verified when the salvage begins. So the list is complete
//!   before the first entry is returned. A read that fails then counts as damage, for any reason,
//!   unless the store is closed meanwhile.
//! - Within a listed range, some entries are still returned: those in memory and in newer runs of
//!   tables than the damaged one.
//! - A read that fails later ends the iteration with an error.
//! - Tables that were lost with an offload device are not part of it: see
//!   [`Db::lost_ranges`](crate::Db::lost_ranges). In their ranges an entry may be an older one.
//!
//! While it lives it keeps space from being freed. One thread at a time uses it. It changes nothing
//! in the store.

use bytes::Bytes;
use terrace_lsm::LeftOut;

use crate::Error;

/// The undamaged entries of a range, in order, and the parts that are left out.
#[derive(Debug)]
pub struct Salvage(pub(crate) terrace_lsm::Salvage);

impl Salvage {
    /// Ranges that are left out.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        self.0.left_out()
    }
}

impl Iterator for Salvage {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|entry| Ok(entry?))
    }
}
