//! Reading a store next to the process that writes it, without asking that process:
//! [`Db::open_reader`](crate::Db::open_reader).
//!
//! | part | content |
//! |---|---|
//! | [`Reader`] | reads, and brings its view to the present state of the medium |
//! | [`ReaderScan`] | the entries of a range, of one view or of several |
//! | `view`, `place` | the store as of one moment, opened for reading; where it is |
//! | `vouched_store` | a layer below the engine that proves each read |
//!
//! A reader takes no lock and writes nothing. `docs/live.md` states its guarantees; decision 0058
//! has the reasons.

mod place;
mod reader;
mod scan;
mod view;
mod vouched_store;

pub use reader::Reader;
pub use scan::ReaderScan;
