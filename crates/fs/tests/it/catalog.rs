//! Tests of the effect of each record on the catalog, and of the space it gives back.

use std::sync::Arc;

use terrace_env::store::{Annotation, FileKind, StoreError};
use terrace_env::{DeviceId, FileId};
use terrace_fs::catalog::{Catalog, Effects, Extent, Freed, Record};
use terrace_fs::{AddressSpace, BlockAddr};

fn extent(start: u64, blocks: u32) -> Extent {
    Extent { first: BlockAddr::new(DeviceId(0), start), blocks, crc: Some(1) }
}

fn annotation() -> Arc<Annotation> {
    Arc::default()
}

fn seal(id: u64, kind: FileKind, blocks: u64, extents: &[Extent]) -> Record {
    let (id, extents, annotation) = (FileId(id), extents.to_vec(), annotation());
    Record::Seal { id, kind, size: blocks * 4096, extents, epoch: 1, annotation }
}

fn create(id: u64, kind: FileKind, extents: &[Extent]) -> Record {
    let (id, extents, annotation) = (FileId(id), extents.to_vec(), annotation());
    let blocks: u64 = extents.iter().map(|extent| u64::from(extent.blocks)).sum();
    let size = if kind == FileKind::Log { 0 } else { blocks * 4096 };
    Record::Create { id, kind, size, extents, epoch: 1, annotation }
}

fn link(name: &str, id: u64) -> Record {
    Record::Link { name: name.into(), id: FileId(id) }
}

fn unlink(name: &str) -> Record {
    Record::Unlink { name: name.into(), id: FileId::STORE }
}

fn rename(from: &str, to: &str) -> Record {
    Record::Rename { from: from.into(), to: to.into(), id: FileId::STORE, replaced: None }
}

fn with(records: impl IntoIterator<Item = Record>) -> Catalog {
    let mut catalog = Catalog::new(AddressSpace::plain());
    stage(&mut catalog, records).expect("records that fit");
    catalog
}

fn stage(
    catalog: &mut Catalog,
    records: impl IntoIterator<Item = Record>,
) -> Result<Effects, StoreError> {
    catalog.stage(&mut records.into_iter().collect::<Vec<_>>())
}

fn blocks(freed: &[Freed]) -> Vec<(u64, u32)> {
    let extents = freed.iter().flat_map(|freed| &freed.extents);
    extents.map(|extent| (extent.start(), extent.blocks)).collect()
}

fn names(catalog: &Catalog) -> Vec<(&str, u64)> {
    catalog.names(..).map(|(name, id)| (name, id.0)).collect()
}

fn gone(effects: &Effects) -> Vec<(FileId, FileKind)> {
    effects.deleted.iter().map(|gone| (gone.file, gone.kind)).collect()
}

#[test]
fn a_file_goes_with_its_last_name_and_gives_back_its_blocks() {
    let mut catalog =
        with([seal(1, FileKind::Table, 4, &[extent(0, 4)]), link("a", 1), link("b", 1)]);
    let first = stage(&mut catalog, [unlink("a")]).expect("a name that is there");
    assert!(first.is_empty() && catalog.get(FileId(1)).is_some());
    let last = stage(&mut catalog, [unlink("b")]).expect("a name that is there");
    assert_eq!(blocks(&last.freed), [(0, 4)]);
    assert_eq!(gone(&last), [(FileId(1), FileKind::Table)]);
    assert!(catalog.is_empty() && names(&catalog).is_empty());
}

#[test]
fn a_rename_replaces_whoever_has_the_name() {
    let mut catalog = with([
        seal(1, FileKind::Table, 1, &[extent(0, 1)]),
        seal(2, FileKind::Table, 1, &[extent(1, 1)]),
        link("old", 1),
        link("new", 2),
    ]);
    let effects = stage(&mut catalog, [rename("old", "new")]).expect("a rename");
    assert_eq!(gone(&effects), [(FileId(2), FileKind::Table)]);
    assert_eq!(names(&catalog), [("new", 1)]);
    assert!(stage(&mut catalog, [rename("new", "new")]).expect("nothing to do").is_empty());
    assert_eq!(names(&catalog), [("new", 1)]);
    let error = stage(&mut catalog, [rename("gone", "x")]).expect_err("no such name");
    assert!(matches!(error, StoreError::NameNotFound(name) if name == "gone"));
}

#[test]
fn a_replaced_file_with_another_name_lives_on() {
    let mut catalog = with([
        seal(1, FileKind::Table, 1, &[extent(0, 1)]),
        seal(2, FileKind::Table, 1, &[extent(1, 1)]),
        link("old", 1),
        link("new", 2),
        link("other", 2),
    ]);
    assert!(stage(&mut catalog, [rename("old", "new")]).expect("a rename").is_empty());
    assert_eq!(names(&catalog), [("new", 1), ("other", 2)]);
}

