//! [`simulate`]: the simulated runner. Actors are coroutines on the calling OS thread, and the
//! clock is virtual.
//!
//! The body of a simulation is its root actor, and runs on the caller's stack. While the root
//! waits, it is the scheduler: it resumes the actor with the smallest (time, id) that can run,
//! after it has set the clock to that time, until its own turn comes. No time passes while an actor
//! computes. Actors are switched at sleeps, yields, charges, joins and waits for a
//! [`Condvar`](crate::sync::Condvar). Between two of these an actor is atomic for the others,
//! unless schedules are explored.
//!
//! # Explored schedules
//! With [`SimulationOptions::explore`] an actor may also rest, and let others in between, when it
//! is about to take a lock while it holds none, and at a
//! [`switch_point`](crate::sync::switch_point). Of several actors that can run at the same time,
//! chance takes one. This finds orders of events that threads could have. The seed decides, so a
//! schedule can be repeated. It needs debug assertions.
//!
//! # When something goes wrong
//! - The panic of an actor goes to the actor that is joining it. If there is none, and the root has
//!   not ended, it goes to the root when the root waits for others, or ends without a panic of its
//!   own; of several such panics the first.
//! - If no actor can run, the root panics with a list of all actors and their waits. If the root is
//!   unwinding already, the youngest actor that is not yet cancelled is cancelled instead.
//! - If the limit of virtual time or of turns is passed while the root waits, and the root is not
//!   unwinding, the root panics. This finds actors that wait for each other by polling.
//! - If actors outlive the root, they are cancelled, the youngest first: the wait of a cancelled
//!   actor unwinds, and its destructors may wait. An actor that does not end by that, or not within
//!   100,000 turns of all of them, is leaked. Then the simulation panics with the names of the
//!   actors that outlived the root, if no other panic is on its way.
//!
//! # Threads
//! A simulation belongs to its OS thread; several may run at once on different threads. The caller
//! that starts one must hold no lock.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::panicking;
use std::time::Duration;

use super::coroutine::{self, Coroutine};
use super::join::{JoinHandle, Outcome, Slot};
use super::schedule::{ActorId, Limits, Schedule};
use crate::random::Random;
use crate::sync::held;
use crate::{Date, Time};

/// How many turns actors get to end in after the root has. More means that one spins.
const TURNS_AFTER_ROOT_MAX: usize = 100_000;

/// Limits of a simulation unless its options say otherwise. Tests simulate seconds, at most some
/// hours; that number of turns takes a few seconds.
const TIME_MAX: Time = Time(48 * 60 * 60 * 1_000_000_000);
const TURNS_MAX: u64 = 100_000_000;

thread_local! {
    /// Whether the simulation on this thread explores schedules.
    static EXPLORES: Cell<bool> = const { Cell::new(false) };
    static CURRENT: RefCell<Option<Rc<Simulation>>> = const { RefCell::new(None) };
}

/// Payload of the panic that unwinds a cancelled actor.
struct Cancelled;

/// The date at which simulations start: the beginning of the year 2000.
const DATE_AT_START: u64 = 946_684_800_000;

type Panic = Box<dyn Any + Send>;

/// Runs `body` in a simulation of its own and returns its value.
///
/// The same seed gives the same history. See [`SimulationOptions`] for how far it may run.
///
/// ```
/// use std::time::Duration;
/// use terrace_env::runner;
///
/// let hours = runner::simulate(7, || {
///     let sleeper = runner::spawn("sleeper", || runner::sleep(Duration::from_secs(7200)));
///     sleeper.join();
///     runner::now().0 / 3_600_000_000_000
/// });
/// assert_eq!(hours, 2);
/// ```
///
/// # Panics
/// With the panic of the body or of an actor; when all actors wait; when an actor outlives the
/// body; past the limits of time and turns; when called inside a simulation.
pub fn simulate<T>(seed: u64, body: impl FnOnce() -> T) -> T {
    SimulationOptions::seeded(seed).run(body)
}

/// How to run a simulation.
#[derive(Clone, Debug)]
pub struct SimulationOptions {
    seed: u64,
    limits: Limits,
    explore: bool,
}

