//! [`SpaceChanges`]: key spaces are made, found and dropped.
//!
//! - A change commits the store's annotation and at most one [page](super::space_page) of the list
//!   with it, so its size does not depend on the number of key spaces.
//! - A key space is dropped in three steps (`docs/format/annotation.md`):
//!   1. A transaction takes its id from the list to the *dropped* ones. From here on the key space
//!      does not exist.
//!   2. A range delete over all of its keys hides what it held.
//!   3. Once that is durable, a transaction removes the id from the dropped ones.
//! - If step 2 or 3 fails, the call fails, though the key space is gone. The next drop of a key
//!   space that exists tries again, and so does the next opening for writing.
//! - An earlier version kept the whole list in the store's annotation. The first change here moves
//!   what is beyond [`PAGE_BYTES`] to pages, [`MOVED_AT_ONCE`] pages in each transaction.
//!
//! Threads: any. A change has the turn of the [tree](super::tree).

use std::sync::Arc;

use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId};

use super::commit::Committer;
use super::space_list::{SpaceEdit, SpaceHome};
use super::space_page::{PAGE_BYTES, SpacePage, entry_bytes};
use super::store_record::{FEATURE_RANGE_DELETES, SPACE_NAME_BYTES_MAX, StoreRecord};
use super::tree::{CommitTurn, Tree};
use crate::batch::Batch;
use crate::lifetime_sums::LifetimeSums;
use crate::{Bounds, Error, KeySpaceId};

/// Pages that one transaction moves at most: each holds a file open.
const MOVED_AT_ONCE: usize = 64;
/// The largest id cannot be given out: there has to be one behind it.
const SPACES_END: u32 = u32::MAX;

/// See the [module](self).
pub(crate) struct SpaceChanges {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) sums: Arc<LifetimeSums>,
}

impl SpaceChanges {
    /// The key space of this name, made if there is none.
    pub(crate) fn create(&self, name: &str) -> Result<KeySpaceId, Error> {
        if name.is_empty() || name.len() > SPACE_NAME_BYTES_MAX {
            return Err(Error::KeySpaceName { name: name.to_owned() });
        }
        let turn = self.committer.take_turn();
        self.tree.check_open()?;
        if let Some(id) = self.find(name) {
            return Ok(id);
        }
        self.move_to_pages(&turn)?;
        let mut record = self.record_with_lifetime();
        let (id, name): (_, Arc<str>) = (KeySpaceId(record.next_space), name.into());
        if id.0 == SPACES_END {
            let message = format!("a key space: expected an id below {id}, found all given out");
            return Err(StoreError::Invalid(message).into());
        }
        record.next_space += 1;
        let mut transaction = Transaction::new();
        let mut writer = None;
        let home = if listed_bytes(&record) + entry_bytes(&name) <= PAGE_BYTES {
            record.spaces.push((id, (*name).to_owned()));
            SpaceHome::Record
        } else if let Some(file) = self.tree.with_spaces(|list| list.page_with_room(&name)) {
            let mut page = self.tree.with_spaces(|list| list.page(file));
            page.entries.push((id, Arc::clone(&name)));
            transaction.annotate(file, page.annotation());
            SpaceHome::Page(file)
        } else {
            let page = SpacePage { entries: vec![(id, Arc::clone(&name))] };
            let created = writer.insert(self.create_page()?);
            transaction.seal(created.id(), page.annotation());
            record.pages += 1;
            SpaceHome::Page(created.id())
        };
        self.commit_spaces(&turn, record, transaction, &SpaceEdit::Made(id, name, home))?;
        Ok(id)
    }

    /// The key space of this name.
    pub(crate) fn find(&self, name: &str) -> Option<KeySpaceId> {
        self.tree.with_spaces(|list| list.find(name))
    }

    /// Drops the key space of this name. Returns whether there was one. The caller has the lead of
    /// the writes: no conditional write is checked before the drop, and written after it.
    /// Afterwards it [hides](Self::hide_dropped) the entries of the key space.
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
                page.entries.retain(|(other, _)| *other != id);
                if page.entries.is_empty() {
                    transaction.delete(file);
                    record.pages -= 1;
                } else {
                    transaction.annotate(file, page.annotation());
                }
            }
            Some(SpaceHome::Record) | None => record.spaces.retain(|(other, _)| *other != id),
        }
        self.commit_spaces(&turn, record, transaction, &SpaceEdit::Dropped(id))?;
        Ok(true)
    }

    /// Hides what dropped key spaces held, where that has not been done yet. `write` makes a batch
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

    /// Moves key spaces from the store's annotation to pages, where an earlier version has listed
    /// more there than now belong.
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

    /// An empty file, whose annotation will be a page. It takes no space of its own.
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
        self.store.commit(transaction)?;
        turn.show_spaces(record, edit);
        Ok(())
    }
}

/// Bytes of the key spaces that the store's own annotation lists.
fn listed_bytes(record: &StoreRecord) -> usize {
    record.spaces.iter().map(|(_, name)| entry_bytes(name)).sum()
}

/// Takes the last key spaces out of the store's annotation: as many as a page holds, and never the
/// default one.
fn last_page(record: &mut StoreRecord) -> SpacePage {
    let (mut from, mut bytes) = (record.spaces.len(), 0);
    while from > 1 {
        bytes += entry_bytes(&record.spaces[from - 1].1);
        if bytes > PAGE_BYTES {
            break;
        }
        from -= 1;
    }
    let moved = record.spaces.split_off(from).into_iter();
    SpacePage { entries: moved.map(|(id, name)| (id, name.into())).collect() }
}
