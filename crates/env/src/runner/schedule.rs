//! [`Schedule`]: the actors of a simulation, their waits, and the virtual clock. It decides which
//! actor runs next. It keeps the suspended coroutines, but does not resume them.
//!
//! Of the actors that can run, the next is the one with the smallest (time, id): the time is when
//! it may go on. An actor that waits for a condition, or for another actor's end, has no time until
//! it is woken; but a wait for a condition can have a deadline, which then is its time. If
//! schedules are *explored*, chance decides among actors of the same time. [`Schedule::interrupt`]
//! makes an actor the running one out of turn.
//!
//! # Invariants
//! - The clock does not go back.
//! - An actor has a stamp, which is raised when it is woken, taken off the queue, or made the
//!   running one by [`Schedule::interrupt`]. An entry of the queue with another stamp than its
//!   actor is stale and is skipped.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt::Write as _;
use std::panic::Location;

use super::coroutine::Coroutine;
use crate::Time;
use crate::random::{Random, Rng};

/// An actor, numbered in the order in which actors were spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ActorId(pub(super) u64);

impl ActorId {
    /// The actor that runs the simulation's body.
    pub(super) const ROOT: Self = Self(0);
}

/// Reason why an actor waits.
#[derive(Clone, Copy, Debug)]
enum Wait {
    /// The actor waits for nothing: it runs, or will when its time comes.
    Nothing,
    /// A notification of the condition with this key, awaited at this place in the code.
    Condition(usize, &'static Location<'static>),
    /// The end of an actor, awaited at this place in the code.
    End(ActorId, &'static Location<'static>),
}

struct Actor {
    name: String,
    /// `None` while it runs; always `None` for the root, which runs on the caller's stack.
    coroutine: Option<Coroutine>,
    stamp: u64,
    wait: Wait,
    /// Place of the actor's last wait.
    place: Option<&'static Location<'static>>,
    timed_out: bool,
    cancelled: bool,
    joiner: Option<ActorId>,
}

/// How far a simulation may run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The latest virtual time.
    pub(super) time: Time,
    /// How often an actor may be given its turn.
    pub(super) turns: u64,
}

/// An actor that can run at a time: the time, the order among actors of the same time, the actor,
/// and its stamp.
type Turn = Reverse<(Time, u64, ActorId, u64)>;

/// The actors of one simulation and their queue.
pub(super) struct Schedule {
    now: Time,
    running: ActorId,
    spawned: u64,
    actors: BTreeMap<ActorId, Actor>,
    queue: BinaryHeap<Turn>,
    /// Actors that wait for each condition, first come first. Never iterated: keys are addresses.
    conditions: BTreeMap<usize, VecDeque<ActorId>>,
    history: u64,
    turns: u64,
    /// Source of random choices among actors that are due at the same time; `None` where schedules
    /// are not explored.
    chance: Option<Random>,
}

