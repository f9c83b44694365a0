//! The key spaces of a [`Db`]: they are made, found, dropped and listed by name.
//!
//! A change is durable when its call returns, and happens as a whole or not at all. Any thread may
//! call. Reads and writes of one key space are in `key_space`.

use terrace_lsm::{KeySpaceId, KeySpaceOptions};

use crate::{Db, Error, KeySpace};

impl Db {
    /// The key space of this name, created if there is none. Names have 1 to 255 bytes.
    pub fn create_key_space(&self, name: &str) -> Result<KeySpace, Error> {
        let id = self.inner.engine.create_key_space(name)?;
        Ok(KeySpace { id, name: name.into(), ..self.default.clone() })
    }

    /// The key space of this name, made if there is none, with options of its own: those that are
    /// stated hold from now on, and the store remembers them. A key space that remembers another
    /// value of one is not opened: the error has the kind
    /// [`Option`](crate::ErrorKind::Option), and [`KeySpace::set_options`] changes it. A store that
    /// is open for reading takes any.
    ///
    /// Tables that were made before keep their form until they are merged. A store with such
    /// options cannot be opened by a version of Terrace that does not know them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use terrace::{Compression, Db, KeySpaceOptions, MemoryStore, Options};
    /// # fn main() -> Result<(), terrace::Error> {
    /// let db = Db::open(Arc::new(MemoryStore::new()), Options::default())?;
    /// let half_an_hour = KeySpaceOptions::default().ttl(Duration::from_secs(1800));
    /// let sessions = db.create_key_space_with("sessions", half_an_hour)?;
    /// sessions.put(b"ada", b"a token")?;
    /// let small = KeySpaceOptions::default().compression(Compression::Zstd).filter_bits(0);
    /// let archive = db.create_key_space_with("archive", small)?;
    /// assert_eq!(archive.options().filter_bits, Some(0));
    /// assert!(db.create_key_space_with("archive", small.filter_bits(10)).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_key_space_with(
        &self,
        name: &str,
        options: KeySpaceOptions,
    ) -> Result<KeySpace, Error> {
        let id = self.inner.engine.create_key_space_with(name, options)?;
        Ok(KeySpace { id, name: name.into(), ..self.default.clone() })
    }

    /// The key space of this name; an error of the kind
    /// [`UnknownKeySpace`](crate::ErrorKind::UnknownKeySpace) if there is none.
    pub fn key_space(&self, name: &str) -> Result<KeySpace, Error> {
        match self.inner.engine.key_space(name) {
            Some(id) => Ok(KeySpace { id, name: name.into(), ..self.default.clone() }),
            None => Err(Error::unknown_key_space(name, self.key_spaces())),
        }
    }

    /// Drops the key space of this name and all its entries, for snapshots as well; `false` if
    /// there is none. The default one cannot be dropped.
    ///
    /// It is gone at once and for good, atomically: a power cut in between leaves all of it or
    /// nothing. Existing handles of it return
    /// [`UnknownKeySpace`](crate::ErrorKind::UnknownKeySpace); scans and cursors that were opened
    /// before go on. A new key space may have its name. Its space is freed in the background.
    pub fn drop_key_space(&self, name: &str) -> Result<bool, Error> {
        Ok(self.inner.engine.drop_key_space(name)?)
    }

    /// Names of all key spaces, in the order of their creation; the first is `default`.
    #[must_use]
    pub fn key_spaces(&self) -> Vec<String> {
        self.inner.engine.key_spaces().iter().map(|space| space.name.to_string()).collect()
    }

    /// The name of a key space, if there is one of this number.
    #[must_use]
    pub fn key_space_name(&self, id: KeySpaceId) -> Option<String> {
        self.inner.engine.key_space_name(id)
    }
}
