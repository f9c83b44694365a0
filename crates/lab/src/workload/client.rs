//! [`Client`]: carries out operations on a store, one after the other. It times them and verifies
//! the answers.
//!
//! Only the clients of a [`World`] may write to its store. Several clients may work at once.
//! A scan is verified less strictly while another client writes: see [`Client`]. A write that
//! failed in the store counts as unfinished for ever: a read may find it or not, and scans are
//! verified less strictly from then on.
//!
//! A client runs on a thread or a simulated actor. It does not wait for the arrival of an
//! operation: that is up to its caller.

use std::ops::Range;

use terrace::{Batch, Bounds, Durability};
use terrace_env::wait::{WaitLedger, Waits};
use terrace_env::{Time, runner};

use super::entries::{KeyOrder, VALUE_SIZE_MAX, VALUE_SIZE_MIN};
use super::error::{ClientError, Defect};
use super::ledger::{Before, RECORDS_MAX};
use super::operation::{Kind, Operation};
use super::tally::Tally;
use super::world::World;

/// One client.
///
/// A client verifies every value in every byte; that a read finds the newest generation of its
/// record, or one that was being written meanwhile; that a scan's keys are in order. If no client
/// writes during a scan, it also verifies that the scan's values are the newest and that no record
/// is missing between them - the latter where keys lie in the order of the numbers. In hashed order
/// a client does not know which records lie between two keys: [`World::verify`] finds missing ones.
pub struct Client {
    world: World,
    durability: Durability,
    /// `n` if every n-th write is synced, and the number of writes until the next one.
    synced_every: Option<(u64, u64)>,
    tally: Tally,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Records and bytes that a walk in order went over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walked {
    pub(super) records: u64,
    pub(super) bytes: u64,
}

impl Client {
    /// A client that has done nothing so far; its writes last as the store's do.
    #[must_use]
    pub fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
            durability: world.db().durability(),
            synced_every: None,
            tally: Tally::default(),
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// This client with writes of this durability.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// This client with every n-th write synced.
    ///
    /// # Panics
    /// When that is every zeroth.
    pub(super) fn synced_every(self, writes: Option<u64>) -> Self {
        assert_ne!(writes, Some(0), "every zeroth write");
        Self { synced_every: writes.map(|every| (every, every)), ..self }
    }

    /// The durability of the next write.
    fn durability_of_next(&mut self) -> Durability {
        let Some((every, left)) = &mut self.synced_every else { return self.durability };
        *left -= 1;
        if *left > 0 {
            return self.durability;
        }
        *left = *every;
        Durability::Synced
    }

    /// This client in a run of which a second is `time_scale` seconds of the full drive, and where
    /// a write counts `write_weight` times.
    pub(super) fn scaled(mut self, time_scale: u64, write_weight: u64) -> Self {
        self.tally.time_scale = time_scale;
        self.tally.write_weight = write_weight;
        self
    }

    /// The world that it is in.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Tally of the client so far.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Tally of the client.
    #[must_use]
    pub fn into_tally(self) -> Tally {
        self.tally
    }

    /// Carries an operation out, timed from now on; returns when it had ended.
    pub fn play(&mut self, operation: Operation) -> Result<Time, ClientError> {
        self.play_since(operation, runner::now())
    }

    /// Carries an operation out, timed from an earlier moment: where it arrived and had to wait
    /// for this client, or where the one before had ended.
    pub fn play_since(&mut self, operation: Operation, since: Time) -> Result<Time, ClientError> {
        let ledger = WaitLedger::open();
        match operation {
            Operation::Read(record) => self.get(record)?,
            Operation::Update(record, size) | Operation::Insert(record, size) => {
                self.put(record, size)?;
            }
            Operation::Scan(record, length) => {
                self.seek(record, u64::from(length))?;
            }
            Operation::ReadModifyWrite(record, size) => {
                self.get(record)?;
                self.put(record, size)?;
            }
            Operation::Delete(record) => self.delete(record)?,
        }
        let waited = ledger.close();
        if let Some((time, waits)) = &waited {
            self.tally.meet(*time, waits);
        }
        let waits = waited.map(|(_, waits)| waits).unwrap_or_default();
        Ok(self.ended(operation.kind(), since, &waits))
    }

