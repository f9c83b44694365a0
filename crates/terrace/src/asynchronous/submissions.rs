//! [`Submissions`]: the operations that futures have submitted to a store, and the actors that do
//! them: [`READERS`] for reads, one for writes, and [`CALLERS`] for all other calls.
//!
//! - The first operation starts the actors for reads and writes, the first other call those for
//!   calls. They end with the store, or with its close.
//! - Reads that come while the actors are busy are done together at their next turn, and so are
//!   writes. The actor for writes waits like any writer: for the log, and for space.
//! - Once the store is closed, operations that no actor has begun, and later ones, get the error
//!   that it is closed.
//! - If the operating system grants no thread for an actor, the actors end, and all operations get
//!   that error from then on.
//! - If an actor panics, which is a bug, or a waker does, the operations of its turn, those that
//!   wait and all later ones get an error of the kind [`Bug`](crate::ErrorKind::Bug). Calls that
//!   are no futures go on.
//!
//! Threads: any. The lock is held for short accesses; engine and wakers are called without it.

use std::sync::{Arc, Weak};

use terrace_env::runner::{self, JoinHandle};
use terrace_env::store::StoreError;
use terrace_env::sync::{Condvar, Mutex};
use terrace_lsm::{Engine, Error as EngineError};

use super::turns;
use super::waiting::{Job, ReadTurn, Ticket, Waiting};

/// Actors for reads. Two, so that one is left for gets while the other does a long read; each has
/// as many reads in flight as a `multi_get`.
const READERS: usize = 2;

/// Actors for other calls. A flush can occupy one for long; conditional writes that run at the same
/// time share the wait for the medium.
const CALLERS: usize = 4;

/// See the [module](self).
pub(crate) struct Submissions {
    shared: Arc<Shared>,
    actors: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    /// There is work for an actor for reads, or it is to end.
    reads: Condvar,
    /// The same for the actor for writes.
    writes: Condvar,
    /// The same for an actor for other calls.
    calls: Condvar,
}

struct State {
    waiting: Waiting,
    phase: Phase,
    /// Whether there are actors for other calls.
    has_callers: bool,
}

enum Phase {
    /// There are no actors yet.
    Unused,
    Open,
    /// There are no more actors: operations get this error.
    Ended(EngineError),
}

impl Submissions {
    /// Without actors, until there is an operation.
    pub(crate) fn new() -> Self {
        let waiting = Waiting::new(READERS);
        let state = State { waiting, phase: Phase::Unused, has_callers: false };
        let (reads, writes, calls) = (Condvar::new(), Condvar::new(), Condvar::new());
        let shared = Shared { state: Mutex::new(state), reads, writes, calls };
        Self { shared: Arc::new(shared), actors: Mutex::default() }
    }

    /// Submits an operation to the engine of the store.
    pub(super) fn submit(&self, engine: &Arc<Engine>, job: Job) -> Result<Ticket, EngineError> {
        let awaited_by = match job {
            Job::Get(_) | Job::Long(_) => &self.shared.reads,
            Job::Write(_) => &self.shared.writes,
            Job::Call(_) => &self.shared.calls,
        };
        let is_call = matches!(job, Job::Call(_));
        let mut state = self.shared.state.lock();
        if let Phase::Ended(error) = &state.phase {
            let error = error.clone();
            drop(state);
            return Err(error);
        }
        let ticket = state.waiting.add(job);
        let is_first = matches!(state.phase, Phase::Unused);
        if is_first {
            state.phase = Phase::Open;
        }
        let is_first_call = is_call && !std::mem::replace(&mut state.has_callers, is_call);
        drop(state);
        awaited_by.notify_one();
        if is_first {
            self.start(engine)?;
        }
        if is_first_call {
            self.start_callers(engine)?;
        }
        Ok(ticket)
    }

    /// Takes an operation out, if no actor has begun it: its future is gone.
    pub(super) fn cancel(&self, ticket: Ticket) {
        let job = self.shared.state.lock().waiting.take_out(ticket);
        drop(job);
    }

    fn start(&self, engine: &Arc<Engine>) -> Result<(), EngineError> {
        for _ in 0..READERS {
            self.spawn("async reader", engine, Shared::read)?;
        }
        self.spawn("async writer", engine, Shared::write)
    }

