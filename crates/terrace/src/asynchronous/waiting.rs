//! [`Waiting`]: the operations of futures that wait, and which of them an actor does next. Pure: no
//! locks, no I/O.
//!
//! - Gets go first come, first served, up to [`GETS_MAX`] in a turn. *Long* reads, which are pages
//!   of scans and reads of several keys, have a turn each.
//! - A long read keeps no get waiting for another one: long reads and gets take turns if both wait,
//!   and long reads never occupy all actors.
//! - Other calls go in their order, one in a turn.
//! - Writes go in their order, up to [`WRITES_MAX`] and [`WRITE_BYTES_MAX`] in a turn.
//! - The operation of a future that is dropped is taken out. So the operations that wait are at
//!   most the futures that exist.

use std::collections::BTreeMap;
use std::task::Waker;

use bytes::Bytes;
use terrace_lsm::{Batch, Durability, Engine, Error as EngineError, KeySpaceId, ReadOptions};

use super::answer::Promise;

/// The most gets of one turn: four times the reads that `multi_get` has in flight, so that blocks
/// with several of the keys are read once, while the first key does not wait long for the last.
pub(super) const GETS_MAX: usize = 128;

/// The most writes of one turn. Their callers wait for the last of them.
pub(super) const WRITES_MAX: usize = 1024;

/// Bytes after which a turn takes no further write: the bytes of a group of writes.
pub(super) const WRITE_BYTES_MAX: usize = 1 << 20;

/// A get that waits.
pub(super) struct Get {
    pub(super) space: KeySpaceId,
    pub(super) key: Box<[u8]>,
    pub(super) reads: ReadOptions,
    pub(super) sought: Sought,
}

/// The answer that a get is to give.
pub(super) enum Sought {
    Value(Promise<Option<Bytes>>),
    /// Whether there is a value.
    Presence(Promise<bool>),
}

impl Sought {
    /// Leaves the answer, which follows from the value.
    pub(super) fn leave(self, value: Result<Option<Bytes>, EngineError>) -> Option<Waker> {
        match self {
            Self::Value(promise) => promise.leave(value),
            Self::Presence(promise) => promise.leave(value.map(|value| value.is_some())),
        }
    }
}

/// Wakes a future with its answer.
pub(super) type Delivery = Box<dyn FnOnce() + Send>;

/// A read that may take long, or another call that waits.
pub(super) type Long = Box<dyn FnOnce(&Engine) -> Delivery + Send>;

/// A write that waits.
pub(super) struct Write {
    pub(super) batch: Batch,
    pub(super) durability: Durability,
    /// Whether all earlier writes are to be durable; then there is no batch.
    pub(super) syncs: bool,
    pub(super) promise: Promise<()>,
}

/// An operation.
pub(super) enum Job {
    Get(Get),
    Long(Long),
    Write(Write),
    /// A call that is neither a read nor a write of the log alone.
    Call(Long),
}

/// Place of an operation that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(Kind, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Get,
    Long,
    Write,
    Call,
}

/// The next work of an actor for reads.
pub(super) enum ReadTurn {
    Gets(Vec<Get>),
    /// Ends with a call of [`Waiting::long_ended`].
    Long(Long),
}

/// See the [module](self).
pub(super) struct Waiting {
    next: u64,
    gets: BTreeMap<u64, Get>,
    longs: BTreeMap<u64, Long>,
    writes: BTreeMap<u64, Write>,
    calls: BTreeMap<u64, Long>,
    /// Long reads that actors are doing, and the most of them.
    longs_running: usize,
    longs_max: usize,
    /// Whether the last turn for reads was a long one.
    last_was_long: bool,
}

impl Waiting {
    /// For a number of actors for reads.
    pub(super) fn new(readers: usize) -> Self {
        Self {
            next: 0,
            gets: BTreeMap::new(),
            longs: BTreeMap::new(),
            writes: BTreeMap::new(),
            calls: BTreeMap::new(),
            longs_running: 0,
            longs_max: readers.saturating_sub(1).max(1),
            last_was_long: false,
        }
    }

    /// Adds an operation.
    pub(super) fn add(&mut self, job: Job) -> Ticket {
        let number = self.next;
        self.next += 1;
        let kind = match job {
            Job::Get(get) => {
                self.gets.insert(number, get);
                Kind::Get
            }
            Job::Long(long) => {
                self.longs.insert(number, long);
                Kind::Long
            }
            Job::Write(write) => {
                self.writes.insert(number, write);
                Kind::Write
            }
            Job::Call(call) => {
                self.calls.insert(number, call);
                Kind::Call
            }
        };
        Ticket(kind, number)
    }

    /// Takes an operation out, unless an actor has taken it.
    pub(super) fn take_out(&mut self, Ticket(kind, number): Ticket) -> Option<Job> {
        match kind {
            Kind::Get => self.gets.remove(&number).map(Job::Get),
            Kind::Long => self.longs.remove(&number).map(Job::Long),
            Kind::Write => self.writes.remove(&number).map(Job::Write),
            Kind::Call => self.calls.remove(&number).map(Job::Call),
        }
    }

