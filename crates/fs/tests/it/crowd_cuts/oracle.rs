//! Oracle: the promises made to a client, and whether a mounted store keeps them.
//!
//! The transactions of one client are numbered; each also writes its number into the annotation of
//! the client's *marker* file, so that a recovered store says by itself which prefix it holds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use terrace_env::codec::{Reader, Writer};
use terrace_env::store::{Annotation, FileInfo, FileKind};
use terrace_env::{Cause, FileId, Store};

/// A file as its client knows it.
#[derive(Clone, Debug)]
pub(super) struct FileState {
    pub(super) kind: FileKind,
    pub(super) sealed: bool,
    pub(super) content: Arc<Vec<u8>>,
    pub(super) trimmed: Vec<Range<u64>>,
    pub(super) opaque: Vec<u8>,
    pub(super) names: BTreeSet<String>,
}

/// All files of a client after one of its transactions. Logs that are not sealed have no content
/// here: their required content does not depend on transactions.
pub(super) type ClientState = BTreeMap<FileId, FileState>;

/// Bytes appended to a log, and the places where it may be cut.
#[derive(Clone, Debug, Default)]
pub(super) struct LogContent {
    pub(super) bytes: Vec<u8>,
    pub(super) boundaries: BTreeSet<usize>,
}

/// Promises made to a client by some moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Promise {
    /// Transactions that were acknowledged.
    pub(super) acked: usize,
    /// Transactions that were handed over.
    pub(super) issued: usize,
    /// Bytes of its logs that were acknowledged as synced.
    pub(super) synced: BTreeMap<FileId, usize>,
}

/// All that a client did.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) client: u8,
    /// `states[n]` is after `n` transactions, counted from `base`.
    pub(super) states: Vec<ClientState>,
    pub(super) logs: BTreeMap<FileId, LogContent>,
    /// Transactions of earlier lives.
    pub(super) base: usize,
}

/// A client's data in a recovered store.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) transactions: usize,
    pub(super) state: ClientState,
    pub(super) logs: BTreeMap<FileId, usize>,
}

const MARKER: u8 = 0xff;

/// The opaque annotation of a file that a client owns.
pub(super) fn owned(client: u8, tag: u32) -> Vec<u8> {
    let mut opaque = vec![client, 0];
    opaque.put_u32(tag);
    opaque
}

/// The opaque annotation of a client's marker.
pub(super) fn marker(client: u8, transactions: usize) -> Vec<u8> {
    let mut opaque = vec![client, MARKER];
    opaque.put_u32(transactions as u32);
    opaque
}

fn transactions_of(opaque: &[u8]) -> Option<usize> {
    let mut reader = Reader::new(opaque.get(2..)?);
    (opaque[1] == MARKER).then(|| reader.u32("transactions").map(|n| n as usize).ok())?
}

impl Account {
    pub(super) fn new(client: u8) -> Self {
        let states = vec![ClientState::new()];
        Self { client, states, logs: BTreeMap::new(), base: 0 }
    }

    /// The promise of a client after its store was unmounted.
    pub(super) fn everything(&self) -> Promise {
        let all = self.base + self.states.len() - 1;
        let synced = self.logs.iter().map(|(id, log)| (*id, log.bytes.len())).collect();
        Promise { acked: all, issued: all, synced }
    }

    /// The account of a client that goes on after a recovery.
    pub(super) fn after(&self, found: &Found) -> Self {
        let logs = found.logs.iter().map(|(id, len)| {
            let content = &self.logs[id];
            let bytes = content.bytes[..*len].to_vec();
            (*id, LogContent { bytes, boundaries: BTreeSet::from([*len]) })
        });
        let states = vec![found.state.clone()];
        Self { client: self.client, states, logs: logs.collect(), base: found.transactions }
    }

