//! [`Salvage`]: reads a range of a store with damaged tables. It gives the entries that are
//! certainly the newest, and lists the ranges of keys that it left out.

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
