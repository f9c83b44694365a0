//! [`Failure`]: an error for C, as a code and a message; and [`guard`], through which each call
//! goes.
//!
//! The message of the last failure is kept for each thread, so that the code that a thread gets and
//! the message that it reads after it belong together.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace::{Error, StoreError};

use crate::TerraceCode;

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::new(CString::default());
}

/// An error for C.
#[derive(Debug)]
pub(crate) struct Failure {
    code: TerraceCode,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: TerraceCode, message: impl fmt::Display) -> Self {
        Self { code, message: message.to_string() }
    }

    /// An invalid request.
    pub(crate) fn invalid(message: impl fmt::Display) -> Self {
        Self::new(TerraceCode::Invalid, message)
    }

    fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("no message");
        Self::new(TerraceCode::Bug, format_args!("a bug in Terrace: panicked: {text}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(TerraceCode::of(error.kind()), error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NameTaken(_) => Self::new(TerraceCode::Exists, error),
            error => Error::from(error).into(),
        }
    }
}

impl From<terrace::DeviceError> for Failure {
    fn from(error: terrace::DeviceError) -> Self {
        match &error {
            terrace::DeviceError::Host { source, .. }
                if source.kind() == ErrorKind::AlreadyExists =>
            {
                Self::new(TerraceCode::Exists, error)
            }
            _ => Error::from(error).into(),
        }
    }
}

/// Carries out a call: a failure is kept for [`terrace_error_message`], and a panic becomes one.
pub(crate) fn guard(call: impl FnOnce() -> Result<(), Failure>) -> TerraceCode {
    // A panic may leave the state of handles half done, which the caller must not use any more;
    // locks are not poisoned.
    let result = catch_unwind(AssertUnwindSafe(call));
    let failure = match result {
        Ok(Ok(())) => return TerraceCode::Ok,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::of_panic(&*payload),
    };
    let message: Vec<u8> = failure.message.into_bytes().into_iter().filter(|b| *b != 0).collect();
    let message = CString::new(message).unwrap_or_default();
    // A thread that is ending has no place for messages any more.
    let _ = MESSAGE.try_with(|kept| *kept.borrow_mut() = message);
    failure.code
}

/// A handle that the caller must give.
pub(crate) fn given<T>(handle: Option<T>, what: &str) -> Result<T, Failure> {
    handle.ok_or_else(|| Failure::invalid(format_args!("{what}: expected a pointer, found null")))
}

/// Refuses a value in fields that this version of the library does not use: a program that was
/// built with a later header asks for something that it would not get.
pub(crate) fn unused(reserved: &[u32], what: &str) -> Result<(), Failure> {
    match reserved.iter().find(|field| **field != 0) {
        None => Ok(()),
        Some(found) => Err(Failure::invalid(format_args!(
            "{what}: expected 0 in `reserved`, found {found}; a later version of the library may \
             know it"
        ))),
    }
}

/// The message of the last failed call of this thread, in UTF-8 and ended by a zero byte. It has
/// the value expected, the value found, and the place. Empty if no call has failed. Valid until the
/// next failed call of this thread, and not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_error_message() -> *const c_char {
    MESSAGE.try_with(|kept| kept.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn kept() -> String {
        MESSAGE.with(|kept| CStr::to_string_lossy(&kept.borrow()).into_owned())
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_message() {
        let code = guard(|| panic!("broken {}", 7));
        assert_eq!(code, TerraceCode::Bug);
        assert_eq!(kept(), "a bug in Terrace: panicked: broken 7");
    }

    #[test]
    fn a_message_stays_until_the_next_failure() {
        assert_eq!(guard(|| Err(Failure::invalid("a\0b"))), TerraceCode::Invalid);
        assert_eq!(guard(|| Ok(())), TerraceCode::Ok);
        assert_eq!(kept(), "ab");
        let taken = StoreError::NameTaken("a".into());
        assert_eq!(guard(|| Err(taken.into())), TerraceCode::Exists);
        assert_eq!(
            guard(|| Err(Failure::from(StoreError::NameNotFound("x".into())))),
            TerraceCode::NotFound
        );
    }
}
