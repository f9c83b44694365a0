//! [`Crowd`]: several clients that share one sequence of operations.
//!
//! - Closed loop: each client takes the next operation when its last one has ended. An operation is
//!   timed from the end of the client's last one, or the client's first from its start. So its time
//!   includes taking it from the source.
//! - Open loop, of operations with arrivals: a free client waits until the next operation arrives.
//!   The operation is timed from its arrival, also if all clients were busy then. So the delays of
//!   a store that stalls are not hidden (*coordinated omission*). Each client runs at most one
//!   operation at a time.
//!
//! A sequence may have operations of both kinds. The clock of the arrivals begins when the first
//! operation with an arrival is taken. A failure ends the sequence; operations that other clients
//! have taken by then are completed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace::Durability;
use terrace_env::sync::Mutex;
use terrace_env::{Time, runner};

use super::client::Client;
use super::error::ClientError;
use super::operation::Operation;
use super::source::{Request, Source, SourceError};
use super::tally::Tally;
use super::turn::Turn;
use super::world::World;

/// Why a crowd stopped.
#[derive(Debug, thiserror::Error)]
pub enum CrowdError {
    /// A client's operation failed, or was answered wrongly.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// There was no telling which operation came next.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Clients that each take the next operation of one sequence, at its arrival if it has one, or as
/// soon as they have carried out their last.
///
/// On threads, timing decides which client gets which operation; in a simulation it is the same
/// every time. An insert that has been taken counts as a record for operations taken after it,
/// although it may not have ended: with several clients a read of it can miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// How many there are; at least one.
    pub clients: usize,
    /// The durability of their writes; `None`: that of the store's options.
    pub durability: Option<Durability>,
    /// If this is `n`, every n-th write of a client is synced, for any durability of the others;
    /// `None`: no more writes are synced.
    pub synced_every: Option<u64>,
    /// How many seconds of the full drive a second is, in a scaled run; otherwise 1.
    pub time_scale: u64,
    /// How often a write counts, in a scaled run with the full drive's number of reads;
    /// otherwise 1.
    pub write_weight: u64,
}

/// State shared by the clients of a crowd.
struct Shared<S> {
    /// `None` once it has ended, or a client has failed.
    source: Mutex<Option<Begun<S>>>,
    /// Of an open loop: the turn of the client that takes the next operation, and waits for its
    /// arrival.
    turn: Option<Turn>,
    done: AtomicU64,
}

/// A source that is being taken from.
struct Begun<S> {
    source: S,
    /// When arrivals began.
    start: Option<Time>,
}

impl Crowd {
    /// `clients` clients, whose writes have the store's durability.
    #[must_use]
    pub fn new(clients: usize) -> Self {
        Self { clients, durability: None, synced_every: None, time_scale: 1, write_weight: 1 }
    }

    /// Carries the whole sequence out. One client is the caller; the others are
    /// [spawned](runner::spawn), and have ended when this returns. `watch` is told after each
    /// operation of the caller how many all have done. The first failure ends it.
    pub fn play(
        self,
        world: &World,
        source: impl Source + 'static,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Tally, CrowdError> {
        let turn = source.is_open().then(Turn::default);
        let source = Mutex::new(Some(Begun { source, start: None }));
        let shared = Arc::new(Shared { source, turn, done: AtomicU64::new(0) });
        let client = || {
            let client = Client::new(world).scaled(self.time_scale, self.write_weight);
            let client = client.synced_every(self.synced_every);
            match self.durability {
                Some(durability) => client.with_durability(durability),
                None => client,
            }
        };
        let others: Vec<_> = (1..self.clients)
            .map(|number| {
                let (client, shared) = (client(), Arc::clone(&shared));
                runner::spawn(&format!("client {number}"), move || shared.play(client, &mut |_| ()))
            })
            .collect();
        let own = shared.play(client(), watch);
        // The others have to end, even if this one has failed.
        let all: Vec<_> = others.into_iter().map(runner::JoinHandle::join).collect();
        let mut tally = own?;
        for one in all {
            tally.add(&one?);
        }
        Ok(tally)
    }
}

impl<S: Source> Shared<S> {
    fn play(&self, mut client: Client, watch: &mut dyn FnMut(u64)) -> Result<Tally, CrowdError> {
        let mut last = runner::now();
        let mut go = || {
            loop {
                let turn = self.turn.as_ref().map(Turn::take);
                let Some((operation, arrival)) = self.take()? else { return Ok(()) };
                last = match arrival {
                    None => {
                        drop(turn);
                        client.play_since(operation, last)?
                    }
                    Some(arrival) => {
                        runner::sleep_until_precisely(arrival);
                        drop(turn);
                        client.play_arrived(operation, arrival)?
                    }
                };
                watch(self.done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        let result = go();
        if result.is_err() {
            *self.source.lock() = None;
        }
        result.map(|()| client.into_tally())
    }

    /// The next operation, and when it arrives.
    fn take(&self) -> Result<Option<(Operation, Option<Time>)>, SourceError> {
        let mut begun = self.source.lock();
        let Some(Begun { source, start }) = &mut *begun else { return Ok(None) };
        let Some(Request { operation, arrival }) = source.take()? else {
            *begun = None;
            return Ok(None);
        };
        let arrival = arrival.map(|at| *start.get_or_insert_with(runner::now) + at);
        Ok(Some((operation, arrival)))
    }
}
