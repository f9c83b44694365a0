//! [`SpaceChanges`]: key spaces are made, found, given options, and dropped.
//!
//! - A change commits the store's annotation and at most one [page](super::space_page) of the list
//!   with it, so its size does not depend on the number of key spaces.
//! - A key space is dropped in three steps (`docs/format/annotation.md`):
//!   1. A transaction moves its id from the list to the *dropped* ones. From here on the key space
//!      does not exist.
//!   2. A range delete over all of its keys hides its entries.
//!   3. Once that is durable, a transaction removes the id from the dropped ones.
//! - If step 2 or 3 fails, the call fails, though the key space is gone. The next drop of a key
//!   space that exists tries again, and so does the next opening for writing.
//! - An earlier version kept the whole list in the store's annotation. The first change here moves
//!   key spaces beyond [`PAGE_BYTES`] to pages, [`MOVED_AT_ONCE`] pages in each transaction.
//!
//! Threads: any. A change has the turn of the [tree](super::tree).

use std::sync::Arc;

use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId};

use super::commit::Committer;
use super::space_entry::KeySpaceEntry;
use super::space_list::{SpaceEdit, SpaceHome};
use super::space_page::{PAGE_BYTES, SpacePage};
use super::store_record::{
    FEATURE_EXPIRY, FEATURE_RANGE_DELETES, FEATURE_SPACE_OPTIONS, SPACE_NAME_BYTES_MAX, StoreRecord,
};
use super::tree::{CommitTurn, Tree};
use crate::batch::Batch;
use crate::lifetime_sums::LifetimeSums;
use crate::options::KeySpaceOptions;
use crate::{Bounds, Error, KeySpaceId};

/// The most pages that one transaction moves: each holds a file open.
const MOVED_AT_ONCE: usize = 64;
/// End of the ids. The largest id is not given to a key space, because each needs one after it.
const SPACES_END: u32 = u32::MAX;

/// See the [module](self).
pub(crate) struct SpaceChanges {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) sums: Arc<LifetimeSums>,
}

impl SpaceChanges {
    /// The key space of this name, made if there is none. It has the options that are stated here,
    /// from now on: if it remembers another value of one, that is an error.
    pub(crate) fn create(&self, name: &str, options: KeySpaceOptions) -> Result<KeySpaceId, Error> {
        if name.is_empty() || name.len() > SPACE_NAME_BYTES_MAX {
            return Err(Error::KeySpaceName { name: name.to_owned() });
        }
        let turn = self.committer.take_turn();
        self.tree.check_open()?;
        if let Some(id) = self.find(name) {
            let remembered = self.options(id);
            remembered.check_asked(&options)?;
            self.shape_to(&turn, id, remembered.or(options))?;
            return Ok(id);
        }
        self.move_to_pages(&turn)?;
        let mut record = self.record_with_lifetime();
        let id = KeySpaceId(record.next_space);
        let space = KeySpaceEntry { options, ..KeySpaceEntry::new(id, name) };
        if id.0 == SPACES_END {
            let message = format!("a key space: expected an id below {id}, found all given out");
            return Err(StoreError::Invalid(message).into());
        }
        record.next_space += 1;
        record.features |= features_of(&options);
        let mut transaction = Transaction::new();
        let mut writer = None;
        let bytes = space.bytes();
        let home = if listed_bytes(&record) + bytes <= PAGE_BYTES {
            record.spaces.push(space.clone());
            SpaceHome::Record
        } else if let Some(file) = self.tree.with_spaces(|list| list.page_with_room(bytes)) {
            let mut page = self.tree.with_spaces(|list| list.page(file));
            page.entries.push(space.clone());
            transaction.annotate(file, page.annotation());
            SpaceHome::Page(file)
        } else {
            let page = SpacePage { entries: vec![space.clone()] };
            let created = writer.insert(self.create_page()?);
            transaction.seal(created.id(), page.annotation());
            record.pages += 1;
            SpaceHome::Page(created.id())
        };
        self.commit_spaces(&turn, record, transaction, &SpaceEdit::Made(space, home))?;
        Ok(id)
    }

    /// Changes the options of a key space: those that are stated.
    pub(crate) fn change_options(
        &self,
        id: KeySpaceId,
        options: KeySpaceOptions,
    ) -> Result<(), Error> {
        let turn = self.committer.take_turn();
        self.tree.check_open()?;
        self.tree.view().spaces.check_write(id)?;
        self.shape_to(&turn, id, options.or(self.options(id)))
    }

    /// The options that a key space has of its own.
    pub(crate) fn options(&self, id: KeySpaceId) -> KeySpaceOptions {
        self.tree.view().spaces.options().of(id)
    }

    /// Commits these options of a key space, if they are not those that it has.
    fn shape_to(
        &self,
        turn: &CommitTurn<'_>,
        id: KeySpaceId,
        options: KeySpaceOptions,
    ) -> Result<(), Error> {
        if options == self.options(id) {
            return Ok(());
        }
        let mut record = self.record_with_lifetime();
        record.features |= features_of(&options);
        let mut transaction = Transaction::new();
        match self.tree.with_spaces(|list| list.home(id)) {
            Some(SpaceHome::Page(file)) => {
                let mut page = self.tree.with_spaces(|list| list.page(file));
                page.shape(id, options);
                transaction.annotate(file, page.annotation());
            }
            Some(SpaceHome::Record) | None => {
                let listed = record.spaces.iter_mut().find(|space| space.id == id);
                listed.ok_or(Error::UnknownKeySpace(id))?.options = options;
            }
        }
        self.commit_spaces(turn, record, transaction, &SpaceEdit::Shaped(id, options))
    }

