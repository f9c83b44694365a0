//! [`Engine`]: the operations that are measured, the same for all engines.
//!
//! Any thread may call it, except for [`Engine::close`]. Values are shown to a function where they
//! lie, so that an engine copies only where its interface does.

use crate::generator::Key;

/// Gets a value, or `None`.
pub(crate) type Seen<'a> = &'a mut dyn FnMut(Option<&[u8]>);

/// An opened store.
pub(crate) trait Engine: Send + Sync {
    fn put(&self, key: &[u8], value: &[u8]) -> anyhow::Result<()>;

    fn delete(&self, key: &[u8]) -> anyhow::Result<()>;

    /// Writes all entries at once.
    fn write(&self, entries: &[(Key, Vec<u8>)]) -> anyhow::Result<()>;

    fn get(&self, key: &[u8], seen: Seen<'_>) -> anyhow::Result<()>;

    /// Shows the value of each key, in the order of the keys; a loop where the engine has no call
    /// for it.
    fn multi_get(&self, keys: &[Key], seen: Seen<'_>) -> anyhow::Result<()> {
        keys.iter().try_for_each(|key| self.get(key, seen))
    }

    /// Shows at most `limit` entries from a key on, in their order, and returns their number.
    fn scan(
        &self,
        from: &[u8],
        limit: u64,
        seen: &mut dyn FnMut(&[u8], &[u8]),
    ) -> anyhow::Result<u64>;

    /// Waits until no flush and no compaction is due.
    fn wait_idle(&self) -> anyhow::Result<()>;

    /// The version of the engine, if it tells one.
    fn version(&self) -> String;

    fn close(self: Box<Self>) -> anyhow::Result<()>;
}