#[test]
fn a_trim_gives_back_whole_blocks_and_leaves_a_hole() {
    let mut catalog = with([seal(1, FileKind::Table, 8, &[extent(0, 4), extent(10, 4)])]);
    let effects = stage(&mut catalog, [Record::Trim { id: FileId(1), from: 2, to: 6 }]);
    assert_eq!(blocks(&effects.expect("a trim").freed), [(2, 2), (10, 2)]);
    let again = stage(&mut catalog, [Record::Trim { id: FileId(1), from: 2, to: 6 }]);
    assert!(again.expect("nothing is left there").is_empty());
    let file = catalog.get(FileId(1)).expect("the file");
    assert_eq!((file.extents.blocks(), file.size), (4, 8 * 4096));
}

#[test]
fn a_sealed_log_gives_back_the_rest_of_its_lease_as_never_used() {
    let mut catalog = with([create(1, FileKind::Log, &[extent(0, 100)])]);
    let more = Record::Extend { id: FileId(1), end: 90, extent: extent(200, 50) };
    let effects = stage(&mut catalog, [more]).expect("a further lease");
    assert_eq!((blocks(&effects.unleased), effects.freed.len()), (vec![(90, 10)], 0));
    let all = [extent(0, 90), extent(200, 5)];
    let effects = stage(&mut catalog, [seal(1, FileKind::Log, 3, &all)]).expect("a seal");
    assert_eq!((blocks(&effects.unleased), effects.freed.len()), (vec![(205, 45)], 0));
}

#[test]
fn a_resized_client_file_gives_back_what_it_replaces() {
    let mut catalog = with([create(1, FileKind::Client, &[extent(0, 2)])]);
    let id = FileId(1);
    let tail = Record::Resize { id, size: 5 * 4096 - 1, from: 1, extents: vec![extent(9, 4)] };
    assert_eq!(blocks(&stage(&mut catalog, [tail]).expect("a new tail").freed), [(1, 1)]);
    let none = Record::Resize { id, size: 0, from: 0, extents: Vec::new() };
    assert_eq!(blocks(&stage(&mut catalog, [none]).expect("empty").freed), [(0, 1), (9, 4)]);
    let hole = Record::Resize { id, size: 4096, from: 3, extents: vec![extent(20, 1)] };
    stage(&mut catalog, [hole]).expect_err("a file has no holes but by trims");
}

#[test]
fn an_extent_is_moved_only_while_it_is_where_it_was() {
    let mut catalog = with([seal(1, FileKind::Table, 4, &[extent(0, 4)])]);
    let id = FileId(1);
    let to = |start| Record::Move { id, at: 0, old: extent(0, 4), new: vec![extent(start, 4)] };
    let effects = stage(&mut catalog, [to(50)]).expect("a move");
    assert_eq!(blocks(&effects.freed), [(0, 4)]);
    let error = stage(&mut catalog, [to(60)]).expect_err("it is elsewhere by now");
    assert!(matches!(error, StoreError::WrongState { .. }), "{error}");
}

#[test]
fn records_that_do_not_fit_are_refused_with_what_was_there_before() {
    let before = with([
        create(1, FileKind::Log, &[extent(0, 10)]),
        seal(2, FileKind::Table, 1, &[extent(20, 1)]),
        create(3, FileKind::Client, &[]),
        link("taken", 2),
    ]);
    let id = FileId(1);
    let misfits = [
        create(2, FileKind::Table, &[]),
        create(0, FileKind::Table, &[]),
        seal(2, FileKind::Table, 1, &[extent(20, 1)]),
        seal(3, FileKind::Table, 0, &[]),
        seal(9, FileKind::Table, 2, &[extent(30, 1)]),
        seal(9, FileKind::Table, 0, &[extent(30, 1)]),
        seal(9, FileKind::Table, 0, &[extent(30, 0)]),
        Record::Trim { id, from: 0, to: 1 },
        Record::Delete { id: FileId(77) },
        Record::Annotate { id: FileId(77), annotation: annotation() },
        link("taken", 3),
        link("", 3),
        link("new", 77),
        unlink("nobody"),
        Record::Extend { id, end: 11, extent: extent(40, 1) },
        Record::Extend { id: FileId(2), end: 1, extent: extent(40, 1) },
        Record::LogEnd { id, end: 11, size: 0, sequence: 1, epoch: 2 },
        Record::LogEnd { id, end: 1, size: 0, sequence: 0, epoch: 2 },
        Record::Move { id, at: 0, old: extent(0, 10), new: vec![extent(60, 10)] },
        create(u64::MAX, FileKind::Table, &[]),
    ];
    for misfit in misfits {
        let mut catalog = before.clone();
        // All records before it in the transaction are undone with it.
        let good = [link("another", 2), rename("another", "third"), Record::Delete { id }];
        let result = stage(&mut catalog, good.into_iter().chain([misfit.clone()]));
        let alone = stage(&mut before.clone(), [misfit.clone()]);
        assert!(alone.is_err() && result.is_err(), "{misfit:?}");
        assert_eq!(catalog, before, "{misfit:?}");
    }
}
