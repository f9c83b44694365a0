//! [`PendingRead`]: a read of a file that has been submitted and not yet been waited for.
//!
//! A caller that needs several blocks can submit all reads first and then wait for each, so that a
//! device with a queue works on several at a time. The read owns its buffer until it ends. It may
//! outlive its reader and its file. If the bytes are not needed any more, it may be dropped instead
//! of waited for.
//!
//! [`PendingRead::done`] is a read that has ended already, for a store that reads when the read is
//! submitted. Submitting, waiting and dropping may wait for the device, so the caller must hold no
//! lock.

use std::fmt;

use super::{ReadBuf, StoreError};

/// A read that a store has begun. When it is dropped, nothing of it may be left at the device.
pub trait ReadUnderWay: Send {
    /// Waits for all its bytes and returns the buffer that was handed in, filled.
    fn wait(self: Box<Self>) -> Result<ReadBuf, StoreError>;
}

enum State {
    Done(Result<ReadBuf, StoreError>),
    UnderWay(Box<dyn ReadUnderWay>),
}

/// See the [module](self).
#[must_use = "a read is carried out whether or not its result is awaited"]
pub struct PendingRead(State);

impl PendingRead {
    /// A read that has ended: with the filled buffer, or an error.
    pub fn done(result: Result<ReadBuf, StoreError>) -> Self {
        Self(State::Done(result))
    }

    /// A read that the device carries out.
    pub fn under_way(read: Box<dyn ReadUnderWay>) -> Self {
        Self(State::UnderWay(read))
    }

    /// Waits for the bytes; all of them, or an error.
    pub fn wait(self) -> Result<ReadBuf, StoreError> {
        match self.0 {
            State::Done(result) => result,
            State::UnderWay(read) => read.wait(),
        }
    }
}

impl fmt::Debug for PendingRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Done(_) => "PendingRead(done)",
            State::UnderWay(_) => "PendingRead(in flight)",
        })
    }
}
