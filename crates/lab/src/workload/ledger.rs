//! [`Ledger`]: the required contents of the store: for each record its newest generation and the
//! size of its entry.
//!
//! Each write of a record is a *generation* of it, counted from 1; a delete is one, too. A write is
//! noted when it [begins](Ledger::begin) and when it [has ended](Ledger::end). One that never ends
//! may or may not have happened. A read may find a generation
//! - whose write had begun before the read ended,
//! - unless another write began after that one had ended, and ended before the read began.
//!
//! So the ledger judges each read alone, and does not compare reads with each other.
//!
//! Any number of clients may use a ledger at once. A record takes eight bytes, in chunks of 65,536
//! records; records that were deleted, or written by two clients at once (`contest`), take more.
//! Writing panics if a record's number is not below [`RECORDS_MAX`], or if an entry has 32 MiB or
//! more.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use terrace_env::FastMap;
use terrace_env::sync::Mutex;

use super::contest::{Contest, Seen};

/// Records of a chunk, and chunks.
const CHUNK: u64 = 1 << 16;
/// Records are numbered below this.
pub const RECORDS_MAX: u64 = CHUNK * CHUNK;
/// Over how many locks the contests are spread.
const SHARDS: usize = 64;

/// Knowledge of a record, in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    /// The store holds the record.
    const HELD: u64 = 1;
    /// A write of the next generation is running.
    const BUSY: u64 = 2;
    /// Two writes met; the rest of the word is the knowledge from before.
    const CONTESTED: u64 = 4;

    /// The last write that has ended: its generation, and the size of the entry it left.
    fn settled(generation: u32, size: Option<u32>) -> Self {
        let held = if size.is_some() { Self::HELD } else { 0 };
        let size = u64::from(size.unwrap_or(0));
        assert!(size < 1 << 25, "an entry of {size} bytes");
        Self(u64::from(generation) << 32 | size << 3 | held)
    }

    fn is(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    fn with(self, flag: u64) -> Self {
        Self(self.0 | flag)
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn size(self) -> Option<u32> {
        self.is(Self::HELD).then_some((self.0 >> 3) as u32 & ((1 << 25) - 1))
    }

    /// The generation of the last write that has begun, of a record that is not contested.
    fn begun(self) -> u32 {
        self.generation() + u32::from(self.is(Self::BUSY))
    }
}

/// Knowledge of a shard in addition to the words.
#[derive(Default)]
struct Shard {
    contests: FastMap<u64, Contest>,
    /// The last delete that has begun, of records that had one.
    deletes: FastMap<u64, u32>,
}

/// An unfinished write. One that never ends may or may not have happened.
#[derive(Debug)]
#[must_use = "a write that has ended is noted"]
pub struct Write {
    number: u64,
    generation: u32,
}

impl Write {
    /// The generation that it writes.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation
    }
}

/// Values that a read of a record may find, as far as is known before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before(Seen);

impl Before {
    /// Nothing is known: any value that was ever written may be found.
    pub const ANYTHING: Self = Self(Seen::Settled { generation: 0, held: false });
}

/// Sums over all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Records that the store holds.
    pub records: u64,
    /// Bytes of their keys and newest values. Of a record that several clients wrote at once, the
    /// write counts that ended last.
    pub bytes: u64,
}