impl SimulationOptions {
    /// A simulation whose [`fork_random`](super::fork_random) starts from `seed`. It may run for
    /// two days of virtual time and 100 million turns.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed, limits: Limits { time: TIME_MAX, turns: TURNS_MAX }, explore: false }
    }

    /// Panics once the virtual clock passes `limit`: a way to notice actors that poll for ever.
    #[must_use]
    pub fn time_max(mut self, limit: Duration) -> Self {
        self.limits.time = Time(0) + limit;
        self
    }

    /// Lets it run as long as it takes: for runs whose length a user chooses.
    #[must_use]
    pub fn unlimited(mut self) -> Self {
        self.limits = Limits { time: Time(u64::MAX), turns: u64::MAX };
        self
    }

    /// Explores schedules: see the head of the module. The history is another one than without,
    /// and as repeatable.
    ///
    /// # Panics
    /// Without debug assertions, where the holder of a lock is not known.
    #[must_use]
    pub fn explore(mut self) -> Self {
        if !cfg!(debug_assertions) {
            panic!("expected a build with debug assertions: others do not track locks");
        }
        self.explore = true;
        self
    }

    /// Runs `body` as the root actor; see [`simulate`].
    pub fn run<T>(self, body: impl FnOnce() -> T) -> T {
        static SIMULATIONS: AtomicU64 = AtomicU64::new(0);
        assert!(Simulation::current().is_none(), "a simulation inside a simulation");
        held::assert_none("the start of a simulation");
        let simulation = Rc::new(Simulation {
            number: SIMULATIONS.fetch_add(1, Ordering::Relaxed),
            seed: self.seed,
            limits: self.limits,
            // Some seeds switch all the time, others let actors get far before they are disturbed.
            #[cfg(debug_assertions)]
            switch_one_in: 2 << (self.seed % 4),
            schedule: RefCell::new(Schedule::new(
                self.explore.then(|| Random::seeded(self.seed ^ 0x5eed)),
            )),
            random: RefCell::new(Random::seeded(self.seed)),
            panic: RefCell::new(None),
            ending: Cell::new(false),
            date_at_start: Cell::new(DATE_AT_START),
        });
        CURRENT.set(Some(Rc::clone(&simulation)));
        EXPLORES.set(self.explore);
        let outcome = catch_unwind(AssertUnwindSafe(body));
        simulation.end(outcome)
    }
}

/// A running simulation.
pub(crate) struct Simulation {
    /// Tells this process's simulations apart; not part of any history.
    number: u64,
    seed: u64,
    limits: Limits,
    /// How rarely an actor rests at a switch point.
    #[cfg(debug_assertions)]
    switch_one_in: u32,
    schedule: RefCell<Schedule>,
    random: RefCell<Random>,
    /// The panic of an actor without a joiner, on its way to the root.
    panic: RefCell<Option<Panic>>,
    /// The root has ended.
    ending: Cell<bool>,
    /// The date of the start of the clock, in milliseconds, modulo 2^64.
    date_at_start: Cell<u64>,
}

