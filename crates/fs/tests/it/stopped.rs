//! A store whose journal has failed: its last write may be on the medium all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, FileId, Lba, ZoneId};
use terrace_fs::{Fs, MountOptions};
use terrace_zone::{
    Completion, Device, DeviceError, DeviceLayer, Emulator, Geometry, Request, Ticket,
};

use crate::cuts::facts::{note, pattern};
use crate::drive::{formatted, shapes_without_zones};

/// A drive that writes and says that it has not, for one cause.
struct Liar {
    drive: Arc<Emulator>,
    /// The ticket of the write that is to be denied; [`ANY`] for the next one, 0 for none.
    denied: AtomicU64,
}

const ANY: u64 = u64::MAX;

impl DeviceLayer for Liar {
    fn below(&self) -> &dyn Device {
        &*self.drive
    }

    fn submit(&self, request: Request) -> Ticket {
        let is_journal =
            request.cause == Cause::Journal && matches!(request.op, terrace_zone::Op::Write { .. });
        let ticket = self.drive.submit(request);
        if is_journal && self.denied.load(Ordering::Relaxed) == ANY {
            self.denied.store(ticket.0, Ordering::Relaxed);
        }
        ticket
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        let denied = self.denied.load(Ordering::Relaxed) == ticket.0;
        let completion = self.drive.wait(ticket);
        if denied {
            self.denied.store(0, Ordering::Relaxed);
            let (zone, lba, operation) = (ZoneId(2), Lba(0), "write");
            return Err(DeviceError::Medium { zone, lba, operation });
        }
        completion
    }
}

fn create(fs: &Fs) -> Result<Box<dyn FileWriter>, StoreError> {
    fs.create(&CreateOptions {
        kind: FileKind::Table,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    })
}

fn write(fs: &Fs, len: usize) -> Result<Box<dyn FileWriter>, StoreError> {
    let mut writer = create(fs)?;
    writer.append(&pattern(writer.id().0, 0, len))?;
    writer.finish()?;
    Ok(writer)
}

fn contents(fs: &Fs, id: FileId) -> Vec<u8> {
    let reader = fs.open(id).expect("a file");
    let mut bytes = vec![0; reader.len() as usize];
    reader.read_at(0, &mut bytes, Cause::Read).expect("its bytes");
    bytes
}

#[test]
fn nothing_is_overwritten_that_a_commit_of_unknown_outcome_names() {
    let zoned = ("zones", Geometry::uniform(ByteCount::kib(256), 32));
    for (name, geometry) in shapes_without_zones().into_iter().chain([zoned]) {
        write_on_after_such_a_commit(name, geometry);
    }
}

fn write_on_after_such_a_commit(name: &str, geometry: Geometry) {
    const LEN: usize = 300_000;
    let drive = formatted(geometry, 1);
    let liar = Arc::new(Liar { drive: Arc::clone(&drive), denied: AtomicU64::new(0) });
    let fs = Fs::mount(Arc::clone(&liar) as Arc<dyn Device>, &MountOptions::default());
    let fs = fs.expect("a mount");
    let old = write(&fs, LEN).expect("a table");
    let mut transaction = Transaction::new();
    transaction.seal(old.id(), note("old"));
    fs.commit(transaction).expect("a commit");

    let new = write(&fs, LEN).expect("a table");
    let id = new.id();
    liar.denied.store(ANY, Ordering::Relaxed);
    let mut transaction = Transaction::new();
    transaction.seal(id, note("new")).delete(old.id());
    let error = fs.commit(transaction).expect_err("the journal is told that it has failed");
    assert!(matches!(error, StoreError::Stopped(_)), "{error}");
    drop((old, new));
    // Writers go on as far as they are let.
    for _ in 0..40 {
        if let Err(error) = write(&fs, LEN) {
            assert!(matches!(error, StoreError::Stopped(_)), "{error}");
        }
    }
    fs.unmount();
    drop(fs);

    let fs = Fs::mount(drive, &MountOptions::default()).expect("a mount");
    assert!(contents(&fs, id) == pattern(id.0, 0, LEN), "{name}: the table was overwritten");
    fs.unmount();
}