    /// Carries out an operation that has arrived: it is timed from its arrival on, and its wait for
    /// this client is noted in addition.
    pub(super) fn play_arrived(
        &mut self,
        operation: Operation,
        arrival: Time,
    ) -> Result<Time, ClientError> {
        self.tally.meet_client(runner::now().since(arrival));
        self.play_since(operation, arrival)
    }

    /// Reads a key that comes after a record's and was never written, timed from an earlier moment.
    pub fn read_absent_since(&mut self, record: u64, since: Time) -> Result<Time, ClientError> {
        self.world.entries.absent_key(record, &mut self.key);
        if self.world.db.get(&self.key)?.is_some() {
            return Err(wrong(record, Defect::Unexpected));
        }
        self.tally.misses += 1;
        Ok(self.ended(Kind::Read, since, &Waits::default()))
    }

    /// An operation has ended now.
    fn ended(&mut self, kind: Kind, since: Time, waits: &Waits) -> Time {
        let end = runner::now();
        self.tally.record(kind, end.since(since), waits);
        end
    }

    fn put(&mut self, record: u64, size: u32) -> Result<(), ClientError> {
        let durability = self.durability_of_next();
        let World { db, entries, ledger } = &self.world;
        if !entries.value_sizes().contains(&(size as usize)) {
            // A store that is made for a trace holds the largest value of it, which may be small.
            let expected = match (size as usize) < VALUE_SIZE_MIN {
                true => VALUE_SIZE_MIN..=VALUE_SIZE_MAX,
                false => entries.value_sizes(),
            };
            return Err(ClientError::ValueSize { record, expected, found: size });
        }
        if record >= RECORDS_MAX {
            return Err(ClientError::Record { record });
        }
        let write = ledger.begin(record, false);
        entries.key(record, &mut self.key);
        entries.value(record, write.generation(), size as usize, &mut self.value);
        let mut batch = Batch::new();
        batch.put(&self.key, &self.value);
        db.write_with(batch, durability)?;
        let bytes = self.key.len() as u32 + size;
        ledger.end(write, Some(bytes));
        self.tally.written.0 += u64::from(bytes);
        Ok(())
    }

    fn delete(&mut self, record: u64) -> Result<(), ClientError> {
        let durability = self.durability_of_next();
        let World { db, entries, ledger } = &self.world;
        if record >= RECORDS_MAX {
            return Err(ClientError::Record { record });
        }
        let write = ledger.begin(record, true);
        entries.key(record, &mut self.key);
        let mut batch = Batch::new();
        batch.delete(&self.key);
        db.write_with(batch, durability)?;
        ledger.end(write, None);
        self.tally.written.0 += self.key.len() as u64;
        Ok(())
    }

    fn get(&mut self, record: u64) -> Result<(), ClientError> {
        let World { db, entries, ledger } = &self.world;
        let before = ledger.before(record);
        entries.key(record, &mut self.key);
        if let Some(value) = db.get(&self.key)? {
            self.verify(record, &before, &value)?;
            self.tally.read.0 += (self.key.len() + value.len()) as u64;
        } else if ledger.allows(record, &before, None) {
            self.tally.misses += 1;
        } else {
            return Err(wrong(record, Defect::Missing));
        }
        Ok(())
    }

    /// Goes from a record on through up to `records` records in order.
    fn seek(&mut self, record: u64, records: u64) -> Result<(), ClientError> {
        self.world.entries.key(record, &mut self.key);
        let bounds = Bounds::starting_at(&self.key);
        let walked = self.walk(bounds, Some(record), records, &mut |_| ())?;
        self.tally.scanned += walked.records;
        self.tally.read.0 += walked.bytes;
        Ok(())
    }

