//! One thread of a mix: operations one after the other, each timed from where the one before ended.
//!
//! The clock is read once an operation: an operation's time has the making and verifying of its
//! value in it.

use hdrhistogram::Histogram;
use terrace::Durability;
use terrace_env::{Time, runner};

use super::error::BenchError;
use super::mix::Mix;
use crate::workload::{Client, ClientError, Operation, World};

/// One thread of a mix.
pub(super) struct Worker {
    client: Client,
    mix: Mix,
    value_size: u32,
    last: Time,
}

impl Worker {
    /// Writes values of so many bytes.
    pub(super) fn new(world: &World, mix: Mix, value_size: usize) -> Self {
        let durability =
            if mix == Mix::FillSync { Durability::Synced } else { Durability::Buffered };
        let client = Client::new(world).with_durability(durability);
        Self { client, mix, value_size: value_size as u32, last: runner::now() }
    }

    /// The latencies of what it did, in nanoseconds.
    pub(super) fn into_latencies(self) -> Histogram<u64> {
        self.client.into_tally().all_latencies()
    }

    pub(super) fn put(&mut self, record: u64) -> Result<(), BenchError> {
        self.play(Operation::Update(record, self.value_size))
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
        self.last = result.map_err(|source| BenchError::Client { mix: self.mix, source })?;
        Ok(())
    }
}
