//! [`Failure`]: the reason why the program ends, as a message, and its exit code. The codes are
//! those of the program `terrace`: `docs/cli.md` lists them.

use std::io;

use terrace::{Error, ErrorKind};
use tokio_rustls::rustls::pki_types::pem;

use crate::access::KeysError;
use crate::http::TlsError;
use crate::objects::Fault;
use crate::place::{self, PlaceError};
use crate::server::StartError;

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const CORRUPTION: u8 = 3;
const NO_SPACE: u8 = 4;
const NOT_FOUND: u8 = 5;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

/// The code for an error of the store. For one that has stopped, the error that stopped it counts.
fn code_of(error: &Error) -> u8 {
    match error.origin() {
        ErrorKind::NoSpace | ErrorKind::HostFull => NO_SPACE,
        ErrorKind::NotFound => NOT_FOUND,
        ErrorKind::Corruption => CORRUPTION,
        ErrorKind::Option => USAGE,
        _ => FAILED,
    }
}

fn code_of_host(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { FAILED }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { code: FAILED, message: error.to_string() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: code_of(&error), message: error.to_string() }
    }
}

impl From<KeysError> for Failure {
    fn from(error: KeysError) -> Self {
        let code = match &error {
            KeysError::Io(_, error) => code_of_host(error),
            _ => FAILED,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        let code = match &error {
            PlaceError::Store(_, error) => code_of(error),
            PlaceError::NoSecond(_) | PlaceError::NoStore(_) => FAILED,
        };
        let mut message = error.to_string();
        if place::is_in_use(&error) {
            message += "; stop the other process first";
        }
        Self { code, message }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let code = match &error {
            StartError::Objects(Fault::Store(error)) => code_of(error),
            StartError::Objects(Fault::NoFiles { .. }) => FAILED,
            // An entry that does not decode.
            StartError::Objects(_) => CORRUPTION,
            StartError::Unsafe(_) => USAGE,
            StartError::Tls(TlsError::Pem(_, pem::Error::Io(error))) => code_of_host(error),
            StartError::Listen(..) | StartError::Tls(_) => FAILED,
        };
        Self { code, message: error.to_string() }
    }
}
