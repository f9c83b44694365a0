//! A server of objects on a store, which speaks S3. The program is `terrace-serve`; `terrace serve`
//! starts it.
//!
//! | part | task |
//! |---|---|
//! | [`Server`] | a store that is open and served, from its start to its end |
//! | `http` | connections, requests and their limits |
//! | `s3` | the operations of S3 |
//! | `access` | keys and rights |
//! | [`objects`] | buckets, objects and uploads, as entries and files of the store |
//! | `admin`, `metrics`, `exposition` | the pages under `/-/` |
//! | `place`, `notify`, [`arguments`] | the store at a path, systemd, the command line |
//! | `mending` | a store that stopped writing, and goes on |
//! | `query` | parameters of a target, and their encoding |
//! | `failure` | the exit code |
//!
//! # Invariants
//! - An object is whole or absent, and an acknowledged change is durable: [`objects`] has the
//!   argument.
//! - No client makes the server take more memory than its connections times three pieces of a body,
//!   or a document of XML, the first MiB of each body that is being written to a disk, and the
//!   store's own budget.
//! - Calls of the store run in a limited number of threads. No thread and no lock waits for a
//!   client.
//! - Without keys, only programs of the same machine are served.
//!
//! It does not know other servers: there is one copy of each object. The everyday program does not
//! depend on this crate.

mod access;
mod admin;
pub mod arguments;
mod exposition;
mod failure;
mod http;
mod mending;
mod metrics;
mod notify;
pub mod objects;
mod place;
mod query;
mod s3;
mod serve;
mod server;

pub use access::{Keys, KeysError, Need, Rights};
pub use http::TlsError;
pub use metrics::Metrics;
pub use place::PlaceError;
pub use serve::serve;
pub use server::{Server, ServerOptions, StartError};