impl Schedule {
    /// A schedule at time zero in which the root is running. With `chance`, schedules are explored.
    pub(super) fn new(chance: Option<Random>) -> Self {
        let mut schedule = Self {
            now: Time(0),
            running: ActorId::ROOT,
            spawned: 0,
            actors: BTreeMap::new(),
            queue: BinaryHeap::new(),
            conditions: BTreeMap::new(),
            history: 0,
            turns: 0,
            chance,
        };
        schedule.add("root", None);
        schedule.queue.clear();
        schedule
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn running(&self) -> ActorId {
        self.running
    }

    /// A hash over all decisions so far: which actor ran at which time.
    pub(super) fn history(&self) -> u64 {
        self.history
    }

    /// Adds an actor that can run now.
    pub(super) fn add(&mut self, name: &str, coroutine: Option<Coroutine>) -> ActorId {
        let id = ActorId(self.spawned);
        self.spawned += 1;
        let actor = Actor {
            name: name.to_owned(),
            coroutine,
            stamp: 0,
            wait: Wait::Nothing,
            place: None,
            timed_out: false,
            cancelled: false,
            joiner: None,
        };
        self.actors.insert(id, actor);
        self.push(self.now, id, 0);
        id
    }

    /// Lets the running actor go on at `until`. Returns whether it is the next to run anyway, and
    /// need not be suspended.
    pub(super) fn sleep(
        &mut self,
        until: Time,
        limits: &Limits,
        place: &'static Location<'static>,
    ) -> bool {
        let until = until.max(self.now);
        self.drop_stale();
        let me = self.running;
        self.actor(me).place = Some(place);
        let is_first = self.queue.peek().is_none_or(|Reverse((time, _, id, _))| {
            until < *time || (until == *time && me < *id && self.chance.is_none())
        });
        if is_first && until <= limits.time && self.turns < limits.turns {
            self.advance(until, me);
            return true;
        }
        let stamp = self.actor(me).stamp;
        self.push(until, me, stamp);
        false
    }

    /// Random rest of an actor at a point where others may come in between: with a chance of one in
    /// `one_in` the actor rests until the time returned, which may be now. `None`: the actor goes
    /// on. It always does where schedules are not explored.
    #[cfg(debug_assertions)]
    pub(super) fn rest(&mut self, one_in: u32) -> Option<Time> {
        let chance = self.chance.as_mut()?;
        if chance.random_range(0..one_in) > 0 {
            return None;
        }
        // Mostly just long enough for actors that can run, or have just been charged for some work;
        // seldom long enough for a job to begin and end.
        let nanos = [0, 0, 0, 0, 1_000, 1_000, 50_000, 5_000_000][chance.random_range(0..8)];
        Some(Time(self.now.0 + chance.random_range(0..=nanos)))
    }

    /// How often an actor was given its turn.
    pub(super) fn turns(&self) -> u64 {
        self.turns
    }

    fn push(&mut self, time: Time, id: ActorId, stamp: u64) {
        let order = self.chance.as_mut().map_or(0, |chance| chance.random());
        self.queue.push(Reverse((time, order, id, stamp)));
    }

    /// Makes the running actor wait for a notification of `key`, or for the deadline.
    pub(super) fn wait(
        &mut self,
        key: usize,
        deadline: Option<Time>,
        place: &'static Location<'static>,
    ) {
        let me = self.running;
        let now = self.now;
        let actor = self.actor(me);
        actor.wait = Wait::Condition(key, place);
        actor.place = Some(place);
        actor.timed_out = false;
        let stamp = actor.stamp;
        self.conditions.entry(key).or_default().push_back(me);
        if let Some(deadline) = deadline {
            self.push(deadline.max(now), me, stamp);
        }
    }

    /// Makes the running actor wait for the end of `of`, which must be alive.
    pub(super) fn wait_end(&mut self, of: ActorId, place: &'static Location<'static>) {
        let me = self.running;
        assert!(of != me, "an actor waits for its own end at {place}");
        self.actor(of).joiner = Some(me);
        self.actor(me).wait = Wait::End(of, place);
    }

    /// Whether the running actor's last wait ended by its deadline.
    pub(super) fn timed_out(&mut self) -> bool {
        let me = self.running;
        self.actor(me).timed_out
    }

    /// Wakes the actor that has waited longest for the condition, or all of them.
    pub(super) fn notify(&mut self, key: usize, all: bool) {
        while let Some(&first) = self.conditions.get(&key).and_then(VecDeque::front) {
            self.wake(first);
            if !all {
                break;
            }
        }
    }

    /// Lets an actor run now, and ends any wait of it.
    pub(super) fn wake(&mut self, id: ActorId) {
        self.forget_wait(id);
        let now = self.now;
        let actor = self.actor(id);
        actor.stamp += 1;
        let stamp = actor.stamp;
        self.push(now, id, stamp);
    }

    /// Makes `id` the running actor without waiting for its turn.
    pub(super) fn interrupt(&mut self, id: ActorId) {
        self.forget_wait(id);
        self.actor(id).stamp += 1;
        self.running = id;
    }

    /// Takes the next actor off the queue and makes it the running one. `None` when every actor
    /// waits for another.
    pub(super) fn next(&mut self) -> Option<ActorId> {
        self.drop_stale();
        let Reverse((time, _, id, _)) = self.queue.pop()?;
        if matches!(self.actor(id).wait, Wait::Condition(..)) {
            self.actor(id).timed_out = true;
        }
        self.forget_wait(id);
        self.actor(id).stamp += 1;
        self.running = id;
        self.advance(time, id);
        Some(id)
    }

    /// Takes an actor's coroutine in order to resume it.
    pub(super) fn take_coroutine(&mut self, id: ActorId) -> Coroutine {
        self.actor(id).coroutine.take().expect("the coroutine of an actor that is suspended")
    }

    /// Keeps the coroutine of an actor that has suspended itself.
    pub(super) fn keep_coroutine(&mut self, id: ActorId, coroutine: Coroutine) {
        self.actor(id).coroutine = Some(coroutine);
    }

    /// Removes an actor that has ended, and wakes the actor that waits for its end.
    pub(super) fn finish(&mut self, id: ActorId) {
        let actor = self.actors.remove(&id).expect("an actor that has not ended before");
        if let Some(joiner) = actor.joiner.filter(|joiner| self.awaits_end(*joiner, id)) {
            self.wake(joiner);
        }
    }

    /// Whether another actor is waiting for the end of this one.
    pub(super) fn is_awaited(&self, id: ActorId) -> bool {
        self.actors[&id].joiner.is_some_and(|joiner| self.awaits_end(joiner, id))
    }

    pub(super) fn is_alive(&self, id: ActorId) -> bool {
        self.actors.contains_key(&id)
    }

    pub(super) fn name(&self, id: ActorId) -> &str {
        &self.actors[&id].name
    }

    /// Wakes an actor, to find that it is cancelled.
    pub(super) fn cancel(&mut self, id: ActorId) {
        self.actor(id).cancelled = true;
        self.wake(id);
    }

    /// Whether the running actor is to unwind instead of going on.
    pub(super) fn is_cancelled(&mut self) -> bool {
        let me = self.running;
        self.actor(me).cancelled
    }

    /// The actor spawned last of those that live and are not cancelled, the root excepted.
    pub(super) fn youngest(&self) -> Option<ActorId> {
        let mut candidates = self.actors.iter().rev();
        let found = candidates.find(|(id, actor)| !actor.cancelled && **id != ActorId::ROOT);
        found.map(|(id, _)| *id)
    }

    /// One line for each actor that lives: its name and its wait.
    pub(super) fn report(&self) -> String {
        let mut text = String::new();
        for (id, actor) in &self.actors {
            let name = &actor.name;
            let _ = match actor.wait {
                Wait::Nothing => match actor.place {
                    Some(place) => write!(text, "\n  {name}: can run, waited last at {place}"),
                    None => write!(text, "\n  {name}: can run"),
                },
                Wait::Condition(_, place) => {
                    write!(text, "\n  {name}: waits for a notification at {place}")
                }
                Wait::End(of, place) => {
                    let of = self.actors.get(&of).map_or("an ended actor", |a| a.name.as_str());
                    write!(text, "\n  {name}: waits for the end of {of} at {place}")
                }
            };
            if *id == self.running {
                text.push_str(" (running)");
            }
        }
        text
    }

    fn awaits_end(&self, joiner: ActorId, of: ActorId) -> bool {
        let waiting = self.actors.get(&joiner).map(|actor| actor.wait);
        matches!(waiting, Some(Wait::End(awaited, _)) if awaited == of)
    }

    fn actor(&mut self, id: ActorId) -> &mut Actor {
        self.actors.get_mut(&id).expect("an actor that lives")
    }

    fn forget_wait(&mut self, id: ActorId) {
        let wait = std::mem::replace(&mut self.actor(id).wait, Wait::Nothing);
        let Wait::Condition(key, _) = wait else { return };
        let waiters = self.conditions.get_mut(&key).expect("the queue of a condition waited for");
        waiters.retain(|waiter| *waiter != id);
        if waiters.is_empty() {
            self.conditions.remove(&key);
        }
    }

    fn drop_stale(&mut self) {
        while let Some(Reverse((_, _, id, stamp))) = self.queue.peek() {
            if self.actors.get(id).is_some_and(|actor| actor.stamp == *stamp) {
                return;
            }
            self.queue.pop();
        }
    }

    fn advance(&mut self, to: Time, id: ActorId) {
        assert!(to >= self.now, "the clock stands at {} and cannot go back to {to}", self.now);
        self.now = to;
        self.turns += 1;
        // Fowler-Noll-Vo over words: enough to tell two histories apart, and one multiplication.
        for word in [to.0, id.0] {
            self.history = (self.history ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
