//! [`Ttl`]: the time to live of an entry: seconds as a number, or a `timedelta`.

use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// See the [module](self).
pub(crate) struct Ttl(pub(crate) Duration);

impl<'a, 'py> FromPyObject<'a, 'py> for Ttl {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(seconds) = object.extract::<f64>() {
            let ttl = Duration::try_from_secs_f64(seconds);
            let wrong = |_| format!("expected a ttl of 0 seconds or more, found {seconds}");
            return ttl.map(Self).map_err(|error| PyValueError::new_err(wrong(error)));
        }
        match object.extract::<Duration>() {
            Ok(ttl) => Ok(Self(ttl)),
            // A negative span has an error of its own.
            Err(error) if !error.is_instance_of::<PyValueError>(object.py()) => {
                let found = object.get_type().name()?;
                let expected = "expected a ttl in seconds, or a timedelta, found";
                Err(PyTypeError::new_err(format!("{expected} {found}")))
            }
            Err(error) => Err(error),
        }
    }
}
