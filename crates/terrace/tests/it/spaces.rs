//! Thousands of key spaces: the cost of creating, dropping and finding one does not depend on their
//! number, on the medium as well. A copy and a later opening have all of them. A store of an
//! earlier version, which listed them in one place, takes further ones.

use std::sync::Arc;

use terrace::{ByteCount, Db, ErrorKind, FormatOptions, MemoryStore, Store};
use terrace_env::store::{Annotation, FileKind, Transaction};
use terrace_env::{Cause, FileId, runner};

use crate::devices::{drive, options};

/// Bytes of metadata that the store has written.
fn metadata(db: &Db) -> u64 {
    db.stats().io.written(Cause::Journal).0
}

fn name(number: u32) -> String {
    format!("space {number:05}")
}

/// Bytes of metadata for the creation of `spaces` key spaces, and then for the drop of half of
/// them.
fn cost_of(spaces: u32) -> (u64, u64) {
    let device = drive(ByteCount::mib(1), 96, 1);
    let db = Db::create_device(device.clone(), &FormatOptions::default(), options()).unwrap();
    let before = metadata(&db);
    (0..spaces).for_each(|number| drop(db.create_key_space(&name(number)).unwrap()));
    let made = metadata(&db);
    for number in (0..spaces).step_by(2) {
        assert!(db.drop_key_space(&name(number)).unwrap());
    }
    let dropped = metadata(&db);
    db.close().unwrap();
    let db = Db::open_device(device, options()).unwrap();
    let expected = (1..spaces).step_by(2).map(name);
    let found = db.key_spaces();
    assert_eq!(found[0], "default");
    assert!(found[1..].iter().cloned().eq(expected));
    (made - before, dropped - made)
}

#[test]
fn twice_as_many_key_spaces_take_twice_the_metadata_and_not_four_times() {
    runner::simulate(1, || {
        let (made, dropped) = cost_of(1000);
        let (made_twice, dropped_twice) = cost_of(2000);
        assert!(made_twice < made * 5 / 2, "{made} bytes, then {made_twice}");
        assert!(dropped_twice < dropped * 5 / 2, "{dropped} bytes, then {dropped_twice}");
        assert!(made_twice < 2000 * 8192, "{made_twice} bytes: two blocks for each");
    });
}

#[test]
fn a_copy_has_all_key_spaces_and_takes_more() {
    let db = Db::open(Arc::new(MemoryStore::new()), options()).unwrap();
    for number in 0..600 {
        let space = db.create_key_space(&name(number)).unwrap();
        space.put(b"key", &number.to_be_bytes()).unwrap();
    }
    assert!(db.drop_key_space(&name(300)).unwrap());
    let target = Arc::new(MemoryStore::new());
    db.checkpoint(target.clone()).unwrap();
    let last = db.create_key_space("last").unwrap().id();
    let copy = Db::open(target.clone(), options()).unwrap();
    assert_eq!(copy.create_key_space("last").unwrap().id(), last, "the next id");
    let check = |copy: &Db| {
        assert_eq!(copy.key_spaces(), db.key_spaces());
        let space = copy.key_space(&name(599)).unwrap();
        assert_eq!(space.get(b"key").unwrap().as_deref(), Some(&599_u32.to_be_bytes()[..]));
        let error = copy.key_space(&name(300)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownKeySpace);
        let text = error.to_string();
        assert!(text.contains(" and 585 more, found none") && text.len() < 1000, "{text}");
    };
    check(&copy);
    check(&reopened(copy, &target));
}

fn reopened(db: Db, store: &Arc<MemoryStore>) -> Db {
    db.close().unwrap();
    Db::open(store.clone(), options()).unwrap()
}

/// The store's own annotation as earlier versions wrote it: a list of all key spaces.
fn listed(annotation: &Annotation, spaces: u32) -> Annotation {
    let opaque = &annotation.opaque;
    // Version, kind, features, the next id; the number of key spaces, and the default one.
    let (head, default, rest) = (&opaque[..6], &opaque[14..29], &opaque[29..]);
    let mut old = head.to_vec();
    old.extend((spaces + 1).to_le_bytes());
    old.extend((spaces + 1).to_le_bytes());
    old.extend(default);
    for number in 0..spaces {
        let name = name(number);
        old.extend((number + 1).to_le_bytes());
        old.extend((name.len() as u32).to_le_bytes());
        old.extend(name.as_bytes());
    }
    old.extend(rest);
    Annotation { opaque: old, ..annotation.clone() }
}

#[test]
fn a_store_that_lists_ten_thousand_key_spaces_in_one_place_opens_and_takes_more() {
    const SPACES: u32 = 10_000;
    let store = Arc::new(MemoryStore::new());
    Db::open(store.clone(), options()).unwrap().close().unwrap();
    let own = store.info(FileId::STORE).unwrap().annotation;
    let mut transaction = Transaction::new();
    transaction.annotate(FileId::STORE, listed(&own, SPACES));
    store.commit(transaction).unwrap();

    let db = Db::open(store.clone(), options()).unwrap();
    assert_eq!(db.key_spaces().len() as u32, SPACES + 1);
    assert_eq!(db.create_key_space("new").unwrap().id().0, SPACES + 1);
    let own = store.info(FileId::STORE).unwrap().annotation.opaque.len();
    assert!(own < 4096, "{own} bytes");
    assert!(db.drop_key_space(&name(77)).unwrap());
    let db = reopened(db, &store);
    assert_eq!(db.key_spaces().len() as u32, SPACES + 1);
    assert_eq!(db.key_space(&name(9_999)).unwrap().id().0, 10_000);

    // Without further key spaces, earlier versions can read the store.
    for name in db.key_spaces().into_iter().skip(1) {
        assert!(db.drop_key_space(&name).unwrap());
    }
    db.flush().unwrap();
    db.compact_all().unwrap();
    let db = reopened(db, &store);
    assert_eq!(db.key_spaces(), ["default"]);
    let tables = store.list().into_iter().filter(|file| file.kind == FileKind::Table);
    assert_eq!(tables.count(), 0, "files that list no key space");
}
