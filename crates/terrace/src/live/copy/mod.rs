//! A checkpoint for another process: the owner reads the store and verifies it; the client writes
//! the copy, with its own rights and to any place.
//!
//! The owner carries out an ordinary checkpoint, onto a [`RemoteStore`]. That passes each call on
//! to the client ([`Call`]), which makes it on the real target ([`answer_calls`]). Appends have no
//! answer. If one fails, the client keeps its error, and refuses to finish the file.
//!
//! If the connection ends, the checkpoint ends with an error, and the target is an unfinished copy.

mod call;
#[cfg(test)]
mod fuzz;
mod remote_store;
mod target;

use call::Call;
pub(super) use remote_store::RemoteStore;
pub(super) use target::answer_calls;
