//! [`Queues`]: the two queues that a program shares with the kernel for `io_uring`, with entries of
//! the usual size, or with large ones. Large ones (since Linux 5.19) can hold a command of NVMe and
//! its result.
//!
//! Unsafe code: the functions that use a queue demand that there is one user at a time, and that
//! the memory of a pushed entry stays until its completion. [`Ring`](super::ring::Ring) sees to
//! both.

use std::io;

use io_uring::{IoUring, Probe, cqueue, squeue};

/// See the [module](self).
pub(super) enum Queues {
    Usual(IoUring),
    Large(IoUring<squeue::Entry128, cqueue::Entry32>),
}

/// An entry for the kernel.
pub(super) enum Entry {
    Usual(squeue::Entry),
    /// Only for large queues.
    Large(squeue::Entry128),
}

/// A completion.
pub(super) struct Completed {
    pub(super) user_data: u64,
    pub(super) result: i32,
    /// The result of a command of NVMe; 0 from queues of the usual size.
    pub(super) of_command: u64,
}

impl Queues {
    pub(super) fn usual(entries: u32) -> io::Result<Self> {
        IoUring::new(entries).map(Self::Usual)
    }

    pub(super) fn large(entries: u32) -> io::Result<Self> {
        IoUring::builder().build(entries).map(Self::Large)
    }

    /// Whether the kernel has all these operations, and keeps completions for which there is no
    /// entry.
    pub(super) fn supports(&self, operations: &[u8]) -> io::Result<bool> {
        let mut probe = Probe::new();
        let keeps = match self {
            Self::Usual(ring) => {
                ring.submitter().register_probe(&mut probe)?;
                ring.params().is_feature_nodrop()
            }
            Self::Large(ring) => {
                ring.submitter().register_probe(&mut probe)?;
                ring.params().is_feature_nodrop()
            }
        };
        Ok(keeps && operations.iter().all(|code| probe.is_supported(*code)))
    }

    /// Hands the pushed entries to the kernel, and waits for a number of completions.
    pub(super) fn submit_and_wait(&self, completions: usize) -> io::Result<usize> {
        match self {
            Self::Usual(ring) => ring.submit_and_wait(completions),
            Self::Large(ring) => ring.submit_and_wait(completions),
        }
    }

    /// Whether the kernel has taken all that was pushed.
    ///
    /// # Safety
    /// There is no other user of the queue of submissions.
    pub(super) unsafe fn is_submitted(&self) -> bool {
        // SAFETY: that of this function.
        unsafe {
            match self {
                Self::Usual(ring) => ring.submission_shared().is_empty(),
                Self::Large(ring) => ring.submission_shared().is_empty(),
            }
        }
    }

    /// Pushes an entry.
    ///
    /// # Safety
    /// There is no other user of the queue of submissions. The file and the memory that the entry
    /// names stay until its completion, and nothing else uses the memory meanwhile.
    ///
    /// # Panics
    /// If the queue is full, or a large entry is for queues of the usual size.
    pub(super) unsafe fn push(&self, entry: Entry) {
        // SAFETY: that of this function.
        let pushed = unsafe {
            match (self, entry) {
                (Self::Usual(ring), Entry::Usual(entry)) => ring.submission_shared().push(&entry),
                (Self::Large(ring), Entry::Usual(entry)) => {
                    ring.submission_shared().push(&entry.into())
                }
                (Self::Large(ring), Entry::Large(entry)) => ring.submission_shared().push(&entry),
                (Self::Usual(_), Entry::Large(_)) => panic!("a large entry for a usual queue"),
            }
        };
        pushed.expect("more entries in the queue than commands at once");
    }

    /// Whether there are completions.
    ///
    /// # Safety
    /// There is no other user of the queue of completions.
    pub(super) unsafe fn has_completions(&self) -> bool {
        // SAFETY: that of this function.
        unsafe {
            match self {
                Self::Usual(ring) => !ring.completion_shared().is_empty(),
                Self::Large(ring) => !ring.completion_shared().is_empty(),
            }
        }
    }

    /// Takes all completions that are there.
    ///
    /// # Safety
    /// There is no other user of the queue of completions.
    pub(super) unsafe fn completions(&self) -> Vec<Completed> {
        let usual = |entry: cqueue::Entry| Completed {
            user_data: entry.user_data(),
            result: entry.result(),
            of_command: 0,
        };
        let large = |entry: cqueue::Entry32| Completed {
            user_data: entry.user_data(),
            result: entry.result(),
            of_command: entry.big_cqe()[0],
        };
        // SAFETY: that of this function.
        unsafe {
            match self {
                Self::Usual(ring) => ring.completion_shared().map(usual).collect(),
                Self::Large(ring) => ring.completion_shared().map(large).collect(),
            }
        }
    }
}
