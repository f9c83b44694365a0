//! Stores that release 0.1 wrote, kept whole in `tests/golden/stores`: each later version opens
//! them, finds all entries, and goes on writing.
//!
//! The kept files are never replaced. A new kind of store gets a new file: remove nothing, add its
//! maker to [`KEPT`], and run the tests once with `TERRACE_REGENERATE` set, which makes only
//! missing files.
//!
//! A kept store is an image of a drive, compressed by Zstandard.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace::{ByteCount, Compression, Db, Durability, FormatOptions, Options, Row, System};
use terrace_env::Uuid;
use terrace_zone::{Access, Device, Emulator, Geometry};

use crate::devices::{Contents, contents};

/// A kept store.
struct Kept {
    name: &'static str,
    row: Row,
    compression: Compression,
    /// Whether its first zones are conventional ones.
    conventional: bool,
}

const KEPT: [Kept; 3] = [
    Kept {
        name: "0.1-bluefs",
        row: Row::Bluefs,
        compression: Compression::Lz4,
        conventional: false,
    },
    Kept {
        name: "0.1-sliced",
        row: Row::Sliced,
        compression: Compression::Zstd,
        conventional: false,
    },
    Kept {
        name: "0.1-geardb",
        row: Row::Geardb,
        compression: Compression::None,
        conventional: true,
    },
];

const NUMBERS: &str = "numbers";

impl Kept {
    fn path(&self) -> PathBuf {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/stores");
        kept.join(format!("{}.zst", self.name))
    }

    /// Makes the store by the current code, and keeps it.
    fn make(&self) {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("drive.img");
        let conventional = self.conventional.then_some(0..2).into_iter().collect();
        let geometry = Geometry { conventional, ..Geometry::uniform(ByteCount::kib(128), 64) };
        let drive = Emulator::create_image(&image, geometry, Uuid([7; 16])).unwrap();
        let system = System::of(self.row);
        let options = options().compression(self.compression).system(system);
        let db = Db::create_device(Arc::new(drive), &FormatOptions::default(), options).unwrap();
        fill(&db);
        db.close().unwrap();
        let bytes = zstd::encode_all(&*std::fs::read(&image).unwrap(), 19).unwrap();
        std::fs::write(self.path(), bytes).unwrap();
    }

    /// A copy of the kept store, in a folder.
    fn copy(&self, folder: &Path) -> PathBuf {
        let kept = std::fs::read(self.path()).unwrap();
        let image = folder.join("drive.img");
        std::fs::write(&image, zstd::decode_all(&*kept).unwrap()).unwrap();
        image
    }
}

fn options() -> Options {
    Options::default().memory(ByteCount::mib(8)).memtable_size(ByteCount::kib(64))
}

fn key(number: u32) -> Vec<u8> {
    format!("key {number:05}").into_bytes()
}

fn value(number: u32, round: u32) -> Vec<u8> {
    format!("value {number} of round {round}, ").repeat(4).into_bytes()
}

/// Every kind of entry: in tables of several levels, in a memtable and its log, under a deleted
/// range, ingested, and in two key spaces; a third one was dropped.
fn fill(db: &Db) {
    for round in 0..3 {
        for number in (0..3000).filter(|number| number % 3 >= round) {
            db.put(&key(number), &value(number, round)).unwrap();
        }
        db.flush().unwrap();
    }
    for number in (0..3000).step_by(7) {
        db.delete(&key(number)).unwrap();
    }
    db.delete_range(key(1000)..key(1200)).unwrap();
    db.wait_idle().unwrap();
    let numbers = db.create_key_space(NUMBERS).unwrap();
    for number in 0..100_u32 {
        numbers.put(&number.to_be_bytes(), &number.to_le_bytes()).unwrap();
    }
    db.create_key_space("dropped").unwrap().put(b"key", b"value").unwrap();
    assert!(db.drop_key_space("dropped").unwrap());
    let mut ingest = db.ingest().unwrap();
    for number in 4000..4100 {
        ingest.put(&key(number), &value(number, 9)).unwrap();
    }
    ingest.finish().unwrap();
    let synced = db.with_durability(Durability::Synced);
    for number in 1100..1120 {
        synced.put(&key(number), &value(number, 5)).unwrap();
    }
    synced.delete(&key(2999)).unwrap();
}

/// The entries of [`fill`] in the default key space.
fn held() -> Contents {
    let mut held = Contents::new();
    for number in 0..3000 {
        held.insert(key(number), value(number, number % 3));
    }
    for number in (0..3000).step_by(7).chain(1000..1200).chain([2999]) {
        held.remove(&key(number));
    }
    held.extend((4000..4100).map(|number| (key(number), value(number, 9))));
    held.extend((1100..1120).map(|number| (key(number), value(number, 5))));
    held
}

#[test]
fn stores_of_release_0_1_open_and_are_written_on() {
    for kept in KEPT {
        if terrace_env::regenerates_goldens() && !kept.path().exists() {
            kept.make();
        }
        let folder = tempfile::tempdir().unwrap();
        let image = kept.copy(folder.path());
        let open =
            |access| -> Arc<dyn Device> { Arc::new(Emulator::open_image(&image, access).unwrap()) };
        let mut held = held();

        let db = Db::open_device(open(Access::ReadOnly), options().read_only(true)).unwrap();
        assert_eq!(db.system().row, kept.row);
        assert_eq!(db.table_options().compression, Some(kept.compression.into()));
        assert_eq!(contents(&db), held, "{}", kept.name);
        assert_eq!(db.key_spaces(), ["default", NUMBERS]);
        db.close().unwrap();

        let db = Db::open_device(open(Access::ReadWrite), options()).unwrap();
        assert_eq!(contents(&db), held, "{}", kept.name);
        let numbers = db.key_space(NUMBERS).unwrap();
        let found = numbers.scan(..).unwrap().map(Result::unwrap);
        let expected = (0..100_u32).map(|number| (number.to_be_bytes(), number.to_le_bytes()));
        let found = found.map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert!(found.eq(expected.map(|(key, value)| (key.to_vec(), value.to_vec()))));
        drop(numbers);
        for number in (0..3000).step_by(2) {
            db.put(&key(number), &value(number, 6)).unwrap();
            held.insert(key(number), value(number, 6));
        }
        db.delete_range(key(4050)..key(4060)).unwrap();
        held.retain(|found, _| !(key(4050)..key(4060)).contains(found));
        db.compact_all().unwrap();
        db.close().unwrap();

        let db = Db::open_device(open(Access::ReadWrite), options()).unwrap();
        db.verify().unwrap();
        assert_eq!(contents(&db), held, "{}", kept.name);
        db.close().unwrap();
    }
}