    /// Holds a mounted store against this account.
    pub(super) fn check(&self, store: &dyn Store, promise: &Promise) -> Result<Found, String> {
        let files: BTreeMap<FileId, FileInfo> = store
            .list()
            .into_iter()
            .filter(|info| info.annotation.opaque.first() == Some(&self.client))
            .map(|info| (info.id, info))
            .collect();
        let transactions = files
            .values()
            .find_map(|info| transactions_of(&info.annotation.opaque))
            .unwrap_or_default();
        let allowed = promise.acked..=promise.issued;
        if !allowed.contains(&transactions) {
            return Err(format!(
                "client {}: expected {allowed:?} transactions, found {transactions}",
                self.client
            ));
        }
        let state = &self.states[transactions - self.base];
        let (expected, got): (Vec<_>, Vec<_>) =
            (state.keys().copied().collect(), files.keys().copied().collect());
        if expected != got {
            return Err(format!(
                "client {}, transaction {transactions}: expected files {expected:?}, found {got:?}",
                self.client
            ));
        }
        let mut logs = BTreeMap::new();
        for (id, file) in state {
            if let Some(len) = self.check_file(store, *id, file, &files[id], promise)? {
                logs.insert(*id, len);
            }
        }
        Ok(Found { transactions, state: state.clone(), logs })
    }

    /// Returns the length of a log that is not sealed.
    fn check_file(
        &self,
        store: &dyn Store,
        id: FileId,
        file: &FileState,
        info: &FileInfo,
        promise: &Promise,
    ) -> Result<Option<usize>, String> {
        let wrong = |what: &str, expected: String, got: String| {
            Err(format!("file {id}: {what}: expected {expected}, found {got}"))
        };
        if (info.kind, info.sealed) != (file.kind, file.sealed) {
            let expected = format!("{:?}, sealed {}", file.kind, file.sealed);
            return wrong("kind", expected, format!("{:?}, sealed {}", info.kind, info.sealed));
        }
        if info.annotation.opaque != file.opaque {
            let got = format!("{:?}", info.annotation.opaque);
            return wrong("annotation", format!("{:?}", file.opaque), got);
        }
        let names: BTreeSet<String> = info.names.iter().cloned().collect();
        if names != file.names || names.iter().any(|name| store.lookup(name) != Some(id)) {
            return wrong("names", format!("{:?}", file.names), format!("{names:?}"));
        }
        let reader = store.open(id).map_err(|error| format!("file {id}: {error}"))?;
        let read = |range: Range<u64>| {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            let outcome = reader.read_at(range.start, &mut bytes, Cause::Recovery);
            outcome.map(|()| bytes).map_err(|error| format!("file {id} at {range:?}: {error}"))
        };
        if file.sealed {
            if info.size != file.content.len() as u64 {
                return wrong("size", file.content.len().to_string(), info.size.to_string());
            }
            for range in untrimmed(info.size, &file.trimmed) {
                let expected = &file.content[range.start as usize..range.end as usize];
                if read(range.clone())? != expected {
                    return wrong(
                        "content",
                        format!("the bytes written at {range:?}"),
                        "not".into(),
                    );
                }
            }
            return Ok(None);
        }
        let content = &self.logs[&id];
        let len = reader.len() as usize;
        let synced = promise.synced.get(&id).copied().unwrap_or_default();
        if len < synced || !content.boundaries.contains(&len) {
            let expected = format!("at least {synced} and a boundary of {:?}", content.boundaries);
            return wrong("log length", expected, len.to_string());
        }
        if read(0..len as u64)? != content.bytes[..len] {
            return wrong("log content", "a prefix of the appended bytes".into(), "not".into());
        }
        Ok(Some(len))
    }
}

/// The parts of a file that can still be read.
fn untrimmed(size: u64, trimmed: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted = trimmed.to_vec();
    sorted.sort_by_key(|range| range.start);
    let mut parts = Vec::new();
    let mut start = 0;
    for range in sorted {
        parts.push(start..range.start.max(start));
        start = start.max(range.end);
    }
    parts.push(start..size.max(start));
    parts.retain(|part| !part.is_empty());
    parts
}

/// A file's annotation with this opaque part.
pub(super) fn annotation(opaque: Vec<u8>) -> Annotation {
    Annotation { opaque, ..Annotation::default() }
}
