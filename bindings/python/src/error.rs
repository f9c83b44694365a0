//! Errors of the store as exceptions. All are subclasses of `terrace.Error`, and the attribute
//! `kind` of each is the name of the [`ErrorKind`]. An exception that is made here, and not for an
//! error of the store, has the kind of its class.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use terrace::ErrorKind;

create_exception!(terrace, Error, PyException, "An operation of a store failed.");
create_exception!(terrace, NoSpaceError, Error, "The store, or the host's disk, is full.");
create_exception!(terrace, CorruptionError, Error, "Bytes on the medium are not as written.");
create_exception!(terrace, InUseError, Error, "Another program has the store open.");
create_exception!(terrace, NotFoundError, Error, "There is no such store, image or key space.");
create_exception!(terrace, ClosedError, Error, "The store has been closed.");
create_exception!(
    terrace,
    ConflictError,
    Error,
    "Another writer changed a key or range that the transaction had read."
);
create_exception!(terrace, MovedError, Error, "The writer has freed what a reader was reading.");
create_exception!(terrace, InvalidError, Error, "An option, key, value or name is not allowed.");

/// Adds the exceptions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for (name, class, kind) in [
        ("Error", py.get_type::<Error>(), ErrorKind::Io),
        ("NoSpaceError", py.get_type::<NoSpaceError>(), ErrorKind::NoSpace),
        ("CorruptionError", py.get_type::<CorruptionError>(), ErrorKind::Corruption),
        ("InUseError", py.get_type::<InUseError>(), ErrorKind::InUse),
        ("NotFoundError", py.get_type::<NotFoundError>(), ErrorKind::NotFound),
        ("ClosedError", py.get_type::<ClosedError>(), ErrorKind::Closed),
        ("ConflictError", py.get_type::<ConflictError>(), ErrorKind::Conflict),
        ("MovedError", py.get_type::<MovedError>(), ErrorKind::Moved),
        ("InvalidError", py.get_type::<InvalidError>(), ErrorKind::Invalid),
    ] {
        class.setattr("kind", format!("{kind:?}"))?;
        module.add(name, class)?;
    }
    Ok(())
}

/// The exception of an error.
pub(crate) fn raised(py: Python<'_>, error: &terrace::Error) -> PyErr {
    let message = error.to_string();
    let raised = match error.kind() {
        ErrorKind::NoSpace | ErrorKind::HostFull => NoSpaceError::new_err(message),
        ErrorKind::Corruption => CorruptionError::new_err(message),
        ErrorKind::InUse => InUseError::new_err(message),
        ErrorKind::NotFound | ErrorKind::UnknownKeySpace => NotFoundError::new_err(message),
        ErrorKind::Closed => ClosedError::new_err(message),
        ErrorKind::Conflict => ConflictError::new_err(message),
        ErrorKind::Moved => MovedError::new_err(message),
        ErrorKind::Option
        | ErrorKind::MergeOperator
        | ErrorKind::TooLarge
        | ErrorKind::Invalid
        | ErrorKind::OtherStore
        | ErrorKind::ReadOnly => InvalidError::new_err(message),
        _ => Error::new_err(message),
    };
    // An exception without the attribute is still the right one.
    let _ = raised.value(py).setattr("kind", format!("{:?}", error.kind()));
    raised
}

/// An invalid argument, which does not reach the store.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    InvalidError::new_err(message.into())
}

/// The result of a call of the store.
pub(crate) trait Raise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for Result<T, terrace::Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}
