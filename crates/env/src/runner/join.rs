//! [`JoinHandle`]: the handle of an actor, which is a thread or a simulated actor.
//!
//! [`JoinHandle::join`] waits for the actor's end, and returns its value or continues its panic.
//! [`JoinHandle::try_join`] returns the panic as a value instead. If no actor is joining a
//! simulated actor when it panics, the handle can have a note in place of the panic. The caller of
//! either must hold no lock; debug builds check that. A simulated actor that has not ended can be
//! joined only within its simulation. An actor whose handle is dropped runs on.

use std::panic::{Location, resume_unwind};
use std::sync::Arc;
use std::thread;

use super::schedule::ActorId;
use super::simulation::Simulation;
use crate::sync::assert_no_lock_held;

/// Result of an actor's body: its value, or the panic that ended it.
pub type Outcome<T> = thread::Result<T>;

/// Where a simulated actor leaves its outcome.
#[expect(clippy::disallowed_types, reason = "an actor must not rest here, on its way out")]
pub(super) struct Slot<T>(parking_lot::Mutex<Option<Outcome<T>>>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self(Default::default())
    }
}

impl<T> Slot<T> {
    /// Leaves the outcome. This is no switch point: an actor that rested here and was cancelled
    /// would unwind past the end of its coroutine.
    pub(super) fn fill(&self, outcome: Outcome<T>) {
        *self.0.lock() = Some(outcome);
    }
}

/// A running actor. Dropping the handle lets the actor run on.
pub struct JoinHandle<T>(Runner<T>);

enum Runner<T> {
    Thread(thread::JoinHandle<T>),
    Actor { simulation: u64, actor: ActorId, slot: Arc<Slot<T>> },
}

impl<T> JoinHandle<T> {
    pub(super) fn thread(handle: thread::JoinHandle<T>) -> Self {
        Self(Runner::Thread(handle))
    }

    pub(super) fn actor(simulation: u64, actor: ActorId, slot: Arc<Slot<T>>) -> Self {
        Self(Runner::Actor { simulation, actor, slot })
    }

    /// Waits for the actor to end and returns the value of its body.
    ///
    /// # Panics
    /// With the actor's panic. Destructors call [`try_join`](Self::try_join) instead: they may run
    /// while another panic unwinds, and a second one would abort the process.
    #[track_caller]
    pub fn join(self) -> T {
        self.try_join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Waits for the actor to end and returns the value of its body, or the panic that ended it.
    #[track_caller]
    pub fn try_join(self) -> Outcome<T> {
        assert_no_lock_held("a join");
        match self.0 {
            Runner::Thread(handle) => handle.join(),
            Runner::Actor { simulation, actor, slot } => {
                let place = Location::caller();
                if slot.0.lock().is_none() {
                    let current = Simulation::current();
                    let current = current.expect("an actor is joined inside its simulation");
                    current.wait_end(simulation, actor, place);
                }
                let outcome = slot.0.lock().take();
                outcome.expect("an actor that ended left its outcome")
            }
        }
    }

    /// Whether the caller is this actor, which would wait for itself if it joined.
    #[must_use]
    pub fn is_current(&self) -> bool {
        match &self.0 {
            Runner::Thread(handle) => handle.thread().id() == thread::current().id(),
            Runner::Actor { simulation, actor, .. } => {
                let running = Simulation::current().map(|current| current.running());
                running == Some((*simulation, actor.0))
            }
        }
    }

    /// Whether the actor has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Runner::Thread(handle) => handle.is_finished(),
            Runner::Actor { slot, .. } => slot.0.lock().is_some(),
        }
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = if self.is_finished() { "finished" } else { "running" };
        write!(f, "JoinHandle({state})")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::JoinHandle;
    use crate::runner;
    use crate::sync::{Condvar, Mutex};

    /// Actors that get their own handle, or that of another.
    fn actors() {
        let place = Arc::new((Mutex::new(Vec::<JoinHandle<bool>>::new()), Condvar::new()));
        let (of, first) = (Arc::clone(&place), Arc::clone(&place));
        let waits = move |place: &(Mutex<Vec<JoinHandle<bool>>>, Condvar)| {
            let mut handles = place.0.lock();
            place.1.wait_while(&mut handles, |handles| handles.is_empty());
            handles[0].is_current()
        };
        let one = runner::spawn("one", move || waits(&first));
        assert!(!one.is_current());
        place.0.lock().push(one);
        place.1.notify_all();
        let other = runner::spawn("other", move || waits(&of));
        assert!(!other.join(), "the handle of another actor");
        while !place.0.lock()[0].is_finished() {
            runner::yield_now();
        }
        let one = place.0.lock().remove(0);
        assert!(one.join(), "its own handle");
    }

    #[test]
    fn an_actor_knows_its_own_handle() {
        actors();
        runner::simulate(1, actors);
    }
}
