//! [`Set`]: the placement group of a merge whose tables are to lie together on the device
//! ([`Merge::set`](terrace_policy::Merge::set)).
//!
//! - The group is as large as the merge's inputs, with the tail of one table added. The outputs can
//!   be larger than that, for example if they compress less.
//! - If the free space is less than sixteen times that size, there is no set, and the tables are
//!   placed one by one.
//! - The group begins when the merge first asks for it. Its space comes first from the reservation
//!   that the merge passes then.
//! - A merge in instalments has one group for all of them.
//!
//! A `Set` is used by one actor, that of the merge.

use std::cell::OnceCell;
use std::sync::Arc;

use terrace_env::store::{FileKind, GroupOptions, PlacementGroup, Rank, Reservation, Store};
use terrace_env::{ByteCount, Cause};
use terrace_policy::{Merge, Route};

use super::worst_case::TABLE_TAIL_BYTES;
use crate::Error;
use crate::tree::{Version, table_hint};

/// A group takes at most this part of the free space.
const FREE_PART: u64 = 16;

/// See the [module](self).
pub(crate) struct Set {
    level: u8,
    stream: u16,
    size: ByteCount,
    group: OnceCell<Arc<PlacementGroup>>,
}

impl Set {
    /// The set of a merge; `None` if its plan has none, or it is large for the `free` space (which
    /// is neither written nor reserved).
    pub(crate) fn of(
        version: &Version,
        merge: &Merge,
        free: ByteCount,
    ) -> Result<Option<Self>, Error> {
        let Some(Route { to, stream, .. }) = merge.routes.first().filter(|_| merge.set) else {
            return Ok(None);
        };
        let mut size = TABLE_TAIL_BYTES;
        for input in &merge.inputs {
            for part in &input.parts {
                size += version.part(input.place, part)?.size.0;
            }
        }
        let (level, stream, size) = (to.level, *stream, ByteCount(size));
        if free.0 / FREE_PART < size.0 {
            return Ok(None);
        }
        Ok(Some(Self { level, stream, size, group: OnceCell::new() }))
    }

    /// Its group, begun under this reservation if it has not begun.
    pub(crate) fn group(
        &self,
        store: &dyn Store,
        reservation: &Reservation,
    ) -> Result<Arc<PlacementGroup>, Error> {
        if let Some(group) = self.group.get() {
            return Ok(Arc::clone(group));
        }
        let group = store.begin_group(&GroupOptions {
            kind: FileKind::Table,
            hint: table_hint(self.level, self.stream),
            size: self.size,
            rank: Rank::Compaction,
            reservation: Some(reservation),
            cause: Cause::Compaction,
        })?;
        Ok(Arc::clone(self.group.get_or_init(|| Arc::new(group))))
    }
}
