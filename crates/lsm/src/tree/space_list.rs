//! [`SpaceList`]: the key spaces of a store, by name and by id, and the place of each on the
//! medium: the store's own annotation, or a [page](super::space_page).
//!
//! - A lookup, an insertion and a removal take time that grows with the logarithm of the number of
//!   key spaces.
//! - At most [`PAGE_BYTES`] of key spaces are listed in one place, except in the annotation of a
//!   store that an earlier version wrote. A new key space goes to the last filled place if that has
//!   room, else to a page that is at most half full, else to a new page.
//! - [`SpaceList::of`] refuses pages that do not agree with each other or with the store's
//!   annotation: an id or a name that is listed twice, an id that was never given out or is being
//!   dropped, and a number of pages that is not the recorded one.
//!
//! It changes nothing on the medium. Its owner guards it by a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::FileId;

use super::space_entry::KeySpaceEntry;
use super::space_page::{PAGE_BYTES, SpacePage};
use super::store_record::StoreRecord;
use crate::Error;
use crate::key::KeySpaceId;
use crate::options::KeySpaceOptions;

/// The place of a key space on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpaceHome {
    /// The store's own annotation.
    Record,
    /// A page: the annotation of this file.
    Page(FileId),
}

/// A change of the list that has been committed.
#[derive(Debug)]
pub(crate) enum SpaceEdit {
    Made(KeySpaceEntry, SpaceHome),
    Dropped(KeySpaceId),
    /// A key space has these options now.
    Shaped(KeySpaceId, KeySpaceOptions),
    /// Key spaces went from the store's annotation to pages.
    Moved(Vec<(FileId, SpacePage)>),
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct SpaceList {
    names: BTreeMap<Arc<str>, KeySpaceId>,
    spaces: BTreeMap<KeySpaceId, (KeySpaceEntry, SpaceHome)>,
    pages: BTreeMap<FileId, SpacePage>,
    /// Pages that are at most half full.
    roomy: BTreeSet<FileId>,
    /// The page that the last new key space went to.
    filling: Option<FileId>,
}

impl SpaceList {
    /// The list of a store's annotation and its pages.
    pub(crate) fn of(record: &StoreRecord, pages: Vec<(FileId, SpacePage)>) -> Result<Self, Error> {
        let mut list = Self::default();
        for space in &record.spaces {
            list.insert_once("annotation of the store", space, SpaceHome::Record)?;
        }
        let (found, expected) = (pages.len(), record.pages as usize);
        if found != expected {
            let expected = format!("{expected} files that list key spaces");
            return Err(Error::corruption("annotation of the store", 0, expected, found));
        }
        for (file, page) in pages {
            let region = format!("annotation of key spaces {file}");
            for space in &page.entries {
                let id = space.id;
                if id.0 >= record.next_space || record.dropped.binary_search(&id).is_ok() {
                    let expected = "a key space that exists";
                    return Err(Error::corruption(region, 0, expected, id.0));
                }
                list.insert_once(&region, space, SpaceHome::Page(file))?;
            }
            list.set_page(file, page);
        }
        Ok(list)
    }

    fn insert_once(
        &mut self,
        region: &str,
        space: &KeySpaceEntry,
        home: SpaceHome,
    ) -> Result<(), Error> {
        let KeySpaceEntry { id, name, .. } = space;
        let is_new_name = self.names.insert(Arc::clone(name), *id).is_none();
        let is_new_id = self.spaces.insert(*id, (space.clone(), home)).is_none();
        if is_new_name && is_new_id {
            return Ok(());
        }
        let got = format!("{id} {name:?} for a second time");
        Err(Error::corruption(region, 0, "each key space once", got))
    }

    /// The key space of this name.
    pub(crate) fn find(&self, name: &str) -> Option<KeySpaceId> {
        self.names.get(name).copied()
    }

    /// The name of this key space.
    pub(crate) fn name(&self, id: KeySpaceId) -> Option<&str> {
        self.spaces.get(&id).map(|(space, _)| &*space.name)
    }

    /// The place of this key space.
    pub(crate) fn home(&self, id: KeySpaceId) -> Option<SpaceHome> {
        self.spaces.get(&id).map(|(_, home)| *home)
    }

    /// All key spaces, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &KeySpaceEntry> {
        self.spaces.values().map(|(space, _)| space)
    }

    /// The page in the annotation of this file; an empty one if there is none.
    pub(crate) fn page(&self, file: FileId) -> SpacePage {
        self.pages.get(&file).cloned().unwrap_or_default()
    }

    /// The page for a new key space of `bytes`; `None` if no page has room.
    pub(crate) fn page_with_room(&self, bytes: usize) -> Option<FileId> {
        let has_room = |file: &FileId| {
            let page = self.pages.get(file);
            page.is_some_and(|page| page.bytes() + bytes <= PAGE_BYTES)
        };
        self.filling.filter(has_room).or_else(|| self.roomy.first().copied())
    }

