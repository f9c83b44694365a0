//! Terrace for C, and for languages that call C. The header is `include/terrace.h`, which cbindgen
//! makes from these sources; the guide is `docs/c-api.md`.
//!
//! | part | content |
//! |---|---|
//! | [`image`] | emulated drives in files, and formatting them |
//! | [`store`], [`key_space`], [`batch`], [`cursor`], [`value`] | the key-value store |
//! | [`transaction`], [`snapshot`], [`ingest`] | transactions, snapshots, ingests |
//! | [`copies`] | checkpoints and backups |
//! | [`store_reader`] | reading a store that another process writes |
//! | [`table_options`], [`key_space_options`] | how a store makes its tables, also by key space |
//! | [`counter`], [`merge_operator`] | operands that are combined with values |
//! | [`compaction_filters`], [`event`] | which values stay; what happens in a store |
//! | [`user_data`] | pointers of the program for its functions |
//! | [`fs`], [`writer`], [`reader`], [`listing`] | the file system, for files with names |
//! | [`pending_read`] | reads that are begun and waited for later |
//! | [`code`], [`failure`] | errors: a code that is returned, and a message for each thread |
//! | `slice` | bytes that the caller lends to a call |
//!
//! # Rules
//! - Each call that can fail returns a [`TerraceCode`]. Results go through pointers; those for
//!   handles are first set to null.
//! - No panic leaves a call: it becomes [`TerraceCode::Bug`].
//! - A handle belongs to the caller until the call that closes, finishes or frees it. A null handle
//!   is refused, or, by a call that frees, ignored.
//! - The handles of stores, key spaces, file systems and readers may be used by several threads at
//!   once; all others by one thread at a time.
//! - A function of the program is called by threads of the library, and may not leave but by its
//!   return.
//!
//! # Unsafe code
//! It is in `slice` and in `user_data`, with its argument. Elsewhere the types of the parameters
//! say what C has to hand over: a reference for a handle that is lent, a `Box` for one that is
//! given back, an `Option` around either because C has null.

pub mod batch;
pub mod code;
pub mod compaction_filters;
pub mod copies;
pub mod counter;
pub mod cursor;
pub mod event;
pub mod expiry;
pub mod failure;
pub mod fs;
pub mod image;
pub mod ingest;
pub mod key_space;
pub mod key_space_options;
pub mod listing;
pub mod merge_operator;
pub mod parts;
pub mod pending_read;
pub mod reader;
pub mod slice;
pub mod snapshot;
pub mod store;
pub mod store_reader;
pub mod table_options;
pub mod traffic;
pub mod transaction;
pub mod user_data;
pub mod value;
pub mod writer;

pub use code::TerraceCode;