    fn start_callers(&self, engine: &Arc<Engine>) -> Result<(), EngineError> {
        for _ in 0..CALLERS {
            self.spawn("async caller", engine, Shared::call)?;
        }
        Ok(())
    }

    /// Starts an actor. If that fails, all actors end, and operations get the error from then on.
    fn spawn(
        &self,
        name: &'static str,
        engine: &Arc<Engine>,
        act: fn(&Shared, &Weak<Engine>),
    ) -> Result<(), EngineError> {
        let (shared, engine) = (Arc::clone(&self.shared), Arc::downgrade(engine));
        match runner::try_spawn(name, move || act(&shared, &engine)) {
            Ok(actor) => {
                self.actors.lock().push(actor);
                Ok(())
            }
            Err(error) => {
                let error = EngineError::from(StoreError::io("a call of a future", error));
                self.shared.end(error.clone());
                Err(error)
            }
        }
    }

    /// Refuses further operations, and those that no actor has begun: the store closes.
    pub(crate) fn refuse(&self) {
        self.shared.end(EngineError::Closed);
    }

    /// Waits until the actors have ended. The caller may be one of them, if a waker of a future
    /// calls back: it does not wait for itself.
    pub(crate) fn join(&self) {
        let actors = std::mem::take(&mut *self.actors.lock());
        for actor in actors.into_iter().filter(|actor| !actor.is_current()) {
            // The futures have got the error.
            let _ = actor.try_join();
        }
    }
}

impl Drop for Submissions {
    /// While a panic unwinds, this waits for no actor.
    fn drop(&mut self) {
        self.refuse();
        if !std::thread::panicking() {
            self.join();
        }
    }
}

impl Shared {
    /// Ends all actors after their turns; the operations that wait are answered.
    fn end(&self, error: EngineError) {
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Ended(_)) {
            state.phase = Phase::Ended(error);
        }
        let waiting = std::mem::replace(&mut state.waiting, Waiting::new(READERS));
        drop(state);
        self.reads.notify_all();
        self.writes.notify_all();
        self.calls.notify_all();
        drop(waiting);
    }

    /// An actor for reads.
    fn read(&self, engine: &Weak<Engine>) {
        let _ends = EndsByPanic(self);
        while let Some(turn) = self.next(&self.reads, Waiting::take_reads) {
            let is_long = matches!(turn, ReadTurn::Long(_));
            turns::read(engine, turn, || {
                if is_long {
                    self.long_ended();
                }
            });
        }
    }

    /// An actor for writes.
    fn write(&self, engine: &Weak<Engine>) {
        let _ends = EndsByPanic(self);
        while let Some(writes) = self.next(&self.writes, Waiting::take_writes) {
            turns::write(engine, writes);
        }
    }

    /// An actor for other calls.
    fn call(&self, engine: &Weak<Engine>) {
        let _ends = EndsByPanic(self);
        while let Some(call) = self.next(&self.calls, Waiting::take_call) {
            turns::call(engine, call, || {});
        }
    }

    /// The next turn of an actor, which waits by this condition; `None` at the end.
    fn next<T>(&self, condition: &Condvar, take: impl Fn(&mut Waiting) -> Option<T>) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if matches!(state.phase, Phase::Ended(_)) {
                return None;
            }
            if let Some(turn) = take(&mut state.waiting) {
                return Some(turn);
            }
            condition.wait(&mut state);
        }
    }

    fn long_ended(&self) {
        let mut state = self.state.lock();
        // At the end, the count began anew.
        if matches!(state.phase, Phase::Open) {
            state.waiting.long_ended();
        }
        drop(state);
        self.reads.notify_one();
    }
}

/// Ends all actors if it is dropped by a panic.
struct EndsByPanic<'a>(&'a Shared);

