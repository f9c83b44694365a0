//! What a system's figures are fitted to.

use terrace_env::ByteCount;

/// The store that a system runs on, as far as its figures depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreShape {
    /// All bytes that files could ever occupy.
    pub capacity: ByteCount,
    /// The capacity of an ordinary zone; `None` over a plain directory, which has none.
    pub zone_capacity: Option<ByteCount>,
    /// A memtable that has grown to this is flushed.
    pub memtable_size: ByteCount,
}

/// A store has room for so many tables: a merge of one table with the ten that it overlaps then
/// takes less than a fifth of it.
const TABLES_IN_STORE: u64 = 64;

impl StoreShape {
    /// The largest table whose compactions the store has room for.
    pub(super) fn table_size_max(&self) -> ByteCount {
        ByteCount((self.capacity.0 / TABLES_IN_STORE).max(1))
    }
}
