//! The integration tests of `terrace-env`.

mod conformance_canary;
#[cfg(debug_assertions)]
mod explored;
mod memory_store;
mod runner;
mod sync;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message of the panic that `body` ends with.
fn panic_of<T>(body: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(body)).err().expect("a panic");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a message")).to_owned(),
    }
}
