//! [`WorkLimit`]: fails a run whose store moves many times the bytes that the shape of its tree
//! explains. A load that never ends fails by itself, and says where the bytes went.
//!
//! - The limit is [`TIMES`] times the closed form of the run's system
//!   ([`System::write_amplification`](terrace_policy::System::write_amplification)) for each byte
//!   that was flushed, for a store that is as large as its drive; and the drive written over
//!   [`ALLOWANCE`] times, for short runs and for merges that a run begins with.
//! - The bytes that compactions and reclaim have written since the store was mounted are compared
//!   with it.
//! - It is looked at in each transaction of the engine and whenever space is set aside. A writer
//!   that waits for jobs for ever is ended by this, too: its jobs commit.
//! - From the look that finds too much, each of these calls fails. So the engine stops, and the
//!   clients of the run with it. [`WorkLimit::exceeded`] then has the reason.
//!
//! It sends no request and takes no time.

use std::fmt;
use std::sync::Arc;

use terrace::{ByteCount, Store};
use terrace_env::Cause;
use terrace_env::store::{IoCounts, Layer, Rank, Reservation, StoreError, Transaction};
use terrace_env::sync::Mutex;

/// Multiple of the closed form beyond which the bytes are no longer the work of the shape.
const TIMES: f64 = 10.0;

/// Number of times that the drive may be written over in addition.
const ALLOWANCE: u64 = 4;

/// Bytes that a store has moved beyond the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct TooMuchMoved {
    /// Bytes written by each cause that has written any.
    pub written: Vec<(Cause, ByteCount)>,
    /// Bytes that compactions and reclaim may have written.
    pub limit: ByteCount,
    /// Bytes that compactions write for one that is flushed, by the closed form.
    pub closed_form: f64,
}

impl fmt::Display for TooMuchMoved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { written, limit, closed_form } = self;
        write!(
            f,
            "expected compactions and reclaim to write at most {limit}, {TIMES} times \
             {closed_form:.1} bytes for each that is flushed, found by cause: "
        )?;
        let flushed = written.iter().find(|(cause, _)| *cause == Cause::Flush);
        let flushed = flushed.map_or(1, |(_, bytes)| bytes.0.max(1));
        for (at, (cause, bytes)) in written.iter().enumerate() {
            let lead = if at > 0 { ", " } else { "" };
            let for_one = bytes.0 as f64 / flushed as f64;
            write!(f, "{lead}{cause} {bytes} ({for_one:.1} for one)")?;
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct State {
    /// The closed form, and the bytes that are allowed in addition; `None` until the store is open.
    limit: Option<(f64, u64)>,
    exceeded: Option<TooMuchMoved>,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct WorkLimit(Arc<Mutex<State>>);

impl WorkLimit {
    /// The store with the limit on it.
    pub(super) fn store(&self, below: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Limited { below, limit: self.clone() })
    }

    /// From now on the limit holds: for a store on a drive of `drive` bytes, whose compactions
    /// write `closed_form` bytes for one.
    pub(super) fn set(&self, closed_form: f64, drive: ByteCount) {
        self.0.lock().limit = Some((closed_form, drive.0.saturating_mul(ALLOWANCE)));
    }

    /// The excess over the limit, if there is any.
    pub(super) fn exceeded(&self) -> Option<TooMuchMoved> {
        self.0.lock().exceeded.clone()
    }

    /// An error if the store has moved too much.
    fn check(&self, io: &IoCounts) -> Result<(), StoreError> {
        let mut state = self.0.lock();
        let Some((closed_form, allowed)) = state.limit else { return Ok(()) };
        let flushed = io.written(Cause::Flush).0;
        let limit = (TIMES * closed_form * flushed as f64) as u64 + allowed;
        let moved = io.written(Cause::Compaction).0 + io.written(Cause::Reclaim).0;
        if moved <= limit && state.exceeded.is_none() {
            return Ok(());
        }
        let written = Cause::ALL.into_iter().map(|cause| (cause, io.written(cause)));
        let written = written.filter(|(_, bytes)| *bytes > ByteCount(0)).collect();
        let found = TooMuchMoved { written, limit: ByteCount(limit), closed_form };
        Err(StoreError::Invalid(state.exceeded.get_or_insert(found).to_string()))
    }
}

/// A store under a limit.
struct Limited {
    below: Arc<dyn Store>,
    limit: WorkLimit,
}

impl Layer for Limited {
    fn below(&self) -> &dyn Store {
        &*self.below
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        self.limit.check(&self.below.io())?;
        self.below.commit(transaction)
    }

    fn reserve(&self, rank: Rank, bytes: ByteCount) -> Result<Reservation, StoreError> {
        self.limit.check(&self.below.io())?;
        self.below.reserve(rank, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(flushed: u64, compacted: u64, reclaimed: u64) -> IoCounts {
        let mut io = IoCounts::default();
        for (cause, bytes) in
            [(Cause::Flush, flushed), (Cause::Compaction, compacted), (Cause::Reclaim, reclaimed)]
        {
            io.written_bytes[cause as usize] = bytes << 20;
        }
        io
    }

    #[test]
    fn a_store_that_moves_ten_times_its_closed_form_fails_and_says_by_which_cause() {
        let limit = WorkLimit::default();
        limit.check(&written(0, 1_000_000, 0)).unwrap();
        limit.set(5.0, ByteCount::mib(100));
        limit.check(&written(10, 500, 400)).unwrap();
        assert!(limit.exceeded().is_none());
        let error = limit.check(&written(10, 500, 401)).unwrap_err().to_string();
        assert!(error.contains("flush 10 MiB (1.0 for one)"), "{error}");
        assert!(error.contains("reclaim 401 MiB (40.1 for one)"), "{error}");
        assert!(error.contains("900 MiB"), "{error}");
        // It stays: later flushes do not lift it.
        limit.check(&written(1000, 500, 401)).unwrap_err();
        assert_eq!(limit.exceeded().unwrap().closed_form, 5.0);
    }
}