    /// The next turn of an actor for reads, if there is work for it.
    pub(super) fn take_reads(&mut self) -> Option<ReadTurn> {
        let long_may = !self.longs.is_empty() && self.longs_running < self.longs_max;
        let long = long_may && (self.gets.is_empty() || !self.last_was_long);
        if long {
            self.last_was_long = true;
            self.longs_running += 1;
            return self.longs.pop_first().map(|(_, long)| ReadTurn::Long(long));
        }
        if self.gets.is_empty() {
            return None;
        }
        self.last_was_long = false;
        let count = self.gets.len().min(GETS_MAX);
        let gets = (0..count).filter_map(|_| self.gets.pop_first());
        Some(ReadTurn::Gets(gets.map(|(_, get)| get).collect()))
    }

    /// The next of the other calls.
    pub(super) fn take_call(&mut self) -> Option<Long> {
        self.calls.pop_first().map(|(_, call)| call)
    }

    /// Notes that an actor has done a long read.
    pub(super) fn long_ended(&mut self) {
        self.longs_running -= 1;
    }

    /// The writes of the next turn, if any wait.
    pub(super) fn take_writes(&mut self) -> Option<Vec<Write>> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while taken.len() < WRITES_MAX && bytes < WRITE_BYTES_MAX {
            let Some((_, write)) = self.writes.pop_first() else { break };
            bytes += write.batch.byte_size().0 as usize;
            taken.push(write);
        }
        Some(taken).filter(|taken| !taken.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::promise;
    use super::*;

    fn get(key: u8) -> Job {
        let (space, reads) = (KeySpaceId::DEFAULT, ReadOptions::default());
        Job::Get(Get { space, key: Box::new([key]), reads, sought: Sought::Value(promise().0) })
    }

    fn long() -> Job {
        Job::Long(Box::new(|_| Box::new(|| {})))
    }

    fn write(bytes: usize) -> Job {
        let mut batch = Batch::new();
        batch.put(KeySpaceId::DEFAULT, b"key", &vec![0; bytes]);
        let durability = Durability::Gathered;
        Job::Write(Write { batch, durability, syncs: false, promise: promise().0 })
    }

    /// Keys of a turn of gets; none for a long one.
    fn turn(waiting: &mut Waiting) -> Option<Vec<u8>> {
        waiting.take_reads().map(|turn| match turn {
            ReadTurn::Gets(gets) => gets.iter().map(|get| get.key[0]).collect(),
            ReadTurn::Long(_) => Vec::new(),
        })
    }

    #[test]
    fn gets_are_taken_in_their_order_and_a_bounded_number_at_a_time() {
        let mut waiting = Waiting::new(2);
        let keys: Vec<u8> = (0..=255).collect();
        keys.iter().for_each(|key| _ = waiting.add(get(*key)));
        assert_eq!(turn(&mut waiting).as_deref(), Some(&keys[..GETS_MAX]));
        assert_eq!(turn(&mut waiting).as_deref(), Some(&keys[GETS_MAX..]));
        assert_eq!(turn(&mut waiting), None);
    }

    #[test]
    fn long_reads_and_gets_take_turns_and_one_actor_is_left_for_gets() {
        let mut waiting = Waiting::new(2);
        (0..3).for_each(|_| _ = waiting.add(long()));
        waiting.add(get(1));
        assert_eq!(turn(&mut waiting), Some(vec![]));
        assert_eq!(turn(&mut waiting), Some(vec![1]));
        assert_eq!(turn(&mut waiting), None, "the other actor waits for gets");
        waiting.long_ended();
        waiting.add(get(2));
        assert_eq!(turn(&mut waiting), Some(vec![]), "gets do not keep scans waiting either");
        waiting.long_ended();
        assert_eq!(turn(&mut waiting), Some(vec![2]));
        assert_eq!(turn(&mut waiting), Some(vec![]));
        // One actor alone does both.
        let mut alone = Waiting::new(1);
        alone.add(long());
        assert_eq!(turn(&mut alone), Some(vec![]));
    }

    #[test]
    fn writes_are_taken_up_to_their_bytes() {
        let mut waiting = Waiting::new(2);
        for bytes in [1, WRITE_BYTES_MAX, 1, 1] {
            waiting.add(write(bytes));
        }
        let taken = |waiting: &mut Waiting| waiting.take_writes().map(|writes| writes.len());
        assert_eq!(taken(&mut waiting), Some(2));
        assert_eq!(taken(&mut waiting), Some(2));
        assert_eq!(taken(&mut waiting), None);
        (0..=WRITES_MAX).for_each(|_| _ = waiting.add(write(1)));
        assert_eq!(taken(&mut waiting), Some(WRITES_MAX));
        assert_eq!(taken(&mut waiting), Some(1));
    }

    #[test]
    fn an_operation_is_taken_out_unless_an_actor_has_it() {
        let mut waiting = Waiting::new(2);
        let tickets: Vec<_> = (1..4).map(|key| waiting.add(get(key))).collect();
        let (write, call) =
            (waiting.add(write(1)), waiting.add(Job::Call(Box::new(|_| Box::new(|| {})))));
        let long = waiting.add(long());
        assert!(matches!(waiting.take_out(tickets[1]), Some(Job::Get(_))));
        assert!(waiting.take_out(tickets[1]).is_none());
        assert!(matches!(waiting.take_out(write), Some(Job::Write(_))));
        assert!(matches!(waiting.take_out(long), Some(Job::Long(_))));
        assert!(matches!(waiting.take_out(call), Some(Job::Call(_))));
        assert!(waiting.take_call().is_none());
        assert_eq!(turn(&mut waiting), Some(vec![1, 3]));
        assert!(waiting.take_out(tickets[0]).is_none());
        assert!(waiting.take_writes().is_none());
    }
}
