//! Joint reads: one request for parts of files that lie one after the other.

use std::sync::Arc;

use terrace_env::store::{
    CreateOptions, FileKind, FileReader, GroupOptions, JointRead, PlacementGroup, PlacementHint,
    Rank, Store, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId};
use terrace_fs::{BLOCK, CachePolicy, Fs};
use terrace_zone::Geometry;
use terrace_zone::emulator::{FaultPlan, RequestKind};

use crate::cuts::facts::{note, pattern};
use crate::drive::{formatted, mount, shapes_without_zones};

const HINT: PlacementHint = PlacementHint { level: Some(2), stream: 0 };
const LENS: [u64; 3] = [300_001, 81_920, 150_000];

fn table(fs: &Fs, group: Option<&PlacementGroup>, len: u64) -> FileId {
    let mut file = fs
        .create(&CreateOptions {
            kind: FileKind::Table,
            hint: HINT,
            size: Some(ByteCount(len)),
            rank: Rank::Compaction,
            reservation: None,
            group,
            offload: false,
            cause: Cause::Compaction,
        })
        .expect("a file");
    let id = file.id();
    file.append(&pattern(id.0, 0, len as usize)).expect("an append");
    file.finish().expect("an end");
    let mut transaction = Transaction::new();
    transaction.seal(id, note("of a set"));
    fs.commit(transaction).expect("a commit");
    id
}

/// A set of three tables, and another table, which does not follow it.
fn set_and_another(fs: &Fs) -> [FileId; 4] {
    let group = fs
        .begin_group(&GroupOptions {
            kind: FileKind::Table,
            hint: HINT,
            size: ByteCount(LENS.iter().sum::<u64>() + 3 * BLOCK as u64),
            rank: Rank::Compaction,
            reservation: None,
            cause: Cause::Compaction,
        })
        .expect("a group");
    let [first, second, third] = LENS.map(|len| table(fs, Some(&group), len));
    drop(group);
    let between = table(fs, None, 10_000);
    let another = table(fs, None, 20_000);
    let mut transaction = Transaction::new();
    transaction.delete(between);
    fs.commit(transaction).expect("a commit");
    [first, second, third, another]
}

/// Readers of the files, and a joint read of the first one from byte 5,000 on, of the second one
/// up to where an index might begin, and of the files still to be asked for.
fn read(fs: &Fs, files: &[FileId; 4], most: u64) -> (Vec<Arc<dyn FileReader>>, Option<JointRead>) {
    let readers: Vec<_> = files.iter().map(|id| fs.open(*id).expect("a file")).collect();
    let behind = [(files[1], 0..70_000), (files[2], 0..LENS[2]), (files[3], 0..20_000)];
    let read = readers[0].read_joint(5_000..300_001, &behind, ByteCount(most), Cause::Compaction);
    (readers, read)
}

fn compare(files: &[FileId; 4], read: &JointRead) {
    let parts = [(5_000, 295_001), (0, 70_000), (0, LENS[2])];
    for ((start, (from, len)), id) in read.starts.iter().zip(parts).zip(files) {
        let found = &read.bytes[*start..start + len as usize];
        assert!(found == &pattern(id.0, from, len as usize)[..], "file {id}");
    }
}

#[test]
fn a_set_is_read_by_one_request_and_what_lies_elsewhere_is_not_with_it() {
    for (name, shape) in shapes_without_zones() {
        let fs = mount(formatted(shape, 1));
        let files = set_and_another(&fs);
        let before = fs.io().reads[Cause::Compaction as usize];
        let (_readers, whole) = read(&fs, &files, 1 << 20);
        let whole = whole.expect("a joint read");
        assert_eq!(whole.starts.len(), 3, "{name}");
        compare(&files, &whole);
        let (_readers, less) = read(&fs, &files, 400_000);
        let less = less.expect("a joint read of less");
        assert_eq!(less.starts.len(), 2, "{name}");
        assert!(less.bytes.len() <= 400_000, "{name}");
        compare(&files, &less);
        assert_eq!(fs.io().reads[Cause::Compaction as usize] - before, 2, "{name}");
        assert!(read(&fs, &files, 200_000).1.is_none(), "{name}: more than there may be");
        fs.unmount();
    }
}

#[test]
fn files_that_were_deleted_or_trimmed_are_read_as_their_readers_see_them_or_not_at_all() {
    for (name, shape) in shapes_without_zones() {
        let fs = mount(formatted(shape, 2));
        let files = set_and_another(&fs);
        let (readers, _) = read(&fs, &files, 1 << 20);
        let mut transaction = Transaction::new();
        transaction.trim(files[0], 0, 40_000).delete(files[1]);
        fs.commit(transaction).expect("a commit");
        for id in 0..20 {
            table(&fs, None, 30_000 + id);
        }
        let behind = [(files[1], 0..70_000), (files[2], 0..LENS[2])];
        let most = ByteCount::mib(1);
        let read = readers[0].read_joint(5_000..300_001, &behind, most, Cause::Compaction);
        let read = read.unwrap_or_else(|| panic!("{name}: the reader has it"));
        assert_eq!(read.starts.len(), 3, "{name}");
        compare(&files, &read);
        drop(readers);
        let reader = fs.open(files[0]).expect("the rest of it");
        let read = |from| reader.read_joint(from..300_001, &behind, most, Cause::Compaction);
        assert!(read(5_000).is_none(), "{name}: trimmed");
        assert_eq!(read(45_000).expect("the rest").starts.len(), 1, "{name}");
        fs.unmount();
    }
}

#[test]
fn on_zones_with_a_file_cache_and_where_the_device_fails_there_is_none() {
    let zoned = Geometry::uniform(ByteCount::mib(1), 40);
    let fs = mount(formatted(zoned, 3));
    let files = set_and_another(&fs);
    assert!(read(&fs, &files, 1 << 20).1.is_none());
    fs.unmount();

    let (_, plain) = shapes_without_zones().remove(0);
    let drive = formatted(plain, 4);
    let fs = mount(&drive);
    let files = set_and_another(&fs);
    drive.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Read, 0)));
    assert!(read(&fs, &files, 1 << 20).1.is_none(), "the first read fails");
    assert!(read(&fs, &files, 1 << 20).1.is_some());
    fs.set_cache(ByteCount::mib(1), CachePolicy::default());
    assert!(read(&fs, &files, 1 << 20).1.is_none());
    fs.unmount();
}
