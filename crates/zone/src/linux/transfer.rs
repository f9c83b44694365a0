//! [`Transfer`]: a read, a write, an append or a flush as a sequence of commands to the kernel. It
//! does no I/O: it gives the next command, and takes the result of the last one.
//!
//! - A write to a sequential zone goes out in pieces, one after another. Each piece is short enough
//!   that the kernel makes one command to the device of it. Other transfers are not cut.
//! - A forced write that is no longer than a piece is one command with the flag `RWF_DSYNC`. A
//!   longer one is written without the flag, and then the device is flushed.
//! - A command that moved fewer bytes than it was asked for is followed by one for the rest.
//! - A command that the kernel has cancelled or interrupted is issued again. It has moved nothing.
//!   When a thread ends, the kernel cancels those of its commands that have not begun.
//! - An append is one command. One that was interrupted has failed: it may have been done, and a
//!   second one would leave the data twice. One that was cancelled has not begun.
//! - A command that would have had to wait (`EAGAIN`) is issued again as one that may wait.

use std::io;
use std::ops::Range;

use rustix::io::Errno;

/// The longest command, in bytes: the length is a number of 32 bits in a ring.
const COMMAND_MAX: usize = 1 << 30;
/// How often a command is issued again after `EAGAIN`.
const AGAIN_TRIES: u32 = 16;
/// How often a zone is closed for another one. Requests to other zones may take the slot.
pub(super) const ROOM_TRIES: u32 = 16;

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write { fua: bool },
    Append { fua: bool },
    Flush,
}

impl Kind {
    /// Whether it changes stored data.
    pub(super) fn changes(self) -> bool {
        matches!(self, Self::Write { .. } | Self::Append { .. })
    }
}

/// A call of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Read,
    Write {
        dsync: bool,
    },
    /// An append; the offset is that of the zone.
    Append {
        fua: bool,
    },
    Sync,
}

/// A call with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) call: Call,
    /// Part of the buffer.
    pub(super) bytes: Range<usize>,
    /// Place on the device, in bytes.
    pub(super) offset: u64,
    /// Whether a ring gives it to a thread of the kernel at once, because it has to wait.
    pub(super) may_wait: bool,
}

/// Reaction to the result of a command.
#[derive(Debug)]
pub(super) enum Step {
    /// Issue this command.
    Issue(Command),
    /// Close another zone, and [`repeat`](Transfer::command) the command if that was possible.
    MakeRoom(io::Error),
    /// The transfer has ended.
    Done,
    /// The transfer has failed.
    Failed(io::Error),
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Transfer {
    kind: Kind,
    offset: u64,
    len: usize,
    /// The longest command.
    command_max: usize,
    /// Whether a forced write is flushed at its end.
    syncs_late: bool,
    done: usize,
    /// Whether only the flush remains.
    syncs: bool,
    may_wait: bool,
    again_tries: u32,
    room_tries: u32,
}

impl Transfer {
    /// A transfer of `len` bytes from `offset` on. `piece` is the longest write of which the kernel
    /// makes one command to the device; `is_cut` if no command may be longer.
    pub(super) fn new(kind: Kind, offset: u64, len: usize, piece: usize, is_cut: bool) -> Self {
        Self {
            kind,
            offset,
            len,
            command_max: if is_cut { piece.min(COMMAND_MAX) } else { COMMAND_MAX },
            syncs_late: kind == Kind::Write { fua: true } && len > piece,
            done: 0,
            syncs: kind == Kind::Flush,
            may_wait: false,
            again_tries: AGAIN_TRIES,
            room_tries: ROOM_TRIES,
        }
    }

    /// The command that is to be issued now.
    pub(super) fn command(&self) -> Command {
        let may_wait = self.may_wait;
        if self.syncs {
            return Command { call: Call::Sync, bytes: 0..0, offset: 0, may_wait };
        }
        let bytes = self.done..self.len.min(self.done + self.command_max);
        let offset = self.offset + self.done as u64;
        let call = match self.kind {
            Kind::Write { fua } => Call::Write { dsync: fua && !self.syncs_late },
            Kind::Append { fua } => Call::Append { fua },
            Kind::Read | Kind::Flush => Call::Read,
        };
        Command { call, bytes, offset, may_wait }
    }

