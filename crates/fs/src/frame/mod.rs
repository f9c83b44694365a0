//! Frames: what every log on the medium is made of, and how its end is found.
//!
//! The journal, write-ahead files, and the journal of the plain directory are sequences of frames.
//! Each starts on a block, is padded to the block, and is bound by its checksum to the store and
//! the owner that it belongs to, by a field to its epoch, and by its chain to the frame before it.
//! The byte table is in `docs/format/frame.md`; why the end can be told from damage is decision
//! 0004.
//!
//! | part | what it does |
//! |---|---|
//! | `codec` | the bytes of a [`Frame`]; the [`Binding`] under which it verifies |
//! | [`BlockSource`] | the seam: blocks to read, from zones, files or memory |
//! | [`Scanner`] | frames in order, up to the end; tells a torn tail from damage |
//! | [`Assembler`], [`AppendScan`] | put frames together to whole appends |
//! | [`LogScan`] | the appends of a write-ahead log, over all its runs |
//!
//! This module neither writes nor knows devices: it encodes into buffers, and reads through
//! [`BlockSource`], whose calls may wait for a device. What is read must not be written meanwhile.
//! Frames of one log are written in order, and no frame reaches across the end of an extent: the
//! writers see to both.

mod append;
mod codec;
mod log;
mod scan;
mod source;

pub use append::{Append, AppendScan, Assembler, Span};
pub(crate) use codec::encode_frame_of;
pub use codec::{
    Binding, Cursor, Frame, FrameHead, HEADER, PAYLOAD_MAX, blocks_for, encode_frame, payload_room,
};
pub use log::{LOG_FRAME, LogScan, LogTail};
pub use scan::Scanner;
pub use source::{BlockSource, MemorySource};
