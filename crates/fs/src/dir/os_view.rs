//! [`OsView`]: a file of a directory, mapped into memory for reading.
//!
//! A read of mapped memory cannot report an error: if the kernel cannot read a page, or the file
//! has become shorter, it ends the process. A file that is too short from the start is not mapped.
//!
//! # Why the unsafe code is sound
//! References into the mapping need bytes that no one changes. Only sealed files are mapped, and
//! the store does not write to a sealed file. It punches trimmed bytes out, but not before the last
//! reader of the file has ended, and a view counts as a reader ([`Reader`](super::reader::Reader)).
//! The lock of the directory keeps the store's other openings for writing out; an opening next to a
//! writer ([`Access::Beside`](crate::Access::Beside)) maps nothing.
//!
//! Two cases are left to the user of the view: it must read nothing after the store is closed,
//! because the next opening may punch bytes out; and no program may ignore the lock and write to
//! the files.

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// See the [module](self).
pub(super) struct OsView(Mmap);

impl OsView {
    /// Maps the first `size` bytes of a file. `None` if it has fewer.
    pub(super) fn new(file: &File, size: u64) -> io::Result<Option<Self>> {
        let Ok(len) = usize::try_from(size) else { return Ok(None) };
        if file.metadata()?.len() < size {
            return Ok(None);
        }
        // SAFETY: the bytes do not change, as the module's head argues.
        let mapped = unsafe { MmapOptions::new().len(len).map(file)? };
        Ok(Some(Self(mapped)))
    }
}

impl AsRef<[u8]> for OsView {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_view_has_the_first_bytes_of_its_file_and_outlives_its_name() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"sealed bytes, and more").unwrap();
        let view = OsView::new(file.as_file(), 12).unwrap().unwrap();
        drop(file);
        assert_eq!(view.as_ref(), b"sealed bytes");
    }

    #[test]
    fn a_file_that_is_too_short_is_not_mapped() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"cut").unwrap();
        assert!(OsView::new(file.as_file(), 4).unwrap().is_none());
        assert!(OsView::new(file.as_file(), 3).unwrap().is_some());
    }
}