    /// The key space of this name.
    pub(crate) fn find(&self, name: &str) -> Option<KeySpaceId> {
        self.tree.with_spaces(|list| list.find(name))
    }

    /// Drops the key space of this name. Returns whether there was one. The caller has the lead of
    /// the writes: so no conditional write is checked before the drop and written after it. Then
    /// the caller [hides](Self::hide_dropped) the entries of the key space.
    pub(crate) fn drop(&self, name: &str) -> Result<bool, Error> {
        let turn = self.committer.take_turn();
        self.tree.check_open()?;
        let Some(id) = self.find(name) else { return Ok(false) };
        self.move_to_pages(&turn)?;
        let mut record = self.record_with_lifetime();
        record.features |= FEATURE_RANGE_DELETES;
        let at = record.dropped.partition_point(|other| *other < id);
        record.dropped.insert(at, id);
        let mut transaction = Transaction::new();
        match self.tree.with_spaces(|list| list.home(id)) {
            Some(SpaceHome::Page(file)) => {
                let mut page = self.tree.with_spaces(|list| list.page(file));
                page.entries.retain(|other| other.id != id);
                if page.entries.is_empty() {
                    transaction.delete(file);
                    record.pages -= 1;
                } else {
                    transaction.annotate(file, page.annotation());
                }
            }
            Some(SpaceHome::Record) | None => record.spaces.retain(|other| other.id != id),
        }
        self.commit_spaces(&turn, record, transaction, &SpaceEdit::Dropped(id))?;
        Ok(true)
    }

    /// Hides the entries of dropped key spaces that are not hidden yet. `write` makes a batch
    /// durable that writes to key spaces that do not exist.
    pub(crate) fn hide_dropped(
        &self,
        write: impl FnOnce(Batch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let dropped = self.tree.record().dropped;
        if dropped.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        for space in &dropped {
            batch.delete_range(*space, &Bounds::all());
        }
        write(batch)?;
        let is_hidden = |space: &KeySpaceId| dropped.binary_search(space).is_ok();
        self.committer.commit_record(|record| record.dropped.retain(|space| !is_hidden(space)))
    }

    /// Moves key spaces from the store's annotation to pages, if an earlier version has listed more
    /// there than is allowed now.
    fn move_to_pages(&self, turn: &CommitTurn<'_>) -> Result<(), Error> {
        loop {
            let mut record = self.record_with_lifetime();
            if listed_bytes(&record) <= PAGE_BYTES {
                return Ok(());
            }
            let (mut pages, mut writers) = (Vec::new(), Vec::new());
            let mut transaction = Transaction::new();
            while listed_bytes(&record) > PAGE_BYTES && pages.len() < MOVED_AT_ONCE {
                let page = last_page(&mut record);
                let writer = self.create_page()?;
                transaction.seal(writer.id(), page.annotation());
                pages.push((writer.id(), page));
                writers.push(writer);
                record.pages += 1;
            }
            self.commit_spaces(turn, record, transaction, &SpaceEdit::Moved(pages))?;
        }
    }

    /// An empty file, whose annotation will be a page. It takes no space.
    fn create_page(&self) -> Result<Box<dyn FileWriter>, Error> {
        let mut writer = self.store.create(&CreateOptions {
            kind: FileKind::Table,
            hint: PlacementHint::default(),
            size: Some(ByteCount(0)),
            rank: Rank::UrgentLog,
            reservation: None,
            group: None,
            offload: false,
            cause: Cause::Journal,
        })?;
        writer.finish()?;
        Ok(writer)
    }

    fn record_with_lifetime(&self) -> StoreRecord {
        StoreRecord { lifetime: self.sums.ever(), ..self.tree.record() }
    }

    /// Commits a change of the list, and then shows it.
    fn commit_spaces(
        &self,
        turn: &CommitTurn<'_>,
        record: StoreRecord,
        mut transaction: Transaction,
        edit: &SpaceEdit,
    ) -> Result<(), Error> {
        transaction.annotate(FileId::STORE, record.annotation());
        let committed = self.store.commit(transaction).map_err(Error::from);
        committed.inspect_err(|error| self.committer.stop_unless_space(error))?;
        turn.show_spaces(record, edit);
        Ok(())
    }
}

/// Features of a store in which a key space has these options.
fn features_of(options: &KeySpaceOptions) -> u32 {
    let own = if options.is_none() { 0 } else { FEATURE_SPACE_OPTIONS };
    let expiry = if options.ttl_of_puts().is_some() { FEATURE_EXPIRY } else { 0 };
    own | expiry
}

/// Bytes of the key spaces that the store's own annotation lists.
fn listed_bytes(record: &StoreRecord) -> usize {
    record.spaces.iter().map(KeySpaceEntry::bytes).sum()
}

/// Takes the last key spaces out of the store's annotation, enough to fill a page, and never the
/// default one.
fn last_page(record: &mut StoreRecord) -> SpacePage {
    let (mut from, mut bytes) = (record.spaces.len(), 0);
    while from > 1 {
        bytes += record.spaces[from - 1].bytes();
        if bytes > PAGE_BYTES {
            break;
        }
        from -= 1;
    }
    SpacePage { entries: record.spaces.split_off(from) }
}
