//! [`Ahead`]: space that is set aside for a file while it grows. The host then allocates blocks for
//! megabytes at once instead of for each page, which costs less processor time on ext4
//! (`docs/performance.md`).
//!
//! - A file below [`LEAST`] gets none, so that a store of a few entries stays small.
//! - It is no promise: where the host cannot set space aside, writes go on without it.
//! - The length of the file does not change. The writer gives the rest back when it finishes. If
//!   the process ends before, the file keeps at most [`STEP_MAX`] more than it needs, until it is
//!   deleted.

use super::FileHandle;

/// The size from which on a file gets space ahead.
const LEAST: u64 = 256 << 10;

/// The least and the most that is set aside at once.
const STEP_MIN: u64 = 1 << 20;
const STEP_MAX: u64 = 8 << 20;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Where the space that was set aside ends; 0 if there is none.
    end: u64,
    /// The host has refused.
    is_refused: bool,
}

impl Ahead {
    /// Sets space aside before a write that ends at `end`, if there is not enough.
    pub(super) fn provide(&mut self, file: &dyn FileHandle, end: u64) {
        if end <= self.end || end < LEAST || self.is_refused {
            return;
        }
        let to = end + end.clamp(STEP_MIN, STEP_MAX);
        match file.preallocate(to) {
            Ok(true) => self.end = to,
            // Lack of space, too, is noticed by the write itself.
            Ok(false) | Err(_) => self.is_refused = true,
        }
    }

    /// Gives back what a file of `size` bytes has not used.
    pub(super) fn give_back(&mut self, file: &dyn FileHandle, size: u64) {
        if std::mem::take(&mut self.end) > size {
            // The space is not lost: deleting the file frees it.
            let _ = file.set_size(size);
        }
        self.is_refused = true;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::super::{Files, OsFiles};
    use super::*;
    use crate::Access;

    /// Bytes of the blocks that a file has.
    fn allocated(path: &std::path::Path) -> u64 {
        std::fs::metadata(path).unwrap().blocks() * 512
    }

    #[test]
    fn a_file_that_grows_gets_space_and_gives_back_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let files = OsFiles::open(dir.path(), Access::ReadWrite).unwrap();
        let file = files.create("grows").unwrap();
        let path = dir.path().join("grows");
        let mut ahead = Ahead::default();
        ahead.provide(&*file, LEAST - 1);
        assert_eq!((allocated(&path), ahead.end), (0, 0), "a small file gets none");
        ahead.provide(&*file, LEAST);
        if ahead.is_refused {
            return;
        }
        assert_eq!(ahead.end, LEAST + STEP_MIN);
        assert!(allocated(&path) >= ahead.end);
        ahead.provide(&*file, ahead.end);
        assert_eq!(ahead.end, LEAST + STEP_MIN, "there is enough");
        ahead.provide(&*file, 100 << 20);
        assert_eq!(ahead.end, (100 << 20) + STEP_MAX);
        file.write_at(0, &[7; 4096]).unwrap();
        assert_eq!(file.size().unwrap(), 4096, "the length is that of what was written");
        ahead.give_back(&*file, 4096);
        assert!(allocated(&path) < LEAST, "{} bytes", allocated(&path));
        assert_eq!(file.read(0, 4096).unwrap(), [7; 4096]);
        ahead.provide(&*file, 100 << 20);
        assert!(allocated(&path) < LEAST, "the writer has finished");
    }
}
