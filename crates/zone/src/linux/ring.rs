//! [`Ring`]: commands to one file by `io_uring`. Many can be in flight, whichever threads push
//! them.
//!
//! [`push`](Ring::push) takes a command with its buffer, [`submit`](Ring::submit) hands the pushed
//! commands to the kernel, and [`reap`](Ring::reap) gives back the commands that have completed,
//! with their buffers. A ring whose device has an [`AppendNode`] has large [`Queues`], and takes
//! appends. At most [`ENTRIES`] commands are in the kernel; others wait in the ring for a
//! completion. A ring that is dropped waits for the commands in the kernel.
//!
//! # Why the unsafe code is sound
//! - *Memory of commands.* The kernel reads or writes the buffer of a command until it completes.
//!   The ring owns the buffer from the push to the completion, and does not touch it. The bytes of
//!   an [`IoBuf`] stay where they are when the value is moved. If a caller gives up a ticket,
//!   nothing is freed: the ring still has the buffer. When the ring is dropped, it first waits for
//!   all completions. If it cannot, it leaks the buffers. A ring that is leaked leaks its buffers.
//! - *Bounds.* The range of a command is checked against its buffer before a pointer is made.
//! - *The files.* The ring has its own handles, which are open as long as the ring.
//! - *The queues.* Both are used under the lock of the slots only. So there is one user at a time,
//!   as [`Queues`] demand. The kernel takes its side of the queues by atomic loads and stores,
//!   whichever thread calls it.
//! - *Completions.* A completion names a slot. A slot that is taken is given back by its completion
//!   only, and the kernel completes each command once.
//!
//! # Threads
//! Any number. [`submit`](Ring::submit) and [`wait`](Ring::wait) call the kernel without a lock. A
//! command whose thread has ended may be reported as cancelled, although no thread has cancelled
//! it.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::opcode;
use io_uring::squeue::Flags;
use io_uring::types::{Fd, FsyncFlags};
use rustix::io::{Errno, ReadWriteFlags};
use terrace_env::sync::Mutex;
use terrace_env::{IoBuf, runner};

use super::append_node::{self, AppendNode};
use super::queues::{Completed, Entry, Queues};
use super::transfer::{Call, Command};

/// The most commands of a ring in the kernel. The queue has twice as many entries: the kernel gives
/// those of a batch back at its end, and some of its commands may have completed by then.
const ENTRIES: u32 = 256;
/// How long a caller sleeps when the kernel has no memory for commands.
const PAUSE: Duration = Duration::from_millis(1);

/// See the [module](self).
pub(super) struct Ring {
    queues: Queues,
    /// The node for appends. The field stands before the file, so that the node is closed first.
    append: Option<AppendNode>,
    file: File,
    slots: Mutex<Slots>,
}

/// A completed command.
pub(super) struct Finished {
    pub(super) id: u64,
    pub(super) buf: IoBuf,
    pub(super) result: io::Result<Moved>,
}

/// Effect of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) bytes: usize,
    /// Where an append has begun: the first block.
    pub(super) placed: u64,
}

/// A command in the kernel.
struct Taken {
    id: u64,
    buf: IoBuf,
    /// Bytes of an append: its completion does not tell them.
    appended: Option<usize>,
}

struct Slots {
    /// Commands in the kernel.
    taken: Vec<Option<Taken>>,
    free: Vec<usize>,
    /// Commands for which there is no slot yet.
    backlog: VecDeque<(u64, IoBuf, Command)>,
}

impl Slots {
    fn in_kernel(&self) -> usize {
        self.taken.len() - self.free.len()
    }
}

