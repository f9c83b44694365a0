//! HTTP: connections, and the way from a request to its answer.
//!
//! `listener` accepts connections, up to a limit, and ends them; `roster` knows which one has
//! waited longest for its client, and ends it when another needs its place; `stalls` ends those
//! whose client takes no bytes, `patience` requests whose body stops; `leftover` reads the rest of
//! a body after an error; `fate` notes why a body cannot be used, with the checksums in `sums`;
//! `chunks` divides large chunks of a body; `hosts` finds a bucket in the name of the host,
//! `hoisted` headers in the query of a presigned URL; `ranges` takes unfit ranges off; `references`
//! writes control characters in answers, `explained` texts of errors; `front` answers a request;
//! `tls` reads certificates.

mod chunks;
mod explained;
mod fate;
mod front;
mod hoisted;
mod hosts;
mod leftover;
mod listener;
mod patience;
mod ranges;
mod references;
mod roster;
mod stalls;
mod sums;
mod tls;

pub(crate) use fate::XML_MAX;
pub(crate) use front::Front;
pub(crate) use hoisted::is_hoisted;
pub(crate) use hosts::Hosts;
pub(crate) use listener::{Limits, Listener};
pub use tls::TlsError;
pub(crate) use tls::acceptor;
