//! [`LockedFile`]: an open file with a lock that ends when the value is dropped, also while a copy
//! of its descriptor lives.
//!
//! The lock (`flock`) belongs to the open file, which all copies of a descriptor share. To close
//! the descriptor is not enough: a process that is started on another thread at that moment holds a
//! copy until it runs its program, and the next opening would find the file in use. So the drop
//! unlocks the file before it closes the descriptor.
//!
//! A process made by `fork` has a copy, too. The file stays locked when that process drops its
//! value: the lock is that of its parent.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::Deref;
use std::process;

/// A file with a lock, for this opening alone or for readers together.
#[derive(Debug)]
pub struct LockedFile {
    file: File,
    /// The process that locked it.
    owner: u32,
}

impl LockedFile {
    /// Locks the file for this opening alone; `None` if another opening has a lock on it.
    ///
    /// # Errors
    /// Those of the host.
    pub fn alone(file: File) -> io::Result<Option<Self>> {
        Self::locked(file.try_lock(), file)
    }

    /// Locks the file together with other readers; `None` if an opening has it alone.
    ///
    /// # Errors
    /// Those of the host.
    pub fn shared(file: File) -> io::Result<Option<Self>> {
        Self::locked(file.try_lock_shared(), file)
    }

    fn locked(tried: Result<(), TryLockError>, file: File) -> io::Result<Option<Self>> {
        match tried {
            Ok(()) => Ok(Some(Self { file, owner: process::id() })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if self.owner == process::id() {
            // If it fails, the lock ends with the last copy of the descriptor.
            drop(self.file.unlock());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_ends_with_the_value_while_a_copy_of_the_descriptor_lives() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(place.path()).unwrap();
        let held = LockedFile::alone(open()).unwrap().expect("no other lock");
        // A process that was started a moment ago has such a copy.
        let copy = held.try_clone().unwrap();
        assert!(LockedFile::alone(open()).unwrap().is_none());
        assert!(LockedFile::shared(open()).unwrap().is_none());
        drop(held);
        let reader = LockedFile::shared(open()).unwrap().expect("unlocked");
        let other = LockedFile::shared(open()).unwrap().expect("readers share");
        assert!(LockedFile::alone(open()).unwrap().is_none());
        drop((reader, other));
        assert!(LockedFile::alone(open()).unwrap().is_some());
        drop(copy);
    }

    #[test]
    fn the_lock_stays_when_a_child_of_fork_drops_its_copy() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(place.path()).unwrap();
        let held = LockedFile::alone(open()).unwrap().expect("no other lock");
        let (file, owner) = (held.try_clone().unwrap(), process::id() + 1);
        drop(LockedFile { file, owner });
        assert!(LockedFile::alone(open()).unwrap().is_none(), "the parent has it still");
        drop(held);
        assert!(LockedFile::alone(open()).unwrap().is_some());
    }
}