    /// Applies a committed change.
    pub(crate) fn apply(&mut self, edit: &SpaceEdit) {
        match edit {
            SpaceEdit::Made(space, home) => {
                self.names.insert(Arc::clone(&space.name), space.id);
                self.spaces.insert(space.id, (space.clone(), *home));
                if let SpaceHome::Page(file) = *home {
                    let mut page = self.page(file);
                    page.entries.push(space.clone());
                    self.set_page(file, page);
                    self.filling = Some(file);
                }
            }
            SpaceEdit::Dropped(id) => {
                let Some((space, home)) = self.spaces.remove(id) else { return };
                self.names.remove(&space.name);
                if let SpaceHome::Page(file) = home {
                    let mut page = self.page(file);
                    page.entries.retain(|other| other.id != *id);
                    self.set_page(file, page);
                }
            }
            SpaceEdit::Shaped(id, options) => {
                let Some((space, home)) = self.spaces.get_mut(id) else { return };
                space.options = *options;
                if let SpaceHome::Page(file) = *home {
                    let mut page = self.page(file);
                    page.shape(*id, *options);
                    self.set_page(file, page);
                }
            }
            SpaceEdit::Moved(pages) => {
                for (file, page) in pages {
                    for space in &page.entries {
                        self.spaces.insert(space.id, (space.clone(), SpaceHome::Page(*file)));
                    }
                    self.set_page(*file, page.clone());
                }
            }
        }
    }

    /// Checks that the store's annotation, as committed, fits the list.
    pub(crate) fn check(&self, record: &StoreRecord) {
        debug_assert_eq!(self.pages.len(), record.pages as usize, "pages of key spaces");
        debug_assert_eq!(self.names.len(), self.spaces.len(), "each key space has a name");
        debug_assert!(
            self.spaces.keys().next_back().is_none_or(|last| last.0 < record.next_space),
            "{:?} has an id that is not given out",
            self.spaces.keys().next_back()
        );
        debug_assert!(
            record.spaces.iter().all(|space| self.home(space.id) == Some(SpaceHome::Record)),
            "the key spaces of the annotation are in the list"
        );
        debug_assert!(
            record.dropped.iter().all(|id| !self.spaces.contains_key(id)),
            "a key space that was dropped is not in the list"
        );
    }

    /// Sets a page; one without key spaces is removed.
    fn set_page(&mut self, file: FileId, page: SpacePage) {
        if !page.entries.is_empty() && page.bytes() <= PAGE_BYTES / 2 {
            self.roomy.insert(file);
        } else {
            self.roomy.remove(&file);
        }
        match page.entries.is_empty() {
            true => self.pages.remove(&file),
            false => self.pages.insert(file, page),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(entries: &[(u32, &str)]) -> SpacePage {
        let entries = entries.iter().map(|(id, name)| KeySpaceEntry::new(KeySpaceId(*id), *name));
        SpacePage { entries: entries.collect() }
    }

    fn record(pages: u32) -> StoreRecord {
        let dropped = vec![KeySpaceId(8)];
        StoreRecord { next_space: 10, pages, dropped, ..StoreRecord::new() }
    }

    #[test]
    fn pages_that_do_not_fit_each_other_are_corruption() {
        let list = |record: StoreRecord, pages: &[SpacePage]| {
            let files = (1..).map(FileId);
            SpaceList::of(&record, files.zip(pages.iter().cloned()).collect())
        };
        let (a, b) = (page(&[(1, "a"), (5, "e")]), page(&[(2, "b")]));
        let whole = list(record(2), &[a.clone(), b.clone()]).unwrap();
        assert_eq!(whole.iter().count(), 4);
        assert_eq!(whole.home(KeySpaceId(2)), Some(SpaceHome::Page(FileId(2))));
        for (pages, what) in [
            (vec![a.clone()], "a page is missing"),
            (vec![a.clone(), page(&[(5, "f")])], "an id twice"),
            (vec![a.clone(), page(&[(6, "e")])], "a name twice"),
            (vec![a.clone(), page(&[(6, "default")])], "a name of the record's"),
            (vec![a.clone(), page(&[(10, "z")])], "an id that was never given out"),
            (vec![a, page(&[(8, "z")])], "one that is being dropped"),
        ] {
            assert!(list(record(2), &pages).unwrap_err().is_corruption(), "{what}");
        }
    }

    #[test]
    fn pages_fill_up_and_those_with_holes_are_filled_again() {
        let mut list = SpaceList::of(&record(0), Vec::new()).unwrap();
        let mut pages = 0;
        for id in 1..1000 {
            let space = KeySpaceEntry::new(KeySpaceId(id), format!("space {id:04}"));
            let file = list.page_with_room(space.bytes()).unwrap_or_else(|| {
                pages += 1;
                FileId(pages)
            });
            list.apply(&SpaceEdit::Made(space, SpaceHome::Page(file)));
            assert!(list.page(file).bytes() <= PAGE_BYTES);
        }
        let entry_bytes = KeySpaceEntry::new(KeySpaceId(0), "space 0000").bytes();
        let entries_in_page = (PAGE_BYTES / entry_bytes) as u64;
        assert_eq!(pages, 999_u64.div_ceil(entries_in_page));
        let doomed = (1..1000).filter(|id| id % 3 > 0);
        doomed.for_each(|id| list.apply(&SpaceEdit::Dropped(KeySpaceId(id))));
        assert_eq!((list.find("space 0001"), list.page_with_room(8).is_some()), (None, true));
        for id in 1000..1400 {
            let space = KeySpaceEntry::new(KeySpaceId(id), format!("space {id:04}"));
            let room = list.page_with_room(space.bytes());
            let file = room.expect("room in pages that were half emptied");
            list.apply(&SpaceEdit::Made(space, SpaceHome::Page(file)));
        }
        (0..1400).for_each(|id| list.apply(&SpaceEdit::Dropped(KeySpaceId(id))));
        assert!(list.pages.is_empty() && list.roomy.is_empty() && list.iter().next().is_none());
    }
}
