//! A store with files of every kind, and the contents that must be found.

use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{
    Annotation, CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Transaction,
};
use terrace_env::{Cause, FileId, Store};

/// How the store's last life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// In order.
    Closed,
    /// Its process was killed.
    Killed,
}

/// Expected state of a file.
pub(crate) struct Known {
    pub(crate) id: FileId,
    pub(crate) kind: FileKind,
    /// All that was appended and synced.
    pub(crate) bytes: Vec<u8>,
    /// Bytes that had been synced before the last sync.
    pub(crate) before_last: usize,
    /// Bytes that had been synced by the last commit.
    pub(crate) committed: usize,
    /// Bytes that had been synced when the store was closed before; `None`: the file was not there.
    pub(crate) earlier: Option<usize>,
}

/// Files that were written.
pub(crate) struct Specimen {
    pub(crate) end: End,
    pub(crate) files: Vec<Known>,
}

fn create(store: &Arc<dyn Store>, kind: FileKind) -> Box<dyn FileWriter> {
    let (hint, rank, cause) = (PlacementHint::default(), Rank::Log, Cause::Client);
    let options = CreateOptions {
        kind,
        hint,
        size: None,
        rank,
        reservation: None,
        group: None,
        offload: false,
        cause,
    };
    store.create(&options).expect("a new file")
}

fn commit(store: &Arc<dyn Store>, change: impl FnOnce(&mut Transaction)) {
    let mut transaction = Transaction::new();
    change(&mut transaction);
    store.commit(transaction).expect("a commit");
}

/// Bytes that nothing else holds.
fn draw(random: &mut Random) -> Vec<u8> {
    let len = match random.random_range(0..4) {
        0 => random.random_range(1..300),
        1 => random.random_range(300..4_000),
        _ => random.random_range(4_000..20_000),
    };
    let mut bytes = vec![0; len];
    random.fill_bytes(&mut bytes);
    bytes
}

/// A log on its way.
struct Log {
    writer: Box<dyn FileWriter>,
    bytes: Vec<u8>,
    before_last: usize,
}

impl Log {
    fn sync(&mut self, times: u32, random: &mut Random) {
        for _ in 0..times {
            self.before_last = self.bytes.len();
            for _ in 0..random.random_range(1..3) {
                let bytes = draw(random);
                self.writer.append(&bytes).expect("an append");
                self.bytes.extend_from_slice(&bytes);
            }
            self.writer.sync().expect("a sync");
        }
    }
}

fn sealed(store: &Arc<dyn Store>, kind: FileKind, random: &mut Random) -> Known {
    let mut writer = create(store, kind);
    let mut bytes = Vec::new();
    for _ in 0..random.random_range(1..4) {
        let part = draw(random);
        writer.append(&part).expect("an append");
        bytes.extend_from_slice(&part);
    }
    writer.finish().expect("a finish");
    let id = writer.id();
    commit(store, |transaction| {
        transaction.seal(id, Annotation::default());
    });
    let len = bytes.len();
    Known { id, kind, bytes, before_last: len, committed: len, earlier: None }
}

/// Writes the first life of a store; the caller closes it.
pub(crate) fn first_life(store: &Arc<dyn Store>, random: &mut Random) -> Vec<Known> {
    let mut files = vec![
        sealed(store, FileKind::Table, random),
        sealed(store, FileKind::Log, random),
        sealed(store, FileKind::Table, random),
    ];
    let mut client = create(store, FileKind::Client);
    let bytes = draw(random);
    let id = client.id();
    commit(store, |transaction| {
        transaction.create(id, Annotation::default());
    });
    client.append(&bytes).expect("an append");
    client.sync().expect("a sync");
    let len = bytes.len();
    let kind = FileKind::Client;
    files.push(Known { id, kind, bytes, before_last: len, committed: len, earlier: None });

    let writer = create(store, FileKind::Log);
    let id = writer.id();
    commit(store, |transaction| {
        transaction.create(id, Annotation::default());
    });
    let mut log = Log { writer, bytes: Vec::new(), before_last: 0 };
    log.sync(3, random);
    let Log { bytes, before_last, .. } = log;
    let committed = bytes.len();
    files.push(Known { id, kind: FileKind::Log, bytes, before_last, committed, earlier: None });
    for file in &mut files {
        file.earlier = Some(file.bytes.len());
    }
    files
}

/// Writes the second life up to its end, which `end_of_life` makes while the writers are there.
pub(crate) fn second_life(
    store: &Arc<dyn Store>,
    mut files: Vec<Known>,
    end: End,
    random: &mut Random,
    end_of_life: impl FnOnce(),
) -> Specimen {
    let known = files.last_mut().expect("the log");
    let writer = store.reopen(known.id).expect("the log goes on");
    let (bytes, before_last) = (std::mem::take(&mut known.bytes), known.before_last);
    let mut log = Log { writer, bytes, before_last };
    log.sync(2, random);
    known.committed = log.bytes.len();
    let table = sealed(store, FileKind::Table, random);
    log.sync(2, random);
    known.bytes.clone_from(&log.bytes);
    known.before_last = log.before_last;
    files.push(table);
    if end == End::Killed {
        log.writer.append(&draw(random)).expect("an append that is never synced");
        end_of_life();
    }
    drop(log);
    Specimen { end, files }
}
