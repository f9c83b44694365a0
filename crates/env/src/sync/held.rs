//! Keeps a list of the locks of [`sync`](super) that the calling actor holds, so that a lock that
//! is held over a wait causes a panic, and not a rare stall. Without debug assertions the list is
//! not kept, and nothing is checked.
//!
//! [`switch_point`] uses the list, too: a simulation that explores schedules lets others in between
//! only where no lock is held. While the thread panics, [`assert_no_lock_held`] passes: a second
//! panic would abort the process and hide the first.
//!
//! # Threads
//! The list belongs to the OS thread, and simulated actors share it. This works because an actor
//! must hold no lock when it is suspended: the lock of a condition is taken off the list for the
//! wait.

#[cfg(debug_assertions)]
mod tracked {
    use std::cell::RefCell;
    use std::panic::Location;

    thread_local! {
        static HELD: RefCell<Vec<&'static Location<'static>>> = const { RefCell::new(Vec::new()) };
    }

    /// Stands for one held lock, taken at a place in the code.
    pub(crate) struct Held(&'static Location<'static>);

    impl Held {
        #[track_caller]
        pub(crate) fn new() -> Self {
            let place = Location::caller();
            let _ = HELD.try_with(|held| held.borrow_mut().push(place));
            Self(place)
        }

        /// Takes the lock off the list until the returned value is dropped.
        pub(crate) fn pause(&self) -> Paused {
            remove(self.0);
            Paused(self.0)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            remove(self.0);
        }
    }

    /// A lock that is free while its holder waits.
    pub(crate) struct Paused(&'static Location<'static>);

    impl Drop for Paused {
        fn drop(&mut self) {
            let _ = HELD.try_with(|held| held.borrow_mut().push(self.0));
        }
    }

    fn remove(place: &'static Location<'static>) {
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(index) = held.iter().rposition(|other| *other == place) {
                held.swap_remove(index);
            }
        });
    }

    pub(crate) fn assert_none(what: &str) {
        let first = HELD.try_with(|held| held.borrow().first().copied()).ok().flatten();
        if let Some(place) = first
            && !std::thread::panicking()
        {
            panic!("the lock taken at {place} is held over {what}");
        }
    }

    pub(crate) fn is_none() -> bool {
        HELD.try_with(|held| held.borrow().is_empty()).unwrap_or(false)
    }

    pub(crate) fn forget_all() {
        HELD.with_borrow_mut(Vec::clear);
    }
}

#[cfg(not(debug_assertions))]
mod tracked {
    pub(crate) struct Held;

    impl Held {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn pause(&self) -> Self {
            Self
        }
    }

    pub(crate) fn assert_none(_what: &str) {}

    pub(crate) fn forget_all() {}
}

pub(crate) use tracked::{Held, assert_none, forget_all};

/// A point where a thread could be interrupted and nothing else says so: between two looks at
/// atomics, for example. Where a simulation explores schedules
/// ([`explore`](crate::runner::SimulationOptions::explore)), others may come in between; anywhere
/// else, and while the caller holds a lock, nothing happens. Empty in release builds.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub fn switch_point() {
    #[cfg(debug_assertions)]
    if crate::runner::Simulation::is_explored() && tracked::is_none() {
        crate::runner::Simulation::explore_here();
    }
}

/// Panics in debug builds when the calling actor holds a lock: for the beginning of calls that may
/// wait. `what` completes "is held over".
pub fn assert_no_lock_held(what: &str) {
    assert_none(what);
}
