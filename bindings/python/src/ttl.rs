//! [`Ttl`]: the time to live of an entry: seconds as a number, or a `timedelta`.

use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// See the [module](self).
pub(crate) struct Ttl(pub(crate) Duration);

impl<'a, 'py> FromPyObject<'a, 'py> for Ttl {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let wrong = |found: String| {
            PyValueError::new_err(format!("expected a ttl of 0 to 1.8e19 seconds, found {found}"))
        };
        if let Ok(seconds) = object.extract::<f64>() {
            let ttl = Duration::try_from_secs_f64(seconds);
            return ttl.map(Self).map_err(|_| wrong(format!("{seconds:?}")));
        }
        match object.extract::<Duration>() {
            Ok(ttl) => Ok(Self(ttl)),
            // A negative span.
            Err(error) if error.is_instance_of::<PyValueError>(object.py()) => {
                Err(wrong(object.str()?.to_string()))
            }
            Err(_) => {
                let found = object.get_type().name()?;
                let expected = "expected a ttl in seconds, or a timedelta, found";
                Err(PyTypeError::new_err(format!("{expected} {found}")))
            }
        }
    }
}