    /// Goes through a limited number of records in order, from a record or from the first key on.
    pub(super) fn walk(
        &self,
        bounds: Bounds,
        first: Option<u64>,
        records_max: u64,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Walked, ClientError> {
        let World { db, entries, ledger } = &self.world;
        let (order, quiet) = (entries.order(), ledger.quiet());
        // The place in the order of keys where the next may lie.
        let mut next = first.map_or(0, |record| order.place(record));
        let mut past = false;
        let mut walked = Walked::default();
        let mut scan = db.scan(bounds)?;
        while walked.records < records_max && scan.advance()? {
            let key = scan.key();
            let record = entries.number(key);
            let record = record.filter(|record| !past && order.place(*record) >= next);
            let Some(record) = record else {
                return Err(wrong(order.number(next), Defect::Order(key.to_vec())));
            };
            let place = order.place(record);
            self.passed_over(quiet, next..place)?;
            let value = scan.value_slice();
            // The knowledge of now is that of the scan's beginning, unless a client wrote.
            let before = ledger.before(record);
            let still_quiet = quiet.is_some() && ledger.quiet() == quiet;
            self.verify(record, if still_quiet { &before } else { &Before::ANYTHING }, value)?;
            (next, past) = place.checked_add(1).map_or((place, true), |next| (next, false));
            walked.records += 1;
            walked.bytes += (entries.key_size(record) + value.len()) as u64;
            watch(walked.records);
        }
        if walked.records < records_max && !past {
            self.passed_over(quiet, next..ledger.end_number())?;
        }
        Ok(walked)
    }

    /// None of the records that a scan has passed over may be there, if no client wrote meanwhile.
    fn passed_over(&self, quiet: Option<u64>, places: Range<u64>) -> Result<(), ClientError> {
        let World { entries, ledger, .. } = &self.world;
        if entries.order() != KeyOrder::Numbered || quiet.is_none() {
            return Ok(());
        }
        match ledger.first_held(places) {
            Some(record) if ledger.quiet() == quiet => Err(wrong(record, Defect::Missing)),
            _ => Ok(()),
        }
    }

    fn verify(&self, record: u64, before: &Before, value: &[u8]) -> Result<(), ClientError> {
        let World { entries, ledger, .. } = &self.world;
        if ledger.allows_nothing_else(record, before) {
            return Err(wrong(record, Defect::Unexpected));
        }
        let verified = entries.verify(record, value);
        let found = verified.map_err(|defect| wrong(record, Defect::Value(defect)))?;
        if ledger.allows(record, before, Some(found)) {
            return Ok(());
        }
        let (low, high) = ledger.range(record, before);
        Err(wrong(record, Defect::Generation(low, high, found)))
    }
}

fn wrong(record: u64, defect: Defect) -> ClientError {
    ClientError::Mismatch { record, defect }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use terrace::{Db, MemoryStore, Options};

    use super::super::entries::{Entries, Wrong};
    use super::super::sizes::Sizes;
    use super::*;

    /// Ten records of 64 bytes, the last deleted; the store may be changed unknown to them.
    fn client(order: KeyOrder) -> Client {
        let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
        let entries = Entries::new(1, Sizes::Constant(16), order, 100);
        let mut client = Client::new(&World::new(db, Arc::new(entries)));
        for record in 0..10 {
            client.play(Operation::Insert(record, 64)).unwrap();
        }
        client.play(Operation::Delete(9)).unwrap();
        client
    }

    fn key(client: &Client, record: u64) -> Vec<u8> {
        let mut key = Vec::new();
        client.world.entries.key(record, &mut key);
        key
    }

    fn defect(result: Result<impl Sized, ClientError>) -> Defect {
        match result.err() {
            Some(ClientError::Mismatch { defect, .. }) => defect,
            other => panic!("expected a mismatch, found {other:?}"),
        }
    }

    #[test]
    fn right_answers_pass_and_are_counted_and_timed() {
        for order in [KeyOrder::Numbered, KeyOrder::Hashed] {
            let mut client = client(order);
            for record in 0..12 {
                client.play(Operation::Read(record)).unwrap();
            }
            client.read_absent_since(3, runner::now()).unwrap();
            client.play(Operation::ReadModifyWrite(4, 100)).unwrap();
            client.play(Operation::Scan(7, 5)).unwrap();
            let world = client.world().clone();
            assert_eq!(world.verify(&mut |_| ()).unwrap(), 9);
            assert_eq!(world.ledger().held().bytes, 9 * (16 + 64) + 36);
            let tally = client.into_tally();
            let counts = Kind::ALL.map(|kind| tally.latencies(kind).len());
            assert_eq!((counts, tally.operations()), ([13, 0, 10, 1, 1, 1], 26));
            // Three records and the absent key; nine and the one that is written again.
            assert_eq!(tally.misses, 4);
            assert_eq!(tally.written.0, 10 * 80 + 16 + 116);
            assert!(tally.scanned <= 5 && tally.read.0 >= 10 * 80 + tally.scanned * 80);
            assert!(order == KeyOrder::Hashed || tally.scanned == 2);
        }
    }

    #[test]
    fn a_record_that_is_lost_or_comes_back_is_noticed_by_reads_and_scans() {
        let mut client = client(KeyOrder::Numbered);
        let db = client.world.db.clone();
        db.delete(&key(&client, 4)).unwrap();
        assert_eq!(defect(client.play(Operation::Read(4))), Defect::Missing);
        assert_eq!(defect(client.play(Operation::Scan(2, 5))), Defect::Missing);
        assert_eq!(defect(client.world.verify(&mut |_| ())), Defect::Missing);
        db.put(&key(&client, 9), b"back").unwrap();
        assert_eq!(defect(client.play(Operation::Read(9))), Defect::Unexpected);
        assert_eq!(defect(client.play(Operation::Scan(9, 1))), Defect::Unexpected);
    }

    #[test]
    fn a_record_that_is_lost_is_noticed_in_the_end_where_keys_are_scattered() {
        let client = client(KeyOrder::Hashed);
        client.world.db.delete(&key(&client, 4)).unwrap();
        assert_eq!(defect(client.world.verify(&mut |_| ())), Defect::Count(9, 8));
    }

    #[test]
    fn a_value_of_another_time_or_record_is_noticed() {
        let mut client = client(KeyOrder::Numbered);
        let (db, entries) = (client.world.db.clone(), Arc::clone(&client.world.entries));
        let mut value = Vec::new();
        client.play(Operation::Update(1, 64)).unwrap();
        entries.value(1, 1, 64, &mut value);
        db.put(&key(&client, 1), &value).unwrap();
        assert_eq!(defect(client.play(Operation::Read(1))), Defect::Generation(2, 2, 1));
        assert_eq!(defect(client.play(Operation::Scan(1, 1))), Defect::Generation(2, 2, 1));
        db.put(&key(&client, 2), &value).unwrap();
        assert_eq!(defect(client.play(Operation::Read(2))), Defect::Value(Wrong::Head));
        assert_eq!(defect(client.play(Operation::Scan(2, 1))), Defect::Value(Wrong::Head));
        db.put(&key(&client, 3), &[0; 101]).unwrap();
        assert_eq!(defect(client.play(Operation::Read(3))), Defect::Value(Wrong::Size(101)));
    }

    #[test]
    fn keys_that_nobody_wrote_are_noticed() {
        let mut client = client(KeyOrder::Numbered);
        let mut absent = Vec::new();
        client.world.entries.absent_key(3, &mut absent);
        client.world.db.put(&absent, b"").unwrap();
        assert_eq!(defect(client.read_absent_since(3, runner::now())), Defect::Unexpected);
        assert_eq!(defect(client.world.verify(&mut |_| ())), Defect::Order(absent));
    }

    #[test]
    fn sizes_and_records_that_there_cannot_be_are_refused() {
        let mut client = client(KeyOrder::Hashed);
        let error = client.play(Operation::Update(1, 7)).unwrap_err().to_string();
        assert_eq!(error, "record 1: expected a value of 8 to 16777216 bytes, found 7");
        client.play(Operation::Update(1, 101)).unwrap_err();
        let error = client.play(Operation::Delete(RECORDS_MAX)).unwrap_err().to_string();
        assert_eq!(error, "record 4294967296: expected a number below 4294967296");
        client.play(Operation::Read(u64::MAX)).unwrap();
    }
}
