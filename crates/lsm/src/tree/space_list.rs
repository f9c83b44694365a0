//! [`SpaceList`]: the key spaces of a store, by name and by id, and the place of each on the
//! medium: the store's own annotation, or a [page](super::space_page).
//!
//! - A look, an insertion and a removal take time that grows with the logarithm of the number of
//!   key spaces.
//! - At most [`PAGE_BYTES`] of key spaces are listed in one place, except in the annotation of a
//!   store that an earlier version wrote. A new key space goes to the place that was filled last
//!   while it has room, then to a page that is at most half full, then to a new page.
//! - [`SpaceList::of`] refuses pages that do not fit each other or the store's annotation: an id or
//!   a name that is listed twice, an id that was never given out or is being dropped, and a number
//!   of pages that is not the recorded one.
//!
//! It changes nothing on the medium. Its owner guards it by a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::FileId;

use super::space_page::{PAGE_BYTES, SpacePage, entry_bytes};
use super::store_record::StoreRecord;
use crate::Error;
use crate::key::KeySpaceId;

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
    Made(KeySpaceId, Arc<str>, SpaceHome),
    Dropped(KeySpaceId),
    /// Key spaces went from the store's annotation to pages.
    Moved(Vec<(FileId, SpacePage)>),
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct SpaceList {
    names: BTreeMap<Arc<str>, KeySpaceId>,
    spaces: BTreeMap<KeySpaceId, (Arc<str>, SpaceHome)>,
    pages: BTreeMap<FileId, SpacePage>,
    /// Pages that are at most half full.
    roomy: BTreeSet<FileId>,
    /// The page that the last new key space went to.
    filling: Option<FileId>,
}

impl SpaceList {
    /// The list that a store's annotation and its pages make.
    pub(crate) fn of(record: &StoreRecord, pages: Vec<(FileId, SpacePage)>) -> Result<Self, Error> {
        let mut list = Self::default();
        for (id, name) in &record.spaces {
            let region = "annotation of the store";
            list.insert_once(region, *id, &name.as_str().into(), SpaceHome::Record)?;
        }
        let (found, expected) = (pages.len(), record.pages as usize);
        if found != expected {
            let expected = format!("{expected} files that list key spaces");
            return Err(Error::corruption("annotation of the store", 0, expected, found));
        }
        for (file, page) in pages {
            let region = format!("annotation of key spaces {file}");
            for (id, name) in &page.entries {
                if id.0 >= record.next_space || record.dropped.binary_search(id).is_ok() {
                    let expected = "a key space that exists";
                    return Err(Error::corruption(region, 0, expected, id.0));
                }
                list.insert_once(&region, *id, name, SpaceHome::Page(file))?;
            }
            list.set_page(file, page);
        }
        Ok(list)
    }

    fn insert_once(
        &mut self,
        region: &str,
        id: KeySpaceId,
        name: &Arc<str>,
        home: SpaceHome,
    ) -> Result<(), Error> {
        let is_new_name = self.names.insert(Arc::clone(name), id).is_none();
        let is_new_id = self.spaces.insert(id, (Arc::clone(name), home)).is_none();
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
        self.spaces.get(&id).map(|(name, _)| &**name)
    }

    /// The place of this key space.
    pub(crate) fn home(&self, id: KeySpaceId) -> Option<SpaceHome> {
        self.spaces.get(&id).map(|(_, home)| *home)
    }

    /// All key spaces, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (KeySpaceId, &str)> {
        self.spaces.iter().map(|(id, (name, _))| (*id, &**name))
    }

    /// The page that is the annotation of this file; an empty one if there is none.
    pub(crate) fn page(&self, file: FileId) -> SpacePage {
        self.pages.get(&file).cloned().unwrap_or_default()
    }

    /// The page for a new key space of this name; `None` if no page has room.
    pub(crate) fn page_with_room(&self, name: &str) -> Option<FileId> {
        let has_room = |file: &FileId| {
            let page = self.pages.get(file);
            page.is_some_and(|page| page.bytes() + entry_bytes(name) <= PAGE_BYTES)
        };
        self.filling.filter(has_room).or_else(|| self.roomy.first().copied())
    }

    /// Brings the list up to a change that has been committed.
    pub(crate) fn apply(&mut self, edit: &SpaceEdit) {
        match edit {
            SpaceEdit::Made(id, name, home) => {
                self.names.insert(Arc::clone(name), *id);
                self.spaces.insert(*id, (Arc::clone(name), *home));
                if let SpaceHome::Page(file) = *home {
                    let mut page = self.page(file);
                    page.entries.push((*id, Arc::clone(name)));
                    self.set_page(file, page);
                    self.filling = Some(file);
                }
            }
            SpaceEdit::Dropped(id) => {
                let Some((name, home)) = self.spaces.remove(id) else { return };
                self.names.remove(&name);
                if let SpaceHome::Page(file) = home {
                    let mut page = self.page(file);
                    page.entries.retain(|(other, _)| other != id);
                    self.set_page(file, page);
                }
            }
            SpaceEdit::Moved(pages) => {
                for (file, page) in pages {
                    for (id, name) in &page.entries {
                        let home = SpaceHome::Page(*file);
                        self.spaces.insert(*id, (Arc::clone(name), home));
                    }
                    self.set_page(*file, page.clone());
                }
            }
        }
    }

    /// A page without key spaces is none.
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
        let entries = entries.iter().map(|(id, name)| (KeySpaceId(*id), (*name).into()));
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
            let name = format!("space {id:04}");
            let file = list.page_with_room(&name).unwrap_or_else(|| {
                pages += 1;
                FileId(pages)
            });
            list.apply(&SpaceEdit::Made(KeySpaceId(id), name.into(), SpaceHome::Page(file)));
            assert!(list.page(file).bytes() <= PAGE_BYTES);
        }
        let entries_in_page = (PAGE_BYTES / entry_bytes("space 0000")) as u64;
        assert_eq!(pages, 999_u64.div_ceil(entries_in_page));
        let doomed = (1..1000).filter(|id| id % 3 > 0);
        doomed.for_each(|id| list.apply(&SpaceEdit::Dropped(KeySpaceId(id))));
        assert_eq!((list.find("space 0001"), list.page_with_room("").is_some()), (None, true));
        for id in 1000..1400 {
            let name = format!("space {id:04}");
            let file = list.page_with_room(&name).expect("room in pages that were half emptied");
            list.apply(&SpaceEdit::Made(KeySpaceId(id), name.into(), SpaceHome::Page(file)));
        }
        (0..1400).for_each(|id| list.apply(&SpaceEdit::Dropped(KeySpaceId(id))));
        assert!(list.pages.is_empty() && list.roomy.is_empty() && list.iter().next().is_none());
    }
}
