//! [`Set`]: the placement group of a merge whose tables are a set
//! ([`Merge::set`](terrace_policy::Merge::set)).
//!
//! - The group begins with the first table source of the merge, and ends with the merge. A merge
//!   in instalments has one group. The tables of each instalment are a set of their own in their
//!   annotations: the size of a set is recorded when its first tables are committed.
//! - The group's size is that of the merge's inputs, and the tail of one more table. Outputs are
//!   smaller where entries are dropped: the room that is left is free when the group ends. They
//!   are larger where they are compressed less than the inputs, or end earlier than the inputs
//!   did, each with a tail of its own. What goes beyond the size, and beyond the sixteenth that
//!   the store adds, lies elsewhere. A merge that takes the rest of a table counts that rest.
//! - The group takes space under the reservation of the first instalment. Where that is short, the
//!   store places what it has room for, and no table fails for it.
//! - In a store with less free space than sixteen groups of that size take, the tables are no set:
//!   on a device of zones, room for all of them is a free zone more often than not, and others
//!   need it then.
//!
//! One worker writes all instalments, because a group is written by one file at a time. One actor
//! has a `Set`: that of the merge.

use std::cell::OnceCell;
use std::sync::Arc;

use terrace_env::store::{FileKind, GroupOptions, PlacementGroup, Rank, Reservation, Store};
use terrace_env::{ByteCount, Cause};
use terrace_policy::{Merge, Route};

use super::inputs::find;
use super::job::TABLE_TAIL_BYTES;
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
    /// The set of a merge; `None` if its tables are none. `free`: the space that is neither written
    /// nor set aside.
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
                size += find(version, input.place, part)?.size.0;
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