impl Ring {
    /// A ring for a file. With a node for appends it takes appends, if the kernel can carry them
    /// (since 5.19); [`appends`](Self::appends) tells.
    ///
    /// # Errors
    /// If the kernel has no rings, lacks one of the operations that are needed, or does not permit
    /// a ring to this program.
    pub(super) fn new(file: &File, append: Option<AppendNode>) -> io::Result<Self> {
        let needed = [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE];
        let large = || {
            let queues = Queues::large(2 * ENTRIES).ok()?;
            let needed = [&needed[..], &[opcode::UringCmd80::CODE]].concat();
            queues.supports(&needed).is_ok_and(|supports| supports).then_some(queues)
        };
        let (queues, append) = match append.and_then(|node| Some((large()?, Some(node)))) {
            Some(large) => large,
            None => (Queues::usual(2 * ENTRIES)?, None),
        };
        if !queues.supports(&needed)? {
            let text = "io_uring of this kernel lacks an operation";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let slots = Slots {
            taken: (0..ENTRIES).map(|_| None).collect(),
            free: (0..ENTRIES as usize).rev().collect(),
            backlog: VecDeque::new(),
        };
        // A filter may permit the set-up of a ring and refuse its use: an empty call shows it.
        queues.submit_and_wait(0)?;
        Ok(Self { queues, file: file.try_clone()?, append, slots: Mutex::new(slots) })
    }

    /// Whether it takes appends.
    pub(super) fn appends(&self) -> bool {
        self.append.is_some()
    }

    /// Takes a command. It is not in the kernel before [`submit`](Self::submit).
    ///
    /// # Panics
    /// If the command goes beyond its buffer.
    pub(super) fn push(&self, id: u64, buf: IoBuf, command: Command) {
        let (end, len) = (command.bytes.end, buf.len());
        assert!(command.bytes.start <= end && end <= len, "{command:?} goes beyond {len} bytes");
        let mut slots = self.slots.lock();
        slots.backlog.push_back((id, buf, command));
        self.fill(&mut slots);
    }

    /// Moves commands from the backlog to the submission queue while there are slots.
    fn fill(&self, slots: &mut Slots) {
        if slots.backlog.is_empty() {
            return;
        }
        while !slots.backlog.is_empty()
            && let Some(at) = slots.free.pop()
        {
            let Some((id, mut buf, command)) = slots.backlog.pop_front() else { break };
            let entry = self.entry(&mut buf, &command, at as u64);
            let appended = matches!(command.call, Call::Append { .. });
            let appended = appended.then_some(command.bytes.len());
            slots.taken[at] = Some(Taken { id, buf, appended });
            // SAFETY: the caller has the lock of the slots: there is no other user of the queue.
            // The files are open, and the buffer is in its slot, until the completion. The entry
            // names a part of the buffer, which has no other user meanwhile.
            unsafe { self.queues.push(entry) };
        }
    }

    /// The entry for a command to a part of a buffer.
    fn entry(&self, buf: &mut IoBuf, command: &Command, user_data: u64) -> Entry {
        let file = Fd(self.file.as_raw_fd());
        let bytes = &mut buf[command.bytes.clone()];
        let (pointer, len) = (bytes.as_mut_ptr(), bytes.len() as u32);
        let entry = match command.call {
            Call::Read => opcode::Read::new(file, pointer, len).offset(command.offset).build(),
            Call::Write { dsync } => {
                let flags = if dsync { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
                let write = opcode::Write::new(file, pointer, len).offset(command.offset);
                write.rw_flags(flags.bits() as _).build()
            }
            Call::Append { fua } => {
                let node = self.append.as_ref().expect("an append on a ring that takes appends");
                let append = node.append(command.offset, len as usize, fua);
                let entry = node.entry(append, pointer, len as usize);
                return Entry::Large(entry.flags(flags_of(command)).user_data(user_data));
            }
            Call::Sync => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        };
        Entry::Usual(entry.flags(flags_of(command)).user_data(user_data))
    }

    /// Hands the pushed commands to the kernel. It does not wait for a completion.
    pub(super) fn submit(&self) {
        while !self.is_submitted() {
            self.enter(0);
        }
    }

    fn is_submitted(&self) -> bool {
        let _slots = self.slots.lock();
        // SAFETY: the lock of the slots is held: there is no other user of the queue.
        unsafe { self.queues.is_submitted() }
    }

    /// Returns when a command has completed that was not reaped, or at once if none is in flight.
    /// One caller at a time may wait, and no thread may reap meanwhile.
    pub(super) fn wait(&self) {
        while self.is_busy() && !self.has_completions() {
            self.enter(1);
        }
    }

    /// Calls the kernel, and waits for a number of completions.
    ///
    /// # Panics
    /// If the kernel refuses for another reason than a signal or a lack of memory. It has taken an
    /// empty call when the ring was made, and it gives the errors of commands with their
    /// completions, so that only a call with wrong arguments is left.
    fn enter(&self, completions: usize) {
        match self.queues.submit_and_wait(completions) {
            Ok(_) => {}
            Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::INTR) => {}
                Some(Errno::AGAIN | Errno::BUSY | Errno::NOMEM) => runner::sleep(PAUSE),
                _ => panic!("io_uring_enter: {error}"),
            },
        }
    }

    /// Whether a command is in flight, or waits for a slot.
    pub(super) fn is_busy(&self) -> bool {
        let slots = self.slots.lock();
        slots.in_kernel() > 0 || !slots.backlog.is_empty()
    }

    /// Whether [`reap`](Self::reap) would give anything.
    pub(super) fn has_completions(&self) -> bool {
        let slots = self.slots.lock();
        // SAFETY: the lock of the slots is held: there is no other user of the queue.
        slots.in_kernel() > 0 && unsafe { self.queues.has_completions() }
    }

