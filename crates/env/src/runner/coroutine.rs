//! [`Coroutine`]: code on a stack of its own, which can suspend itself and be resumed later. It
//! wraps the `corosensei` crate.
//!
//! [`suspend`] needs no handle: a thread-local names the coroutine that is running. A stack has 1
//! MiB; code that needs more ends the process.
//!
//! # Soundness
//! - A coroutine sets `RUNNING` to its own yielder when it starts, and after each suspension.
//!   [`Coroutine::resume`] restores the outer value when the coroutine suspends, returns or
//!   unwinds. So code that reads `Some` is run by the coroutine whose yielder it names, and this
//!   yielder lives further up the same stack.
//! - A coroutine is not `Send`: it stays on its OS thread, and so does its pointer.
//! - A suspended coroutine is not unwound from outside. If it is dropped in that state, its stack
//!   is leaked. Forced unwinding would abort the process if the coroutine is suspended in a
//!   destructor that runs during a panic.

use std::cell::{Cell, RefCell};
use std::mem;
use std::ptr::NonNull;

use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, Yielder};

/// Address space of one stack. Only pages that were touched take memory; a panic with a backtrace
/// needs most.
const STACK_SIZE: usize = 1 << 20;

/// Stacks that a thread keeps for its next coroutines.
const POOLED_MAX: usize = 64;

thread_local! {
    static RUNNING: Cell<Option<NonNull<Yielder<(), ()>>>> = const { Cell::new(None) };
    static POOL: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Code that runs when it is resumed, up to its next [`suspend`].
pub(super) struct Coroutine(Option<corosensei::Coroutine<(), (), (), DefaultStack>>);

impl Coroutine {
    /// A coroutine that will run `body`, which must not unwind.
    pub(super) fn new(body: impl FnOnce() + 'static) -> Self {
        let pooled = POOL.with_borrow_mut(Vec::pop);
        let stack = pooled.unwrap_or_else(|| {
            DefaultStack::new(STACK_SIZE).expect("address space for an actor's stack")
        });
        // The first values of a coroutine pass through its stack, which takes a KiB.
        let body = Box::new(body);
        Self(Some(corosensei::Coroutine::with_stack(stack, |yielder, ()| {
            RUNNING.set(Some(NonNull::from(yielder)));
            body();
        })))
    }

    /// Runs the coroutine until it suspends itself or ends; returns whether it has ended.
    pub(super) fn resume(&mut self) -> bool {
        struct Restore(Option<NonNull<Yielder<(), ()>>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                RUNNING.set(self.0);
            }
        }
        let _restore = Restore(RUNNING.take());
        let inner = self.0.as_mut().expect("a coroutine that is not being dropped");
        matches!(inner.resume(()), CoroutineResult::Return(()))
    }
}

impl Drop for Coroutine {
    fn drop(&mut self) {
        let Some(inner) = self.0.take() else { return };
        if !inner.done() {
            if inner.started() {
                mem::forget(inner);
            }
            return;
        }
        let stack = inner.into_stack();
        // A thread that is ending has no pool any more; the stack is then unmapped.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < POOLED_MAX {
                pool.push(stack);
            }
        });
    }
}

/// Suspends the running coroutine until it is resumed.
///
/// # Panics
/// When no coroutine is running.
pub(super) fn suspend() {
    let yielder = RUNNING.get().expect("a running coroutine");
    // SAFETY: see the head of this file: `RUNNING` names the yielder of the coroutine that runs
    // this call, which outlives the call.
    unsafe { yielder.as_ref() }.suspend(());
    RUNNING.set(Some(yielder));
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn coroutines_interleave_and_each_comes_back_to_its_own_stack() {
        let log = Rc::new(RefCell::new(Vec::new()));
        let mut coroutines: Vec<Coroutine> = (0..3)
            .map(|coroutine| {
                let log = Rc::clone(&log);
                Coroutine::new(move || {
                    for step in 0..3 {
                        log.borrow_mut().push((step, coroutine));
                        suspend();
                    }
                })
            })
            .collect();
        for _ in 0..3 {
            assert!(coroutines.iter_mut().all(|coroutine| !coroutine.resume()));
        }
        assert!(coroutines.iter_mut().all(Coroutine::resume));
        let expected: Vec<_> = (0..3).flat_map(|s| (0..3).map(move |f| (s, f))).collect();
        assert_eq!(*log.borrow(), expected);
    }

    #[test]
    fn a_coroutine_that_never_ran_drops_what_it_captured() {
        let captured = Rc::new(());
        let inner = Rc::clone(&captured);
        drop(Coroutine::new(move || drop(inner)));
        assert_eq!(Rc::strong_count(&captured), 1);
    }
}
