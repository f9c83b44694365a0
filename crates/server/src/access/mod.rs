//! Which client may do what: access keys, their rights per bucket, and the checks of each request.
//!
//! `keys` has the keys and reads their file; `rights` says which bucket a key may read or write;
//! `signed` has rules of signatures; `check` joins them to the S3 service.

mod check;
#[cfg(test)]
mod fuzz;
mod keys;
mod rights;
mod signed;

pub(crate) use check::{Check, Note};
pub(crate) use check::{check_source, rights_of};
pub use keys::{Keys, KeysError};
pub use rights::{Need, Rights};
pub(crate) use signed::is_signed;