    /// The commands that have completed. Commands that have waited for a slot take theirs; they are
    /// not in the kernel before [`submit`](Self::submit).
    pub(super) fn reap(&self) -> Vec<Finished> {
        let mut slots = self.slots.lock();
        let mut finished = Vec::new();
        // SAFETY: the lock of the slots is held: there is no other user of the queue.
        for Completed { user_data, result, of_command } in unsafe { self.queues.completions() } {
            let at = user_data as usize;
            let taken = slots.taken[at].take().expect("a completion of a slot that is taken");
            let Taken { id, buf, appended } = taken;
            slots.free.push(at);
            let result = match (result, appended) {
                (0, Some(bytes)) => Ok(Moved { bytes, placed: of_command }),
                (status @ 1.., Some(_)) => Err(append_node::error(status as u32)),
                (moved @ 0.., None) => Ok(Moved { bytes: moved as usize, placed: 0 }),
                (error, _) => Err(io::Error::from_raw_os_error(-error)),
            };
            finished.push(Finished { id, buf, result });
        }
        self.fill(&mut slots);
        finished
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.slots.lock().backlog.clear();
        while self.is_busy() {
            if self
                .queues
                .submit_and_wait(1)
                .is_err_and(|error| error.raw_os_error() != Some(Errno::INTR.raw_os_error()))
            {
                // The kernel may still use the buffers.
                std::mem::forget(std::mem::take(&mut self.slots.get_mut().taken));
                return;
            }
            drop(self.reap());
        }
    }
}

fn flags_of(command: &Command) -> Flags {
    if command.may_wait { Flags::ASYNC } else { Flags::empty() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: std::ops::Range<usize>, offset: u64) -> Command {
        Command { call: Call::Read, bytes, offset, may_wait: false }
    }

    /// A ring, or none where the kernel does not permit it.
    fn ring(file: &File) -> Option<Ring> {
        match Ring::new(file, None) {
            Ok(ring) => Some(ring),
            Err(error) => {
                eprintln!("left out, there is no io_uring here: {error}");
                None
            }
        }
    }

    fn numbered(blocks: u64) -> File {
        let mut file = tempfile::tempfile().unwrap();
        for block in 0..blocks {
            file.write_all(&[block.to_le_bytes(); 64].concat()).unwrap();
        }
        file
    }

    #[test]
    fn more_commands_than_slots_all_complete_with_their_own_bytes() {
        let file = numbered(1000);
        let Some(ring) = ring(&file) else { return };
        for id in 0..1000 {
            ring.push(id, IoBuf::zeroed(512), read(0..512, id * 512));
        }
        ring.submit();
        let mut seen = vec![false; 1000];
        while ring.is_busy() {
            ring.wait();
            for Finished { id, buf, result } in ring.reap() {
                assert_eq!(result.unwrap().bytes, 512);
                assert_eq!(buf[..8], id.to_le_bytes());
                assert!(!std::mem::replace(&mut seen[id as usize], true), "{id} twice");
            }
            ring.submit();
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn a_ring_is_dropped_with_commands_under_way() {
        let file = numbered(64);
        for pushed in [1, 64, 1000] {
            let Some(ring) = ring(&file) else { return };
            for id in 0..pushed {
                let command = Command { may_wait: id % 2 == 0, ..read(0..512, id % 64 * 512) };
                ring.push(id, IoBuf::zeroed(512), command);
            }
            if pushed > 1 {
                ring.submit();
            }
        }
    }

    #[test]
    fn the_error_of_a_command_comes_with_its_completion() {
        let file = numbered(1);
        let Some(ring) = ring(&file) else { return };
        ring.push(1, IoBuf::zeroed(512), read(0..512, 1 << 40));
        ring.push(2, IoBuf::zeroed(512), read(0..512, 0));
        ring.push(3, IoBuf::zeroed(512), read(0..512, i64::MAX as u64 - 3));
        ring.submit();
        let mut results = std::collections::BTreeMap::new();
        while ring.is_busy() {
            ring.wait();
            let finished = ring.reap().into_iter();
            results.extend(finished.map(|it| {
                (it.id, it.result.map(|moved| moved.bytes).map_err(|error| error.kind()))
            }));
        }
        assert_eq!(results[&1], Ok(0), "beyond the end of the file");
        assert_eq!(results[&2], Ok(512));
        assert_eq!(results[&3], Err(io::ErrorKind::InvalidInput));
    }

    #[test]
    #[should_panic(expected = "goes beyond 512 bytes")]
    fn a_command_beyond_its_buffer_is_refused() {
        let file = numbered(1);
        match ring(&file) {
            Some(ring) => ring.push(1, IoBuf::zeroed(512), read(0..513, 0)),
            None => panic!("goes beyond 512 bytes"),
        }
    }
}
