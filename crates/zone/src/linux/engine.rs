//! [`IoEngine`]: how the requests to a block device are carried out: by `io_uring`, or by calls
//! that block.
//!
//! With `io_uring`, one thread can have many requests in flight. Old kernels do not have it, some
//! containers forbid it, and the setting `kernel.io_uring_disabled` does so for users or for all.
//! Then each request occupies the thread that submits it until it is done.

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

use rustix::io::ReadWriteFlags;
use serde::Serialize;
use terrace_env::IoBuf;

use super::append_node::AppendNode;
use super::ring::{Moved, Ring};
use super::transfer::{Call, Command};

/// A way to carry out requests. Both keep the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IoEngine {
    /// Requests are entries of a ring that the program shares with the kernel.
    IoUring,
    /// Each request is a call that returns when it is done.
    Blocking,
}

impl IoEngine {
    /// Whether the kernel permits `io_uring` to this program. A ring is made to find out.
    ///
    /// # Errors
    /// The reason if it does not. A [`BlockDevice`](super::BlockDevice) then blocks.
    pub fn check_io_uring() -> io::Result<()> {
        Ring::new(&File::open("/dev/null")?, None).map(drop)
    }
}

impl fmt::Display for IoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IoUring => "io_uring",
            Self::Blocking => "blocking calls",
        })
    }
}

/// An engine in use.
pub(super) enum Engine {
    IoUring(Box<Ring>),
    /// With the node for appends, if the device has one.
    Blocking(Option<AppendNode>),
}

impl Engine {
    /// The engine for a file: the one that is asked for, or else `io_uring` where it is permitted.
    /// `append` opens the node for appends, if the device has one.
    pub(super) fn new(
        file: &File,
        append: impl Fn() -> Option<AppendNode>,
        wanted: Option<IoEngine>,
    ) -> io::Result<Self> {
        match wanted {
            Some(IoEngine::Blocking) => Ok(Self::Blocking(append())),
            Some(IoEngine::IoUring) => Ok(Self::IoUring(Box::new(Ring::new(file, append())?))),
            None => Ok(match Ring::new(file, append()) {
                Ok(ring) => Self::IoUring(Box::new(ring)),
                Err(_) => Self::Blocking(append()),
            }),
        }
    }

    /// Whether it takes appends.
    pub(super) fn appends(&self) -> bool {
        match self {
            Self::IoUring(ring) => ring.appends(),
            Self::Blocking(node) => node.is_some(),
        }
    }

    pub(super) fn kind(&self) -> IoEngine {
        match self {
            Self::IoUring(_) => IoEngine::IoUring,
            Self::Blocking(_) => IoEngine::Blocking,
        }
    }
}

/// Carries a command out by a call that blocks.
pub(super) fn carry_out(
    file: &File,
    append: Option<&AppendNode>,
    command: &Command,
    buf: &mut IoBuf,
) -> io::Result<Moved> {
    let Command { call, bytes, offset, .. } = command;
    let moved = |bytes| Moved { bytes, placed: 0 };
    match call {
        Call::Read => file.read_at(&mut buf[bytes.clone()], *offset).map(moved),
        Call::Write { dsync } => {
            let flags = if *dsync { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
            let data = [IoSlice::new(&buf[bytes.clone()])];
            Ok(moved(rustix::io::pwritev2(file, &data, *offset, flags)?))
        }
        Call::Append { fua } => {
            let node = append.expect("an append on an engine that takes appends");
            let placed = node.call(node.append(*offset, bytes.len(), *fua), &buf[bytes.clone()])?;
            Ok(Moved { bytes: bytes.len(), placed })
        }
        Call::Sync => file.sync_data().map(|()| moved(0)),
    }
}
