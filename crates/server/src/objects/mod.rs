//! Objects in buckets, in a store and the files next to it.
//!
//! An object is an entry of the store with its metadata, and a body. A small body is a second
//! entry. A larger one is one file, or several after an upload in parts. `docs/format/objects.md`
//! has the bytes.
//!
//! # Argument
//! - *Whole or absent.* The body comes first: its files are sealed, which makes their bytes
//!   durable. Then one transaction of the store writes the entry that names them, durably. So an
//!   entry names only whole files. A small body is in the same batch as its entry.
//!   Bodies that become whole at the same time share both ([`groups`]).
//! - *Acknowledged.* A put returns after that transaction. A delete returns after the entry is gone
//!   durably.
//! - *Nothing left.* A file is removed after the transaction that removes its name from all
//!   entries. A failure in between leaves a file that no entry names. [`Objects::open`] removes
//!   these files, before any put can begin.
//! - *Its own files.* An opening makes sure that the entries are of this store, and not of one that
//!   it was copied from ([`origin`]). A file that is no body is neither read nor removed.
//! - *One at a time.* Each change of a key is a transaction that reads the entries on which it
//!   depends: the bucket, the object, the upload. If one of them has changed, the transaction is
//!   repeated. So conditions hold at the moment of the change, and a bucket that is deleted has no
//!   object.
//! - *Readers.* A reader opens all files of the body before it returns its first byte. Files that
//!   are removed later stay readable for it. If a file is gone before it is opened, the entry is
//!   read again.
//!
//! Bytes of files are checked on each read by the checksums in the entry.
//!
//! # Threads
//! Any thread may call. Calls wait for the device, and hold no lock meanwhile.

mod attributes;
mod body;
mod change;
mod company;
mod fault;
#[cfg(test)]
mod fuzz;
mod groups;
mod key;
mod listing;
mod moving;
#[expect(clippy::module_inception, reason = "the file is named after its type")]
mod objects;
mod origin;
mod record;
mod segment;
mod streams;
mod sweep;
mod uploads;
mod whole;

pub use attributes::{Attributes, Header};
pub use body::{NewBody, StoredBody, Written};
pub use change::Condition;
pub use fault::Fault;
pub use listing::{Listed, ListedUpload, Listing, UploadListing, Wanted};
pub use objects::{Body, Found, Objects, ObjectsOptions};
pub use record::{BucketRecord, Checksum, ObjectRecord, PartRecord, Place, UploadRecord};
pub use segment::{CHUNK, Segment};
pub use sweep::Swept;
pub use uploads::{Chosen, ChosenPart, UploadId};
pub use whole::Whole;