impl Simulation {
    /// The simulation that the calling actor is part of.
    pub(crate) fn current() -> Option<Rc<Self>> {
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    pub(crate) fn now(&self) -> Time {
        self.schedule.borrow().now()
    }

    fn millis(&self) -> u64 {
        self.now().0 / 1_000_000
    }

    pub(super) fn date(&self) -> Date {
        Date(self.date_at_start.get().wrapping_add(self.millis()))
    }

    pub(super) fn set_date(&self, date: Date) {
        self.date_at_start.set(date.0.wrapping_sub(self.millis()));
    }

    /// This simulation, and its actor that runs.
    pub(super) fn running(&self) -> (u64, u64) {
        (self.number, self.schedule.borrow().running().0)
    }

    pub(super) fn history(&self) -> u64 {
        self.schedule.borrow().history()
    }

    pub(super) fn fork_random(&self) -> Random {
        self.random.borrow_mut().fork()
    }

    pub(super) fn spawn<T: Send + 'static>(
        self: &Rc<Self>,
        name: &str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let slot = Arc::new(Slot::default());
        let result = Arc::clone(&slot);
        let coroutine = Coroutine::new(move || {
            let simulation = Self::current().expect("the simulation of a running actor");
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                simulation.unwind_if_cancelled();
                body()
            }));
            result.fill(outcome.map_err(|panic| simulation.hand_over(panic)));
        });
        let actor = self.schedule.borrow_mut().add(name, Some(coroutine));
        JoinHandle::actor(self.number, actor, slot)
    }

    /// Lets the running actor go on at `until`, others before.
    #[track_caller]
    pub(crate) fn sleep_until(&self, until: Time) {
        let place = Location::caller();
        if !self.schedule.borrow_mut().sleep(until, &self.limits, place) {
            self.switch();
        }
    }

    /// Whether the calling actor is part of a simulation that explores schedules.
    #[cfg(debug_assertions)]
    pub(crate) fn is_explored() -> bool {
        EXPLORES.try_with(Cell::get).unwrap_or(false)
    }

    /// Lets others in between, by chance. The caller holds no lock.
    #[cfg(debug_assertions)]
    #[track_caller]
    pub(crate) fn explore_here() {
        let Some(simulation) = Self::current().filter(|s| !s.ending.get() && !panicking()) else {
            return;
        };
        let rest = simulation.schedule.borrow_mut().rest(simulation.switch_one_in);
        if let Some(until) = rest {
            simulation.sleep_until(until);
        }
    }

    /// Waits until `key` is notified; returns whether the deadline came first.
    pub(crate) fn wait(
        &self,
        key: usize,
        deadline: Option<Time>,
        place: &'static Location<'static>,
    ) -> bool {
        self.schedule.borrow_mut().wait(key, deadline, place);
        self.switch();
        self.schedule.borrow_mut().timed_out()
    }

    /// Wakes actors that wait for `key`.
    pub(crate) fn notify(&self, key: usize, all: bool) {
        self.schedule.borrow_mut().notify(key, all);
    }

    /// Waits for the end of an actor of the simulation `number`.
    pub(super) fn wait_end(&self, number: u64, of: ActorId, place: &'static Location<'static>) {
        assert!(number == self.number, "an actor of another simulation is joined at {place}");
        while self.schedule.borrow().is_alive(of) {
            self.schedule.borrow_mut().wait_end(of, place);
            self.switch();
        }
    }

    /// Gives up control until the schedule says it is the running actor's turn again.
    fn switch(&self) {
        // Another actor may be the one that unwinds, suspended in a destructor. Then this one is
        // spared although it need not be.
        let calm = !panicking();
        if self.schedule.borrow().running() == ActorId::ROOT {
            self.dispatch(calm);
            return;
        }
        coroutine::suspend();
        if calm {
            self.unwind_if_cancelled();
        }
    }

    fn unwind_if_cancelled(&self) {
        if self.schedule.borrow_mut().is_cancelled() {
            resume_unwind(Box::new(Cancelled));
        }
    }

    /// Resumes other actors until it is the root's turn. A root that is `calm` may panic here.
    fn dispatch(&self, calm: bool) {
        loop {
            if calm && let Some(panic) = self.panic.take() {
                self.schedule.borrow_mut().interrupt(ActorId::ROOT);
                resume_unwind(panic);
            }
            let next = self.schedule.borrow_mut().next();
            if calm && let Some(limit) = self.passed_limit() {
                let report = self.schedule.borrow().report();
                self.schedule.borrow_mut().interrupt(ActorId::ROOT);
                panic!("livelock: the simulation has run past its limit of {limit}:{report}");
            }
            match next {
                Some(ActorId::ROOT) => return,
                Some(actor) => self.resume(actor),
                None => self.break_deadlock(calm),
            }
        }
    }

    /// The limit that the simulation has run past, if it has.
    fn passed_limit(&self) -> Option<String> {
        let schedule = self.schedule.borrow();
        if schedule.now() > self.limits.time {
            return Some(self.limits.time.to_string());
        }
        (schedule.turns() > self.limits.turns).then(|| format!("{} turns", self.limits.turns))
    }

    /// Panics with the waits of all actors. A root that is unwinding already cannot panic: instead,
    /// other actors are cancelled, which may wake it.
    fn break_deadlock(&self, calm: bool) {
        let mut schedule = self.schedule.borrow_mut();
        let victim = if calm { None } else { schedule.youngest() };
        if let Some(victim) = victim {
            schedule.cancel(victim);
            return;
        }
        let report = schedule.report();
        schedule.interrupt(ActorId::ROOT);
        drop(schedule);
        panic!("deadlock: no actor can run:{report}");
    }

    fn resume(&self, actor: ActorId) {
        let mut coroutine = self.schedule.borrow_mut().take_coroutine(actor);
        if coroutine.resume() {
            self.schedule.borrow_mut().finish(actor);
        } else {
            self.schedule.borrow_mut().keep_coroutine(actor, coroutine);
        }
    }

    /// Decides which actor gets the panic of the running one; returns the part that the handle
    /// keeps.
    fn hand_over(&self, panic: Panic) -> Panic {
        if panic.is::<Cancelled>() || self.ending.get() {
            return panic;
        }
        let schedule = self.schedule.borrow();
        let me = schedule.running();
        let name = schedule.name(me);
        eprintln!("actor {name:?} panicked at {}, seed {}", schedule.now(), self.seed);
        if schedule.is_awaited(me) {
            return panic;
        }
        let note = format!("actor {name:?} panicked, and no actor was joining it");
        self.panic.borrow_mut().get_or_insert(panic);
        Box::new(note)
    }

    /// Ends the simulation after its root.
    fn end<T>(&self, outcome: Outcome<T>) -> T {
        self.ending.set(true);
        self.schedule.borrow_mut().finish(ActorId::ROOT);
        let left = self.schedule.borrow().report();
        self.cancel_all();
        held::forget_all();
        CURRENT.set(None);
        EXPLORES.set(false);
        let failed = outcome.is_err() || !left.is_empty();
        if failed {
            eprintln!("the simulation of seed {} failed at {}", self.seed, self.now());
        }
        match outcome {
            Err(panic) => resume_unwind(panic),
            Ok(_) if self.panic.borrow().is_some() => {
                resume_unwind(self.panic.take().expect("the panic just seen"))
            }
            Ok(_) if failed => panic!("actors outlived the simulation's root:{left}"),
            Ok(value) => value,
        }
    }

    /// Ends every actor that lives, as far as that can be done.
    fn cancel_all(&self) {
        let mut turns = 0;
        loop {
            let youngest = self.schedule.borrow().youngest();
            if let Some(youngest) = youngest {
                self.schedule.borrow_mut().cancel(youngest);
            }
            while youngest.is_none_or(|youngest| self.schedule.borrow().is_alive(youngest)) {
                let next = self.schedule.borrow_mut().next();
                match next {
                    Some(actor) if turns < TURNS_AFTER_ROOT_MAX => self.resume(actor),
                    _ => break,
                }
                turns += 1;
            }
            if youngest.is_none() {
                return;
            }
        }
    }
}
