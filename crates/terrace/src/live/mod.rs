//! The live window: a process that has a store open for writing offers a Unix socket, through which
//! others inspect the store, read it and copy it.
//!
//! - [`Options::live`](field@crate::Options::live) offers it. [`Live::connect`] finds it, by the
//!   path of the store.
//! - The window changes nothing. A checkpoint needs the right to write to the store.
//! - Both sides may end at any time. The owner of the store waits for no client.
//!
//! `docs/live.md` has the protocol, the rights and the limits.
//!
//! | part | content |
//! |---|---|
//! | `place`, `bound` | where the socket is, its rights, how it is found; its removal |
//! | `frame`, `request`, `remote_error` | the messages |
//! | `overview`, `table_map` | a store at a moment, as a plain value; its tables |
//! | `activity` | the latest events, and latencies |
//! | `window`, `connection` | the owner's side |
//! | `client` | the other side |
//! | `copy` | a checkpoint for another process |

mod activity;
mod bound;
mod client;
mod connection;
mod copy;
mod frame;
#[cfg(test)]
mod fuzz;
mod overview;
mod place;
mod remote_error;
mod request;
mod table_map;
mod window;

pub(crate) use activity::{Activity, Call};
pub use activity::{Happening, Latencies, Latency, LiveEvent};
pub use client::{Live, LiveEntry, LiveScan, Owner};
pub use connection::{LiveSnapshot, Watch};
pub(crate) use overview::Viewed;
pub use overview::{Overview, RunMap, ZoneMap};
pub use table_map::{PlacedSegment, TableMap};
pub(crate) use window::Window;
