//! [`Moved`]: counts the blocks that reclaim has moved *for nothing*: their file was deleted before
//! the space that was free when they were moved had been written. Reclaim could have left them
//! where they were, and the writers would still have found space until then.
//!
//! Time is counted in blocks that writers and reclaim have claimed. A file is remembered from its
//! move until it is deleted or its time is over, so that memory holds at most an entry to each file
//! that was moved. A file that is deleted while its move is committed may be missed.
//!
//! Pure; its owner locks it.

use std::collections::{BTreeMap, BTreeSet};

use terrace_env::FileId;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Blocks that were moved, and when the time is over, by file.
    files: BTreeMap<FileId, (u64, u64)>,
    /// The same files, by the end of their time.
    ends: BTreeSet<(u64, FileId)>,
    in_vain: u64,
}

impl Moved {
    /// Blocks of a file were moved at `now`, while `free` blocks were free.
    pub(super) fn note(&mut self, file: FileId, blocks: u64, now: u64, free: u64) {
        self.forget_before(now);
        let (before, end) = self.files.remove(&file).unwrap_or_default();
        self.ends.remove(&(end, file));
        let end = now.saturating_add(free);
        self.files.insert(file, (before + blocks, end));
        self.ends.insert((end, file));
    }

    /// A file is deleted at `now`.
    pub(super) fn note_deleted(&mut self, file: FileId, now: u64) {
        self.forget_before(now);
        if let Some((blocks, end)) = self.files.remove(&file) {
            self.ends.remove(&(end, file));
            self.in_vain += blocks;
        }
    }

    /// Blocks that were moved for nothing.
    pub(super) fn in_vain(&self) -> u64 {
        self.in_vain
    }

    fn forget_before(&mut self, now: u64) {
        while let Some((end, file)) = self.ends.first().copied().filter(|(end, _)| *end <= now) {
            self.ends.remove(&(end, file));
            self.files.remove(&file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_in_vain_if_its_file_goes_before_the_free_space_is_written() {
        let mut moved = Moved::default();
        moved.note(FileId(1), 10, 100, 50);
        moved.note(FileId(2), 20, 100, 50);
        moved.note_deleted(FileId(1), 149);
        moved.note_deleted(FileId(2), 150);
        moved.note_deleted(FileId(3), 150);
        assert_eq!(moved.in_vain(), 10);
        assert!(moved.files.is_empty() && moved.ends.is_empty());
    }

    #[test]
    fn a_file_that_is_moved_in_parts_counts_from_its_last_one() {
        let mut moved = Moved::default();
        moved.note(FileId(1), 10, 100, 50);
        moved.note(FileId(1), 5, 120, 50);
        moved.note_deleted(FileId(1), 160);
        assert_eq!(moved.in_vain(), 15);
    }
}
