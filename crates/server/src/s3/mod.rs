//! The operations of S3, on [`Objects`](crate::objects::Objects).
//!
//! | part | content |
//! |---|---|
//! | `operations` | the operations, each a call of another part |
//! | `buckets`, `tags` | buckets; tags of objects |
//! | `acl` | access lists, for reading |
//! | `put`, `get`, `copy`, `summary` | objects; `summary`: what describes them |
//! | `delete`, `list` | deletes of one or many objects; lists |
//! | `multipart` | uploads in parts |
//! | `intake`, `digests` | the body of a request, and its checksums |
//! | `places` | the bodies that are being written at a time |
//! | `pieces` | the body of an answer |
//! | `attributes`, `conditions` | headers and conditions, to and from those of S3 |
//! | `answer` | errors, times and ETags, as S3 has them |
//! | `unsupported` | requests for what the server does not do |
//! | `blocking` | calls of the store in threads that may wait |
//!
//! Other operations answer `NotImplemented`. Versions, changes of access lists, encryption and
//! locks are not implemented.
//!
//! # Memory
//! A body passes in pieces of one chunk ([`CHUNK`](crate::objects::CHUNK)), of which a request has
//! at most three at a time. On a disk, the first MiB of a body may be in memory, too. A list has at
//! most 1,000 items.
//!
//! # Cancellation
//! When a client goes away, its request is dropped at a wait. Each change of the store is one
//! blocking call, which goes on to its end. A body that was not sealed is discarded.

mod acl;
mod answer;
mod attributes;
mod blocking;
mod buckets;
mod conditions;
mod copy;
mod delete;
mod digests;
#[cfg(test)]
mod fuzz;
mod get;
mod intake;
mod list;
mod multipart;
mod operations;
mod pieces;
mod places;
mod put;
mod summary;
mod tags;
mod unsupported;

pub(crate) use operations::Operations;
pub(crate) use places::Places;
