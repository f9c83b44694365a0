//! Checkpoints: copies a store to a drive while another thread writes to it, and the copy into a
//! directory. The copy is of one moment. Then a backup, which is brought up to date.
//!
//! `cargo run -p terrace --example checkpoint`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use terrace::{ByteCount, Db, Emulator, FormatOptions, Geometry, Options};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[expect(clippy::disallowed_methods, reason = "a user of the library has threads of its own")]
fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let options = Options::default().memtable_size(ByteCount::mib(1));
    let db = Db::open_directory(place.path().join("store"), options.clone())?;
    for number in 0..50_000u64 {
        db.put(&number.to_be_bytes(), &[number as u8; 64])?;
    }

    // Another thread goes on writing, in order, while the copy is made.
    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(50_000)));
    let writer = {
        let (db, stop, written) = (db.clone(), Arc::clone(&stop), Arc::clone(&written));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let number = written.load(Ordering::Relaxed);
                db.put(&number.to_be_bytes(), &[number as u8; 64]).expect("a write");
                written.store(number + 1, Ordering::Release);
            }
        })
    };

    // A zoned drive as the target: it is formatted, and then holds a whole store or none.
    let drive = Arc::new(Emulator::in_memory(Geometry::uniform(ByteCount::mib(4), 64), 1)?);
    let least = written.load(Ordering::Acquire);
    let copied = db.checkpoint_device(drive.clone(), &FormatOptions::default())?;
    stop.store(true, Ordering::Relaxed);
    writer.join().expect("the writer");
    println!("copied {} tables of {}", copied.tables, copied.bytes);

    // The copy holds everything up to one moment, and nothing after it.
    let copy = Db::open_device(drive, options.clone())?;
    let count = copy.scan(..)?.count() as u64;
    let (last, _) = copy.scan(..)?.next_back().ok_or("a copy of something")??;
    assert_eq!(u64::from_be_bytes(last[..].try_into()?) + 1, count, "no gap");
    assert!(count >= least && count <= written.load(Ordering::Acquire));
    println!("the copy has {count} entries, the store {}", db.scan(..)?.count());

    // And back: into a new directory.
    copy.checkpoint_directory(place.path().join("restored"))?;
    let restored = Db::open_directory(place.path().join("restored"), options.clone())?;
    assert_eq!(restored.scan(..)?.count() as u64, count);
    restored.verify()?;

    // A backup remembers its source. The second one copies only new tables.
    let backup = place.path().join("backup");
    db.backup_directory(&backup)?;
    db.put(b"new", b"value")?;
    let again = db.backup_directory(&backup)?;
    println!("the second backup kept {} of {} tables", again.kept_tables, again.tables);
    // Opened for reading, it stays a backup.
    let backup = Db::open_directory(backup, options.read_only(true))?;
    assert_eq!(backup.get(b"new")?.as_deref(), Some(&b"value"[..]));
    for db in [backup, restored, copy, db] {
        db.close()?;
    }
    Ok(())
}
