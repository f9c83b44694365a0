//! [`Salvage`]: reads a range of a store with damaged tables. It gives, in key order, the entries
//! that are certainly the newest, and lists the ranges of keys in which entries are left out.
//!
//! The list is complete before the first entry is given. Within a listed range, entries of newer
//! runs and of memtables are still given. A read that fails later ends the iteration with an error.
//!
//! To make the list, all tables of the range are read and verified when the salvage is begun: that
//! takes as long as reading them. It keeps space from being freed while it lives.

use bytes::Bytes;
use terrace_lsm::LeftOut;

use crate::Error;

/// The entries of a range that can be read for certain though tables are damaged, in order, and
/// what is left out.
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
