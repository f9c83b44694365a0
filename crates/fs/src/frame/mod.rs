//! Frames: the units in which the journal and write-ahead logs are written.
//!
//! A frame starts on a block and is padded to a block. Its checksum binds it to its store and its
//! log, a field to its epoch, and its chain to the frame before it. `docs/format/frame.md` has the
//! byte table. Decision 0004 says how the end of a log can be told from damage.
//!
//! | part | task |
//! |---|---|
//! | `codec` | the bytes of a [`Frame`]; the [`Binding`] under which it verifies |
//! | [`BlockSource`] | the interface to blocks in zones, files or memory |
//! | [`Scanner`] | frames in order, up to the end; tells a torn tail from damage |
//! | [`Assembler`], [`AppendScan`] | put frames together to whole appends |
//! | [`LogScan`] | the appends of a write-ahead log, over all its runs |
//! | `look` | whether a frame stands at a place by now |
//! | `any_store` | the first frames of a journal whose store is not known |
//!
//! This module writes nothing and knows no devices: it encodes into buffers, and reads through
//! [`BlockSource`], which may wait for a device. The blocks must not be written while they are
//! read. A scan expects that frames were written in order, and that no frame crosses the end of an
//! extent.

mod any_store;
mod append;
mod codec;
#[cfg(test)]
mod fuzz;
mod log;
mod look;
mod scan;
mod source;

pub(crate) use any_store::frames_of_any_store;
pub use append::{Append, AppendScan, Assembler, Span};
pub use codec::{
    Binding, Cursor, Frame, FrameHead, HEADER, PAYLOAD_MAX, blocks_for, encode_frame, payload_room,
};
pub(crate) use codec::{encode_frame_of, encode_head};
#[cfg(test)]
pub(crate) use fuzz::mend_frames;
pub use log::{LOG_FRAME, LogScan, LogTail};
pub(crate) use look::{checksum_at, stands_at};
pub use scan::Scanner;
pub use source::{BlockSource, MemorySource};
