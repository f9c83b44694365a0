//! Features that the operations of a [`Player`] use.

use super::super::operation::{Change, Operation};
use super::super::pairs::Feature;
use super::Player;

impl Player<'_> {
    /// Notes the features of an operation that is about to be performed.
    pub(super) fn note(&mut self, operation: &Operation) {
        self.presence.step();
        if self.snapshots.is_empty() {
            self.presence.end(Feature::Snapshot);
        }
        if self.walks.is_empty() {
            self.presence.end(Feature::Cursor);
        }
        for change in changes_of(operation) {
            match change {
                Change::DeleteRange { .. } => self.presence.used(Feature::RangeDelete),
                Change::PutExpiring { .. } => self.presence.used(Feature::Expiry),
                Change::Merge { .. } => self.presence.used(Feature::Merge),
                Change::Put { .. } | Change::Delete { .. } => {}
            }
        }
        let feature = match operation {
            Operation::Swap { .. } | Operation::Transact { .. } => Feature::Transaction,
            Operation::Get { at: Some(_), .. } | Operation::Scan { at: Some(_), .. }
                if !self.snapshots.is_empty() =>
            {
                Feature::Snapshot
            }
            Operation::TakeSnapshot => Feature::Snapshot,
            Operation::OpenCursor { .. } => Feature::Cursor,
            Operation::Walk { .. } if !self.walks.is_empty() => Feature::Cursor,
            Operation::Compact { .. } | Operation::CompactAll => Feature::Compaction,
            Operation::Reopen(_) => Feature::Reopen,
            Operation::Cut { .. } => Feature::Cut,
            Operation::NextDay => Feature::Expiry,
            Operation::DropSpace(space) if self.contents.space(*space) > 0 => Feature::DropSpace,
            Operation::Ingest { .. } => Feature::Ingest,
            Operation::Checkpoint => Feature::Checkpoint,
            _ => return self.end_range_deletes(operation),
        };
        self.presence.used(feature);
        self.end_range_deletes(operation);
    }

    /// After these operations, no range delete is only in memory.
    fn end_range_deletes(&mut self, operation: &Operation) {
        let flushes = matches!(
            operation,
            Operation::Flush | Operation::CompactAll | Operation::Reopen(_) | Operation::Cut { .. }
        );
        if flushes {
            self.presence.end(Feature::RangeDelete);
        }
    }
}

fn changes_of(operation: &Operation) -> &[Change] {
    match operation {
        Operation::Write { changes, .. } | Operation::Transact { changes, .. } => changes,
        _ => &[],
    }
}
