//! One thread's operations, timed one by one; every answer is verified.
//!
//! The clock is read once an operation: an operation's time begins where the one before ended, and
//! has the making and verifying of its value in it.

use std::sync::Arc;

use hdrhistogram::Histogram;
use terrace::{Batch, Bounds, Db, Durability};
use terrace_env::{Time, runner};

use super::entries::Entries;
use super::error::{BenchError, Defect};
use super::ledger::Ledger;
use super::measurement::histogram;
use super::mix::Mix;

/// The store, what was written to it, and how to tell.
#[derive(Clone)]
pub(super) struct World {
    pub(super) db: Db,
    pub(super) entries: Arc<Entries>,
    pub(super) ledger: Arc<Ledger>,
}

/// One thread's operations.
pub(super) struct Client {
    world: World,
    mix: Mix,
    latencies: Histogram<u64>,
    last: Time,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Client {
    pub(super) fn new(world: &World, mix: Mix) -> Self {
        let world = world.clone();
        let (key, value, last) = (Vec::new(), Vec::new(), runner::now());
        Self { world, mix, latencies: histogram(), last, key, value }
    }

    /// The latencies of what it did, in nanoseconds.
    pub(super) fn into_latencies(self) -> Histogram<u64> {
        self.latencies
    }

    fn tick(&mut self) {
        let now = runner::now();
        let nanos = now.since(self.last).as_nanos() as u64;
        self.latencies.record(nanos.max(1)).expect("a histogram that grows");
        self.last = now;
    }

    fn wrong(&self, number: u64, defect: Defect) -> BenchError {
        BenchError::Mismatch { mix: self.mix, number, defect }
    }

    /// Writes an entry's next generation.
    pub(super) fn put(&mut self, number: u64, durability: Durability) -> Result<(), BenchError> {
        let World { db, entries, ledger } = &self.world;
        let generation = ledger.generation(number) + 1;
        entries.key(number, &mut self.key);
        entries.value(number, generation, &mut self.value);
        let mut batch = Batch::new();
        batch.put(&self.key, &self.value);
        db.write_with(batch, durability)?;
        ledger.wrote(number, generation);
        self.tick();
        Ok(())
    }

    /// Deletes an entry.
    pub(super) fn delete(&mut self, number: u64) -> Result<(), BenchError> {
        let World { db, entries, ledger } = &self.world;
        entries.key(number, &mut self.key);
        db.delete(&self.key)?;
        ledger.deleted(number);
        self.tick();
        Ok(())
    }

    /// Reads an entry. Nobody deletes meanwhile.
    pub(super) fn get(&mut self, number: u64) -> Result<(), BenchError> {
        let World { db, entries, ledger } = &self.world;
        let (held, before) = (ledger.holds(number), ledger.generation(number));
        entries.key(number, &mut self.key);
        match db.get(&self.key)? {
            Some(value) if held => self.verify(number, before, &value)?,
            None if !held => {}
            Some(_) => return Err(self.wrong(number, Defect::Unexpected)),
            None => return Err(self.wrong(number, Defect::Missing)),
        }
        self.tick();
        Ok(())
    }

    /// Reads a key that lies behind an entry's and was never written.
    pub(super) fn get_absent(&mut self, number: u64) -> Result<(), BenchError> {
        self.world.entries.absent_key(number, &mut self.key);
        if self.world.db.get(&self.key)?.is_some() {
            return Err(self.wrong(number, Defect::Unexpected));
        }
        self.tick();
        Ok(())
    }

    /// Goes from an entry on through up to so many entries in order.
    pub(super) fn seek(&mut self, number: u64, entries: u64) -> Result<(), BenchError> {
        self.world.entries.key(number, &mut self.key);
        let bounds = Bounds::starting_at(&self.key);
        self.walk(number, bounds, entries, &mut |_| ())?;
        self.tick();
        Ok(())
    }

    /// Goes through all entries in order; returns how many there are. Not timed one by one.
    pub(super) fn scan_all(&mut self, watch: &mut dyn FnMut(u64)) -> Result<u64, BenchError> {
        self.walk(0, Bounds::all(), u64::MAX, watch)
    }

    fn walk(
        &self,
        first: u64,
        bounds: Bounds,
        entries_max: u64,
        watch: &mut dyn FnMut(u64),
    ) -> Result<u64, BenchError> {
        let World { db, entries, ledger } = &self.world;
        let (mut next, mut count) = (first, 0);
        let mut scan = db.scan(bounds)?;
        while count < entries_max && scan.advance().map_err(terrace::Error::from)? {
            let key = scan.key();
            let number =
                entries.number(key).filter(|number| (next..ledger.count()).contains(number));
            let Some(number) = number else {
                return Err(self.wrong(next, Defect::Order(key.to_vec())));
            };
            self.passed_over(next, number)?;
            if !ledger.holds(number) {
                return Err(self.wrong(number, Defect::Unexpected));
            }
            self.verify(number, ledger.generation(number), &scan.value())?;
            (next, count) = (number + 1, count + 1);
            watch(count);
        }
        if count < entries_max {
            self.passed_over(next, ledger.count())?;
        }
        Ok(count)
    }

    /// None of the entries that a scan has passed over may be there.
    fn passed_over(&self, from: u64, to: u64) -> Result<(), BenchError> {
        match (from..to).find(|number| self.world.ledger.holds(*number)) {
            Some(number) => Err(self.wrong(number, Defect::Missing)),
            None => Ok(()),
        }
    }

    fn verify(&self, number: u64, before: u32, value: &[u8]) -> Result<(), BenchError> {
        let World { entries, ledger, .. } = &self.world;
        let verified = entries.verify(number, value);
        let found = verified.map_err(|wrong| self.wrong(number, Defect::Value(wrong)))?;
        let allowed = ledger.allowed(number, before);
        if allowed.contains(&found) {
            return Ok(());
        }
        Err(self.wrong(number, Defect::Generation(*allowed.start(), *allowed.end(), found)))
    }
}

#[cfg(test)]
mod tests {
    use terrace::{MemoryStore, Options};

