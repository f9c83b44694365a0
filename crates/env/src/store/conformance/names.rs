//! Conformance checks of names: links, unlinks and renames, and their refusals; a file is deleted
//! when it loses its last name, and the names of a deleted file are free.

use std::sync::Arc;

use super::actions::{assert_contents, commit, named, read, refused, sealed, try_commit};
use super::suite::Check;
use crate::Store;
use crate::store::StoreError;

pub(super) const CHECKS: &[Check] = &[
    ("a file is found by each of its names", several_names),
    ("a name belongs to one file", taken_name),
    ("a file goes with its last name", last_name),
    ("a rename moves a name", rename_moves),
    ("a rename replaces the file of the new name", rename_replaces),
    ("a replaced file lives on by another name", replaced_keeps_other_name),
    ("a deleted file's names are free", delete_frees_names),
    ("a name that does not exist is refused", unknown_name),
];

fn names_of(store: &Arc<dyn Store>, id: crate::FileId) -> Vec<String> {
    store.info(id).expect("a file").names
}

fn several_names(store: &Arc<dyn Store>) {
    let id = named(store, "dir/b", b"bytes");
    commit(store, |t| t.link("dir/c", id).link("a", id));
    assert_eq!(names_of(store, id), ["a", "dir/b", "dir/c"], "names in order");
    for name in ["a", "dir/b", "dir/c"] {
        assert_eq!(store.lookup(name), Some(id));
    }
    assert_eq!(store.lookup("dir"), None);
}

fn taken_name(store: &Arc<dyn Store>) {
    let id = named(store, "a", b"first");
    let other = sealed(store, b"second");
    refused!(try_commit(store, |t| t.link("a", other)), StoreError::NameTaken(_));
    refused!(try_commit(store, |t| t.link("a", id)), StoreError::NameTaken(_));
    refused!(try_commit(store, |t| t.link("b", other).link("b", id)), StoreError::NameTaken(_));
    assert_eq!(store.lookup("a"), Some(id));
    assert_eq!(store.lookup("b"), None);
}

fn last_name(store: &Arc<dyn Store>) {
    let id = named(store, "a", b"bytes");
    commit(store, |t| t.link("b", id));
    commit(store, |t| t.unlink("a"));
    assert_contents(store, id, b"bytes");
    assert_eq!((store.lookup("a"), store.lookup("b")), (None, Some(id)));
    let reader = store.open(id).expect("the file opens");
    commit(store, |t| t.unlink("b"));
    assert!(store.info(id).is_none());
    assert!(store.list().is_empty());
    assert!(read(&*reader, 0, 5).expect("a read of a deleted file") == b"bytes");
}

fn rename_moves(store: &Arc<dyn Store>) {
    let id = named(store, "a", b"bytes");
    commit(store, |t| t.rename("a", "dir/b"));
    assert_eq!((store.lookup("a"), store.lookup("dir/b")), (None, Some(id)));
    assert_eq!(names_of(store, id), ["dir/b"]);
    commit(store, |t| t.rename("dir/b", "dir/b"));
    assert_eq!(names_of(store, id), ["dir/b"], "a rename to the same name");
    commit(store, |t| t.rename("dir/b", "c").rename("c", "a"));
    assert_eq!(names_of(store, id), ["a"]);
}

fn rename_replaces(store: &Arc<dyn Store>) {
    let (old, new) = (named(store, "current", b"old"), named(store, "temporary", b"new"));
    commit(store, |t| t.rename("temporary", "current"));
    assert_eq!((store.lookup("current"), store.lookup("temporary")), (Some(new), None));
    assert!(store.info(old).is_none(), "the replaced file had no other name");
    assert_contents(store, new, b"new");
}

fn replaced_keeps_other_name(store: &Arc<dyn Store>) {
    let (old, new) = (named(store, "current", b"old"), named(store, "temporary", b"new"));
    commit(store, |t| t.link("backup", old));
    commit(store, |t| t.rename("temporary", "current"));
    assert_eq!((store.lookup("current"), store.lookup("backup")), (Some(new), Some(old)));
    assert_eq!(names_of(store, old), ["backup"]);
    assert_contents(store, old, b"old");
}

fn delete_frees_names(store: &Arc<dyn Store>) {
    let id = named(store, "a", b"bytes");
    commit(store, |t| t.link("b", id));
    commit(store, |t| t.delete(id));
    assert_eq!((store.lookup("a"), store.lookup("b")), (None, None));
    let other = named(store, "a", b"other");
    assert_eq!(store.lookup("a"), Some(other));
}

fn unknown_name(store: &Arc<dyn Store>) {
    refused!(try_commit(store, |t| t.unlink("a")), StoreError::NameNotFound(_));
    refused!(try_commit(store, |t| t.rename("a", "b")), StoreError::NameNotFound(_));
    refused!(try_commit(store, |t| t.rename("a", "a")), StoreError::NameNotFound(_));
    refused!(try_commit(store, |t| t.link("a", crate::FileId(99))), StoreError::NotFound(_));
    assert_eq!(store.lookup("a"), None);
}
