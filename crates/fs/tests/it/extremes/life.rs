//! The life of a store whose numbers are extreme: the actions of a test, and the checks after them.

use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileKind, FileWriter, PlacementHint, Rank, StoreError, Transaction,
};
use terrace_env::{Cause, FileId, Store};
use terrace_fs::Access;

/// The most bytes that are read of a file: its size may be one of the extreme numbers.
const READ_MAX: u64 = 64 << 10;

/// How a store was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It opens for writing.
    Writes,
    /// It opens for reading alone.
    Reads,
    /// It does not open.
    Refused,
}

/// Opens the store of a case. The caller has to close it by dropping it.
pub(super) type Open<'a> = dyn Fn(Access) -> Result<Arc<dyn Store>, StoreError> + 'a;

/// Reads and writes a store. An error is a broken promise: of errors of the store none counts until
/// it has taken a commit.
pub(super) fn live(open: &Open<'_>) -> Result<Outcome, String> {
    let mut outcome = Outcome::Refused;
    if let Ok(store) = open(Access::ReadOnly) {
        read_all(&store);
        outcome = Outcome::Reads;
    }
    let mut acknowledged = Vec::new();
    for life in 0..3u8 {
        let Ok(store) = open(Access::ReadWrite) else { break };
        outcome = Outcome::Writes;
        for n in 0..3u8 {
            let bytes = vec![life << 4 | n; 700 + usize::from(n) * 4000];
            let kind = if n == 1 { FileKind::Log } else { FileKind::Table };
            if let Ok(id) = write(&store, kind, &bytes) {
                acknowledged.push((id, bytes));
            }
        }
        drop(store);
        // Its numbers may have become too large to write, but never to read.
        let again = open(Access::ReadOnly);
        let store =
            again.map_err(|error| format!("life {life}: took commits, and now: {error}"))?;
        for (id, bytes) in &acknowledged {
            let mut found = vec![0; bytes.len()];
            let read = store.open(*id).and_then(|r| r.read_at(0, &mut found, Cause::Read));
            if let Err(error) = read {
                return Err(format!("life {life}: acknowledged file {id}: {error}"));
            }
            if found != *bytes {
                return Err(format!("life {life}: acknowledged file {id}: other bytes"));
            }
        }
    }
    Ok(outcome)
}

fn read_all(store: &Arc<dyn Store>) {
    for info in store.list() {
        let Ok(reader) = store.open(info.id) else { continue };
        let len = reader.len();
        let mut bytes = vec![0; len.min(READ_MAX) as usize];
        let _ = reader.read_at(0, &mut bytes, Cause::Read);
        let _ = reader.read_at(len.saturating_sub(READ_MAX), &mut bytes, Cause::Read);
    }
    let _ = store.space();
}

/// Writes a file, and returns it once it is durable.
fn write(store: &Arc<dyn Store>, kind: FileKind, bytes: &[u8]) -> Result<FileId, StoreError> {
    let (hint, rank, cause) = (PlacementHint::default(), Rank::Log, Cause::Client);
    let mut writer: Box<dyn FileWriter> = store.create(&CreateOptions {
        kind,
        hint,
        size: None,
        rank,
        reservation: None,
        group: None,
        offload: false,
        cause,
    })?;
    let id = writer.id();
    let mut transaction = Transaction::new();
    if kind == FileKind::Log {
        transaction.create(id, Annotation::default());
        store.commit(transaction)?;
        writer.append(bytes)?;
        writer.sync()?;
    } else {
        writer.append(bytes)?;
        writer.finish()?;
        transaction.seal(id, Annotation::default());
        store.commit(transaction)?;
    }
    Ok(id)
}
