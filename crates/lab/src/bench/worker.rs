//! [`Worker`]: one thread of a mix. It carries out operations one after the other and times them.
//!
//! An operation's time begins where that of the one before ended, and the first one's when the
//! worker is made. So it includes making and verifying the value, and the work of the mix in
//! between.

use hdrhistogram::Histogram;
use terrace::Durability;
use terrace_env::random::Random;
use terrace_env::{Time, runner};

use super::error::BenchError;
use super::mix::Mix;
use super::work::Work;
use crate::workload::{Client, ClientError, Operation, Sizes, World};

/// One thread of a mix.
pub(super) struct Worker {
    client: Client,
    mix: Mix,
    values: Sizes,
    random: Random,
    last: Time,
}

impl Worker {
    /// Writes values of these sizes.
    pub(super) fn new(world: &World, mix: Mix, values: Sizes, seed: u64) -> Self {
        let client = Client::new(world);
        let client = match mix {
            Mix::FillSync => client.with_durability(Durability::Synced),
            _ => client,
        };
        Self { client, mix, values, random: Random::seeded(seed), last: runner::now() }
    }

    /// The latencies of its operations, in nanoseconds.
    pub(super) fn into_latencies(self) -> Histogram<u64> {
        self.client.into_tally().all_latencies()
    }

    pub(super) fn put(&mut self, record: u64) -> Result<(), BenchError> {
        let size = self.values.draw(&mut self.random);
        self.play(Operation::Update(record, size))
    }

    pub(super) fn delete(&mut self, record: u64) -> Result<(), BenchError> {
        self.play(Operation::Delete(record))
    }

    pub(super) fn get(&mut self, record: u64) -> Result<(), BenchError> {
        self.play(Operation::Read(record))
    }

    pub(super) fn get_absent(&mut self, record: u64) -> Result<(), BenchError> {
        let result = self.client.read_absent_since(record, self.last);
        self.ended(result)
    }

    pub(super) fn seek(&mut self, record: u64, records: u32) -> Result<(), BenchError> {
        self.play(Operation::Scan(record, records))
    }

    fn play(&mut self, operation: Operation) -> Result<(), BenchError> {
        let result = self.client.play_since(operation, self.last);
        self.ended(result)
    }

    fn ended(&mut self, result: Result<Time, ClientError>) -> Result<(), BenchError> {
        let work = Work::Mix(self.mix);
        self.last = result.map_err(|source| BenchError::Client { work, source })?;
        Ok(())
    }
}
