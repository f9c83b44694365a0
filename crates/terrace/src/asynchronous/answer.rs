//! [`Promise`] and [`Awaited`]: the two ends of the answer to one operation. An actor has the
//! promise, a future awaits it.
//!
//! - A promise that is dropped without an answer gives an error: that the store is closed, or, if
//!   its thread unwinds, that the actor has panicked. So no future waits for ever.
//! - Code of the future's runtime, in its wakers, is called without a lock.
//!
//! Threads: each end may be used by one thread at a time. The lock is held for some instructions.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use terrace_env::sync::Mutex;
use terrace_lsm::Error as EngineError;

/// Both ends of an answer.
pub(super) fn promise<T>() -> (Promise<T>, Awaited<T>) {
    let place = Arc::new(Mutex::new(Place { answer: None, waker: None }));
    (Promise(Some(Arc::clone(&place))), Awaited(place))
}

/// The duty to answer an operation.
pub(super) struct Promise<T>(Option<Arc<Mutex<Place<T>>>>);

/// The answer that a future waits for.
pub(super) struct Awaited<T>(Arc<Mutex<Place<T>>>);

pub(super) struct Place<T> {
    answer: Option<Result<T, EngineError>>,
    waker: Option<Waker>,
}

impl<T> Promise<T> {
    /// Leaves the answer, and wakes the future.
    pub(super) fn keep(self, answer: Result<T, EngineError>) {
        if let Some(waker) = self.leave(answer) {
            waker.wake();
        }
    }

    /// Leaves the answer; the future is to be woken by the waker, if it waits.
    pub(super) fn leave(mut self, answer: Result<T, EngineError>) -> Option<Waker> {
        self.0.take().and_then(|place| leave(&place, answer))
    }
}

fn leave<T>(place: &Mutex<Place<T>>, answer: Result<T, EngineError>) -> Option<Waker> {
    let mut place = place.lock();
    place.answer = Some(answer);
    place.waker.take()
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        let Some(place) = self.0.take() else { return };
        let panics = std::thread::panicking();
        let error = if panics { EngineError::Panicked } else { EngineError::Closed };
        if let Some(waker) = leave(&place, Err(error)) {
            waker.wake();
        }
    }
}

/// Wakers of several futures that have their answers. A task that waits for many of them is woken
/// when all are there, and not for each. All are woken, even if one panics.
#[derive(Default)]
pub(super) struct Wakers(VecDeque<Waker>);

impl Wakers {
    /// Adds the waker of a future, if it waits.
    pub(super) fn add(&mut self, waker: Option<Waker>) {
        self.0.extend(waker);
    }

    /// Wakes the futures.
    pub(super) fn wake(mut self) {
        self.wake_all();
    }

    fn wake_all(&mut self) {
        while let Some(waker) = self.0.pop_front() {
            waker.wake();
        }
    }
}

impl Drop for Wakers {
    fn drop(&mut self) {
        self.wake_all();
    }
}

impl<T> Awaited<T> {
    /// The answer, once; until then the waker of the last call is woken by it.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Result<T, EngineError>> {
        {
            let mut place = self.0.lock();
            if let Some(answer) = place.answer.take() {
                return Poll::Ready(answer);
            }
            if place.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                return Poll::Pending;
            }
        }
        let waker = context.waker().clone();
        let mut place = self.0.lock();
        if let Some(answer) = place.answer.take() {
            return Poll::Ready(answer);
        }
        let before = place.waker.replace(waker);
        drop(place);
        drop(before);
        Poll::Pending
    }

    /// Wakes no future any more: it is gone.
    pub(super) fn forget_waker(&self) {
        let waker = self.0.lock().waker.take();
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A waker, and the number of times that it was woken.
    fn waker() -> (Waker, impl Fn() -> usize) {
        let woken = Arc::new(Woken::default());
        (Arc::clone(&woken).into(), move || woken.0.load(Ordering::Relaxed))
    }

    #[test]
    fn the_last_waker_alone_is_woken_and_once() {
        let (promise, awaited) = promise::<u8>();
        let ((first, first_woken), (last, last_woken)) = (waker(), waker());
        for waker in [&first, &last, &last] {
            assert!(awaited.poll(&Context::from_waker(waker)).is_pending());
        }
        promise.keep(Ok(7));
        assert_eq!((first_woken(), last_woken()), (0, 1));
        let answer = awaited.poll(&Context::from_waker(&last));
        assert!(matches!(answer, Poll::Ready(Ok(7))));
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a test");
        }
    }

    #[test]
    fn a_waker_that_panics_keeps_no_other_from_being_woken() {
        let ((first, first_woken), (last, last_woken)) = (waker(), waker());
        let mut wakers = Wakers::default();
        let panics = Waker::from(Arc::new(Panics));
        [Some(first), None, Some(panics), Some(last)].into_iter().for_each(|w| wakers.add(w));
        let woken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wakers.wake()));
        assert!(woken.is_err());
        assert_eq!((first_woken(), last_woken()), (1, 1));
    }

    #[test]
    fn a_promise_that_is_dropped_answers_by_an_error() {
        let (waker, woken) = waker();
        let context = Context::from_waker(&waker);
        let (dropped, awaited) = promise::<u8>();
        assert!(awaited.poll(&context).is_pending());
        drop(dropped);
        assert_eq!(woken(), 1);
        let answer = awaited.poll(&context);
        assert!(matches!(answer, Poll::Ready(Err(EngineError::Closed))));

        let (unwound, awaited) = promise::<u8>();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _unwound = unwound;
            panic!("a test");
        }));
        assert!(panicked.is_err());
        let answer = awaited.poll(&context);
        assert!(matches!(answer, Poll::Ready(Err(EngineError::Panicked))));
    }
}