/// Expected contents of the store.
pub struct Ledger {
    chunks: Box<[OnceLock<Box<[AtomicU64]>>]>,
    shards: Vec<Mutex<Shard>>,
    begun: AtomicU64,
    ended: AtomicU64,
    records: AtomicI64,
    bytes: AtomicI64,
    end: AtomicU64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// Nothing was ever written.
    #[must_use]
    pub fn new() -> Self {
        Self {
            chunks: (0..RECORDS_MAX / CHUNK).map(|_| OnceLock::new()).collect(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            records: AtomicI64::new(0),
            bytes: AtomicI64::new(0),
            end: AtomicU64::new(0),
        }
    }

    /// One more than the largest number of a record that was ever written.
    #[must_use]
    pub fn end_number(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Sums over all records.
    #[must_use]
    pub fn held(&self) -> Held {
        let count = |sum: &AtomicI64| sum.load(Ordering::Acquire).max(0).unsigned_abs();
        Held { records: count(&self.records), bytes: count(&self.bytes) }
    }

    /// Records that the store may hold or not: writes and deletes of them met, and they were not
    /// written since.
    #[must_use]
    pub fn undecided(&self) -> u64 {
        let of = |shard: &Mutex<Shard>| {
            let shard = shard.lock();
            let undecided = shard.contests.values().filter(|one| one.seen().allows_absence());
            undecided.count() as u64
        };
        self.shards.iter().map(of).sum()
    }

    /// Writes that have begun; `None` while one is running. Where it is the same as before,
    /// nothing was written meanwhile.
    #[must_use]
    pub fn quiet(&self) -> Option<u64> {
        let ended = self.ended.load(Ordering::Acquire);
        (self.begun.load(Ordering::Acquire) == ended).then_some(ended)
    }

    /// Whether the store must hold a record, as far as ended writes tell.
    #[must_use]
    pub fn holds(&self, number: u64) -> bool {
        self.word(number).is(Word::HELD)
    }

    /// The first of these records that the store must hold.
    #[must_use]
    pub fn first_held(&self, numbers: Range<u64>) -> Option<u64> {
        let Range { start: mut number, end } = numbers;
        let end = end.min(self.end_number());
        while number < end {
            let Some(chunk) = self.chunks[(number / CHUNK) as usize].get() else {
                number = (number / CHUNK + 1) * CHUNK;
                continue;
            };
            let word = Word(chunk[(number % CHUNK) as usize].load(Ordering::Acquire));
            let sure = || !word.is(Word::CONTESTED) || !self.before(number).0.allows_absence();
            if word.is(Word::HELD) && sure() {
                return Some(number);
            }
            number += 1;
        }
        None
    }

    /// A write of a record begins; a delete says so.
    ///
    /// # Panics
    /// When there can be no record of this number: see [`RECORDS_MAX`].
    pub fn begin(&self, number: u64, delete: bool) -> Write {
        self.end.fetch_max(number + 1, Ordering::AcqRel);
        self.begun.fetch_add(1, Ordering::AcqRel);
        let word = Word(self.at(number).load(Ordering::Acquire));
        if !delete && !word.is(Word::BUSY | Word::CONTESTED) && self.set(number, word, Word::BUSY) {
            return Write { number, generation: word.generation() + 1 };
        }
        let mut shard = self.shard(number).lock();
        let generation = self.begin_locked(number, delete, &mut shard);
        if delete {
            // Generations of a record only rise.
            shard.deletes.insert(number, generation);
        }
        Write { number, generation }
    }

    fn begin_locked(&self, number: u64, delete: bool, shard: &mut Shard) -> u32 {
        loop {
            let word = self.word(number);
            if word.is(Word::CONTESTED) {
                let contest = shard.contests.get_mut(&number).expect("a contest, as the word says");
                return contest.begin(delete);
            }
            if !word.is(Word::BUSY) {
                if self.set(number, word, Word::BUSY) {
                    return word.generation() + 1;
                }
            } else if self.set(number, word, Word::CONTESTED) {
                let mut contest = Contest::new(word.generation(), word.is(Word::HELD));
                contest.begin(shard.deletes.get(&number) == Some(&word.begun()));
                let generation = contest.begin(delete);
                shard.contests.insert(number, contest);
                return generation;
            }
        }
    }

    /// A write has ended, and left an entry of `size` bytes, or none.
    pub fn end(&self, write: Write, size: Option<u32>) {
        let Write { number, generation } = write;
        let word = Word(self.at(number).load(Ordering::Acquire));
        let before = if !word.is(Word::CONTESTED)
            && self.replace(number, word, Word::settled(generation, size))
        {
            word.size()
        } else {
            self.end_contested(number, generation, size)
        };
        let count = |size: Option<u32>| i64::from(size.is_some());
        let bytes = |size: Option<u32>| i64::from(size.unwrap_or(0));
        self.records.fetch_add(count(size) - count(before), Ordering::AcqRel);
        self.bytes.fetch_add(bytes(size) - bytes(before), Ordering::AcqRel);
        self.ended.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the size for which the record counted before.
    fn end_contested(&self, number: u64, generation: u32, size: Option<u32>) -> Option<u32> {
        let mut shard = self.shard(number).lock();
        let contest = shard.contests.get_mut(&number).expect("two writes met");
        contest.end(generation);
        let settled = contest.settled();
        // Only with the lock is the word of a contested record changed.
        let word = self.word(number);
        let new = Word::settled(settled.unwrap_or(generation), size);
        let new = if settled.is_some() { new } else { new.with(Word::CONTESTED) };
        self.at(number).store(new.0, Ordering::Release);
        if settled.is_some() {
            shard.contests.remove(&number);
        }
        word.size()
    }

    /// Values that a read that begins now may find.
    #[must_use]
    pub fn before(&self, number: u64) -> Before {
        let word = self.word(number);
        if !word.is(Word::CONTESTED) {
            let held = word.is(Word::HELD);
            return Before(Seen::Settled { generation: word.generation(), held });
        }
        let shard = self.shard(number).lock();
        // It may have been settled before the lock was there.
        let word = self.word(number);
        let settled = Seen::Settled { generation: word.generation(), held: word.is(Word::HELD) };
        Before(shard.contests.get(&number).map_or(settled, Contest::seen))
    }

    /// Whether a read that ends now may have found a generation, or nothing (`None`).
    #[must_use]
    pub fn allows(&self, number: u64, before: &Before, found: Option<u32>) -> bool {
        match found {
            Some(found) => before.0.allows(found) && found <= self.last_begun(number),
            None => {
                let deletes = || self.shard(number).lock().deletes.get(&number).copied();
                before.0.allows_absence() || deletes().is_some_and(|last| before.0.is_later(last))
            }
        }
    }

    /// Whether a read that ends now can only have found nothing.
    #[must_use]
    pub fn allows_nothing_else(&self, number: u64, before: &Before) -> bool {
        let least = before.0.least();
        !before.0.allows(least) && self.last_begun(number) == least
    }

    /// The generations that a read may have found at most, for messages.
    #[must_use]
    pub fn range(&self, number: u64, before: &Before) -> (u32, u32) {
        (before.0.least(), self.last_begun(number))
    }

    fn last_begun(&self, number: u64) -> u32 {
        let word = self.word(number);
        if !word.is(Word::CONTESTED) {
            return word.begun();
        }
        let shard = self.shard(number).lock();
        shard.contests.get(&number).map_or_else(|| self.word(number).begun(), Contest::begun)
    }

    fn shard(&self, number: u64) -> &Mutex<Shard> {
        &self.shards[number as usize % SHARDS]
    }

    /// Knowledge of a record; a chunk without writes is not made.
    fn word(&self, number: u64) -> Word {
        let chunk = self.chunks.get((number / CHUNK) as usize).and_then(OnceLock::get);
        let word = chunk.map(|chunk| chunk[(number % CHUNK) as usize].load(Ordering::Acquire));
        Word(word.unwrap_or(0))
    }

    fn at(&self, number: u64) -> &AtomicU64 {
        assert!(number < RECORDS_MAX, "record {number} of at most {RECORDS_MAX}");
        let chunk = self.chunks[(number / CHUNK) as usize]
            .get_or_init(|| (0..CHUNK).map(|_| AtomicU64::new(0)).collect());
        &chunk[(number % CHUNK) as usize]
    }

    fn set(&self, number: u64, word: Word, flag: u64) -> bool {
        self.replace(number, word, word.with(flag))
    }

    fn replace(&self, number: u64, old: Word, new: Word) -> bool {
        let word = self.at(number);
        word.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(ledger: &Ledger, number: u64, size: u32) {
        let write = ledger.begin(number, false);
        ledger.end(write, Some(size));
    }

    fn allowed(ledger: &Ledger, number: u64, before: &Before) -> Vec<Option<u32>> {
        let all = std::iter::once(None).chain((0..20).map(Some));
        all.filter(|found| ledger.allows(number, before, *found)).collect()
    }

    #[test]
    fn it_knows_what_was_written_what_was_deleted_and_how_much_that_is() {
        let ledger = Ledger::new();
        put(&ledger, 1, 100);
        put(&ledger, 2, 100);
        put(&ledger, 2, 70);
        let write = ledger.begin(1, true);
        ledger.end(write, None);
        assert_eq!(ledger.held(), Held { records: 1, bytes: 70 });
        assert_eq!((ledger.holds(1), ledger.holds(2), ledger.end_number()), (false, true, 3));
        assert_eq!((ledger.first_held(0..3), ledger.first_held(0..2)), (Some(2), None));
        assert_eq!(allowed(&ledger, 0, &ledger.before(0)), [None]);
        assert_eq!(allowed(&ledger, 1, &ledger.before(1)), [None]);
        assert_eq!(allowed(&ledger, 2, &ledger.before(2)), [Some(2)]);
        put(&ledger, 1, 30);
        assert_eq!(allowed(&ledger, 1, &ledger.before(1)), [Some(3)]);
        assert_eq!(ledger.held(), Held { records: 2, bytes: 100 });
        let far = RECORDS_MAX - 1;
        put(&ledger, far, 5);
        assert_eq!(ledger.first_held(3..u64::MAX), Some(far));
        assert!(ledger.holds(far) && !ledger.holds(far - 1) && !ledger.holds(u64::MAX));
    }

    #[test]
    fn a_read_may_find_what_is_being_written_and_nothing_older_than_it_knew() {
        let ledger = Ledger::new();
        put(&ledger, 0, 1);
        put(&ledger, 0, 1);
        let before = ledger.before(0);
        assert!(ledger.quiet().is_some());
        let write = ledger.begin(0, false);
        assert_eq!((allowed(&ledger, 0, &before), ledger.quiet()), (vec![Some(2), Some(3)], None));
        assert_eq!(allowed(&ledger, 0, &ledger.before(0)), [Some(2), Some(3)]);
        ledger.end(write, Some(1));
        assert_eq!(allowed(&ledger, 0, &before), [Some(2), Some(3)]);
        assert_eq!(allowed(&ledger, 0, &ledger.before(0)), [Some(3)]);
        let write = ledger.begin(0, true);
        assert_eq!(allowed(&ledger, 0, &before)[..2], [None, Some(2)]);
        assert_eq!(allowed(&ledger, 0, &ledger.before(0))[..2], [None, Some(3)]);
        ledger.end(write, None);
        assert_eq!(allowed(&ledger, 0, &ledger.before(0)), [None]);
    }

    #[test]
    fn of_two_writes_at_once_either_may_be_found_until_a_third_ends_it() {
        let ledger = Ledger::new();
        put(&ledger, 7, 10);
        let (first, second) = (ledger.begin(7, false), ledger.begin(7, false));
        assert_eq!(allowed(&ledger, 7, &ledger.before(7)), [Some(1), Some(2), Some(3)]);
        ledger.end(second, Some(20));
        assert_eq!(allowed(&ledger, 7, &ledger.before(7)), [Some(2), Some(3)]);
        ledger.end(first, Some(30));
        let both = ledger.before(7);
        assert_eq!(allowed(&ledger, 7, &both), [Some(2), Some(3)]);
        assert_eq!(ledger.held(), Held { records: 1, bytes: 30 });
        put(&ledger, 7, 40);
        assert_eq!(allowed(&ledger, 7, &both), [Some(2), Some(3), Some(4)]);
        assert_eq!(allowed(&ledger, 7, &ledger.before(7)), [Some(4)]);
        assert_eq!(ledger.held(), Held { records: 1, bytes: 40 });
        assert!(!ledger.word(7).is(Word::CONTESTED) && ledger.quiet().is_some());
    }

    #[test]
    fn a_delete_that_meets_a_write_may_win_or_lose() {
        for delete_first in [true, false] {
            let ledger = Ledger::new();
            put(&ledger, 7, 10);
            let (first, second) = (ledger.begin(7, delete_first), ledger.begin(7, !delete_first));
            let put = if delete_first { 3 } else { 2 };
            let found = allowed(&ledger, 7, &ledger.before(7));
            assert!(found.contains(&None) && found.contains(&Some(put)), "{found:?}");
            ledger.end(first, (!delete_first).then_some(5));
            ledger.end(second, delete_first.then_some(5));
            assert_eq!(allowed(&ledger, 7, &ledger.before(7)), [None, Some(put)]);
            assert_eq!((ledger.first_held(0..10), ledger.undecided()), (None, 1));
            self::put(&ledger, 7, 10);
            assert_eq!((ledger.first_held(0..10), ledger.undecided()), (Some(7), 0));
        }
    }
}