impl Drop for EndsByPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end(EngineError::Panicked);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use terrace_lsm::{KeySpaceId, ReadOptions};

    use super::super::answer::{Awaited, promise};
    use super::super::waiting::{Delivery, Get, Sought};
    use super::*;
    use crate::{Bytes, Db, ErrorKind, MemoryStore, Options};

    fn db() -> Db {
        let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
        db.put(b"key", b"value").unwrap();
        db
    }

    fn get(db: &Db) -> Result<Awaited<Option<Bytes>>, EngineError> {
        let (promise, awaited) = promise();
        let (space, reads) = (KeySpaceId::DEFAULT, ReadOptions::default());
        let (key, sought) = ((*b"key").into(), Sought::Value(promise));
        let job = Job::Get(Get { space, key, reads, sought });
        db.inner.submissions.submit(&db.inner.engine, job)?;
        Ok(awaited)
    }

    fn long(db: &Db, work: impl FnOnce() + Send + 'static) -> Awaited<()> {
        let (promise, awaited) = promise();
        let done = |_: &Engine| -> Delivery {
            work();
            Box::new(move || promise.keep(Ok(())))
        };
        db.inner.submissions.submit(&db.inner.engine, Job::Long(Box::new(done))).unwrap();
        awaited
    }

    fn wait<T>(awaited: &Awaited<T>) -> Result<T, EngineError> {
        loop {
            match awaited.poll(&Context::from_waker(Waker::noop())) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => runner::sleep(Duration::from_micros(10)),
            }
        }
    }

    #[test]
    fn actors_are_started_once() {
        runner::simulate(1, || {
            let db = db();
            for _ in 0..3 {
                wait(&get(&db).unwrap()).unwrap();
                let (promise, awaited) = promise();
                let done = |_: &Engine| -> Delivery { Box::new(move || promise.keep(Ok(()))) };
                let call = Job::Call(Box::new(done));
                db.inner.submissions.submit(&db.inner.engine, call).unwrap();
                wait(&awaited).unwrap();
            }
            let actors = db.inner.submissions.actors.lock().len();
            assert_eq!(actors, READERS + 1 + CALLERS);
            db.close().unwrap();
        });
    }

    #[test]
    fn a_long_read_keeps_no_get_waiting() {
        runner::simulate(1, || {
            let db = db();
            let ended = Arc::new(Mutex::new(false));
            let longs: Vec<_> = (0..2)
                .map(|_| {
                    let ended = Arc::clone(&ended);
                    long(&db, move || {
                        runner::sleep(Duration::from_secs(1));
                        *ended.lock() = true;
                    })
                })
                .collect();
            for _ in 0..9 {
                assert_eq!(wait(&get(&db).unwrap()).unwrap().as_deref(), Some(&b"value"[..]));
            }
            assert!(!*ended.lock(), "the gets were first");
            longs.iter().for_each(|long| wait(long).unwrap());
            db.close().unwrap();
        });
    }

    #[test]
    fn a_panic_of_an_actor_is_an_error_of_all_operations_and_the_store_goes_on() {
        let db = db();
        let panicked = long(&db, || panic!("a test"));
        assert!(matches!(wait(&panicked), Err(EngineError::Panicked)));
        // The end is noted after the answers.
        let error = loop {
            match get(&db).and_then(|get| wait(&get)) {
                Ok(_) => runner::yield_now(),
                Err(error) => break crate::Error::from(error),
            }
        };
        assert_eq!(error.kind(), ErrorKind::Bug, "{error}");
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
        db.close().unwrap();
    }

    #[test]
    fn an_actor_may_be_the_last_user_of_the_store() {
        let store = Arc::new(MemoryStore::new());
        let db = Db::open(Arc::clone(&store) as _, Options::default()).unwrap();
        let (go, may) = (Arc::new((Mutex::new(false), Condvar::new())), db.clone());
        let waits = Arc::clone(&go);
        let ended = long(&db, move || {
            waits.1.wait_while(&mut waits.0.lock(), |go| !*go);
            drop(may);
        });
        drop(db);
        *go.0.lock() = true;
        go.1.notify_all();
        wait(&ended).unwrap();
        // It ends after the answer.
        let reopened = loop {
            match Db::open(Arc::clone(&store) as _, Options::default()) {
                Ok(db) => break db,
                Err(error) => assert_eq!(error.kind(), ErrorKind::InUse, "{error}"),
            }
            runner::yield_now();
        };
        reopened.close().unwrap();
    }
}