    use super::*;
    use crate::bench::entries::Wrong;

    /// Ten entries, and the store may be changed behind the client's back.
    fn client() -> Client {
        let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
        let (entries, ledger) = (Arc::new(Entries::new(1, 16, 64)), Arc::new(Ledger::new(10)));
        let mut client = Client::new(&World { db, entries, ledger }, Mix::ReadRandom);
        for number in 0..10 {
            client.put(number, Durability::Buffered).unwrap();
        }
        client.delete(9).unwrap();
        client
    }

    fn key(client: &Client, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        client.world.entries.key(number, &mut key);
        key
    }

    fn defect(result: Result<impl Sized, BenchError>) -> Defect {
        match result.err() {
            Some(BenchError::Mismatch { defect, .. }) => defect,
            other => panic!("expected a mismatch, found {other:?}"),
        }
    }

    #[test]
    fn right_answers_pass_and_are_timed() {
        let mut client = client();
        (0..10).for_each(|number| client.get(number).unwrap());
        client.get_absent(3).unwrap();
        client.seek(7, 5).unwrap();
        assert_eq!(client.scan_all(&mut |_| ()).unwrap(), 9);
        assert_eq!(client.into_latencies().len(), 11 + 10 + 1 + 1);
    }

    #[test]
    fn an_entry_that_is_lost_or_comes_back_is_noticed_by_reads_and_scans() {
        let mut client = client();
        let db = client.world.db.clone();
        db.delete(&key(&client, 4)).unwrap();
        assert_eq!(defect(client.get(4)), Defect::Missing);
        assert_eq!(defect(client.seek(2, 5)), Defect::Missing);
        assert_eq!(defect(client.scan_all(&mut |_| ())), Defect::Missing);
        db.put(&key(&client, 9), b"back").unwrap();
        assert_eq!(defect(client.get(9)), Defect::Unexpected);
        assert_eq!(defect(client.seek(9, 1)), Defect::Unexpected);
    }

    #[test]
    fn a_value_of_another_time_or_entry_is_noticed() {
        let mut client = client();
        let (db, entries) = (client.world.db.clone(), Arc::clone(&client.world.entries));
        let mut value = Vec::new();
        client.put(1, Durability::Buffered).unwrap();
        entries.value(1, 1, &mut value);
        db.put(&key(&client, 1), &value).unwrap();
        assert_eq!(defect(client.get(1)), Defect::Generation(2, 3, 1));
        db.put(&key(&client, 2), &value).unwrap();
        assert_eq!(defect(client.get(2)), Defect::Value(Wrong::Head));
        assert_eq!(defect(client.seek(2, 1)), Defect::Value(Wrong::Head));
    }

    #[test]
    fn keys_that_nobody_wrote_are_noticed() {
        let mut client = client();
        let mut absent = Vec::new();
        client.world.entries.absent_key(3, &mut absent);
        client.world.db.put(&absent, b"").unwrap();
        assert_eq!(defect(client.get_absent(3)), Defect::Unexpected);
        assert_eq!(defect(client.scan_all(&mut |_| ())), Defect::Order(absent));
    }
}