    /// Takes the result of the last command: how many bytes it moved.
    pub(super) fn step(&mut self, result: io::Result<usize>) -> Step {
        let error = match result {
            Ok(_) if self.syncs => return Step::Done,
            Ok(0) if self.kind == Kind::Read => io::ErrorKind::UnexpectedEof.into(),
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(moved) => return self.moved(moved),
            Err(error) => error,
        };
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::INTR) if matches!(self.kind, Kind::Append { .. }) => Step::Failed(error),
            Some(Errno::INTR | Errno::CANCELED) => Step::Issue(self.command()),
            Some(Errno::AGAIN) if self.again_tries > 0 => {
                self.again_tries -= 1;
                self.may_wait = true;
                Step::Issue(self.command())
            }
            Some(Errno::TOOMANYREFS) if self.kind != Kind::Read && self.room_tries > 0 => {
                self.room_tries -= 1;
                Step::MakeRoom(error)
            }
            _ => Step::Failed(error),
        }
    }

    fn moved(&mut self, moved: usize) -> Step {
        self.done += moved;
        assert!(self.done <= self.len, "a command moved {moved} bytes, more than it was to");
        self.may_wait = false;
        if self.done < self.len {
            return Step::Issue(self.command());
        }
        self.syncs = self.syncs_late;
        if self.syncs { Step::Issue(self.command()) } else { Step::Done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries a transfer out with these results; gives its commands and how it ended.
    fn run(mut transfer: Transfer, results: &[Result<usize, Errno>]) -> (Vec<String>, String) {
        let show = |command: &Command| {
            let Command { call, bytes, offset, may_wait } = command;
            let waits = if *may_wait { " may wait" } else { "" };
            format!("{call:?} {bytes:?} at {offset}{waits}")
        };
        let mut commands = vec![show(&transfer.command())];
        for result in results {
            match transfer.step(result.map_err(io::Error::from)) {
                Step::Issue(command) => commands.push(show(&command)),
                Step::MakeRoom(_) => commands.push("make room".to_owned()),
                Step::Done => return (commands, "done".to_owned()),
                Step::Failed(error) => return (commands, format!("{:?}", error.kind())),
            }
        }
        (commands, "in flight".to_owned())
    }

    #[test]
    fn a_short_transfer_is_one_command() {
        let read = Transfer::new(Kind::Read, 512, 4096, 8192, true);
        assert_eq!(run(read, &[Ok(4096)]), (vec!["Read 0..4096 at 512".into()], "done".into()));
        let write = Transfer::new(Kind::Write { fua: true }, 0, 8192, 8192, true);
        let forced = vec!["Write { dsync: true } 0..8192 at 0".into()];
        assert_eq!(run(write, &[Ok(8192)]), (forced, "done".into()));
        let flush = Transfer::new(Kind::Flush, 0, 0, 8192, true);
        assert_eq!(run(flush, &[Ok(0)]), (vec!["Sync 0..0 at 0".into()], "done".into()));
    }

    #[test]
    fn a_long_forced_write_goes_in_pieces_and_is_flushed_at_its_end() {
        let write = Transfer::new(Kind::Write { fua: true }, 100, 20, 8, true);
        let (commands, end) = run(write, &[Ok(8), Ok(3), Ok(8), Ok(1), Ok(0)]);
        let expected = [
            "Write { dsync: false } 0..8 at 100",
            "Write { dsync: false } 8..16 at 108",
            "Write { dsync: false } 11..19 at 111",
            "Write { dsync: false } 19..20 at 119",
            "Sync 0..0 at 0",
        ];
        assert_eq!((commands, end.as_str()), (expected.map(String::from).to_vec(), "done"));
    }

    #[test]
    fn a_long_write_that_is_not_cut_is_one_command() {
        let write = Transfer::new(Kind::Write { fua: true }, 0, 20, 8, false);
        let (commands, end) = run(write, &[Ok(20), Ok(0)]);
        let expected = ["Write { dsync: false } 0..20 at 0", "Sync 0..0 at 0"];
        assert_eq!((commands, end.as_str()), (expected.map(String::from).to_vec(), "done"));
    }

    #[test]
    fn what_was_cancelled_is_issued_again_and_what_would_wait_may_wait() {
        let write = Transfer::new(Kind::Write { fua: false }, 0, 8, 4, true);
        let results = [Err(Errno::CANCELED), Err(Errno::AGAIN), Err(Errno::INTR), Ok(4), Ok(4)];
        let (commands, end) = run(write, &results);
        let expected = [
            "Write { dsync: false } 0..4 at 0",
            "Write { dsync: false } 0..4 at 0",
            "Write { dsync: false } 0..4 at 0 may wait",
            "Write { dsync: false } 0..4 at 0 may wait",
            "Write { dsync: false } 4..8 at 4",
        ];
        assert_eq!((commands, end.as_str()), (expected.map(String::from).to_vec(), "done"));
    }

    #[test]
    fn an_append_is_one_command_and_is_not_repeated_where_it_may_have_been_done() {
        let append = || Transfer::new(Kind::Append { fua: true }, 4096, 8192, 8192, true);
        let command = "Append { fua: true } 0..8192 at 4096".to_owned();
        let once = vec![command.clone()];
        assert_eq!(run(append(), &[Ok(8192)]), (once.clone(), "done".into()));
        assert_eq!(run(append(), &[Err(Errno::INTR)]), (once, "Interrupted".into()));
        let twice = vec![command.clone(), command];
        assert_eq!(run(append(), &[Err(Errno::CANCELED), Ok(8192)]), (twice, "done".into()));
    }

    #[test]
    fn errors_end_it() {
        let read = || Transfer::new(Kind::Read, 0, 8, 8, true);
        assert_eq!(run(read(), &[Ok(4), Ok(0)]).1, "UnexpectedEof");
        assert_eq!(run(read(), &[Err(Errno::TOOMANYREFS)]).1, "Uncategorized");
        assert_eq!(run(read(), &[Err(Errno::AGAIN); 17]).1, "WouldBlock");
        let write = || Transfer::new(Kind::Write { fua: false }, 0, 8, 8, true);
        assert_eq!(run(write(), &[Ok(0)]).1, "WriteZero");
        let (commands, end) = run(write(), &[Err(Errno::TOOMANYREFS); 17]);
        assert_eq!((commands[1..].len(), end.as_str()), (16, "Uncategorized"));
        assert!(commands[1..].iter().all(|command| command == "make room"));
    }
}
