//! Random transactions that fit a catalog.
//!
//! Blocks are taken from a counter: the catalog does not care where they are, only that no two
//! files name the same.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{Annotation, FileKind, KeyRange, Lifetime, PlacementHint};
use terrace_env::{ByteCount, FileId, ZoneId};
use terrace_fs::catalog::{Catalog, Extent, Record};

/// Makes transactions; remembers which blocks were named.
pub(crate) struct Changes {
    random: Random,
    next_block: u32,
    opaque_max: usize,
}

impl Changes {
    /// Annotations get up to `opaque_max` bytes of their owner's.
    pub(crate) fn new(seed: u64, opaque_max: usize) -> Self {
        Self { random: Random::seeded(seed), next_block: 0, opaque_max }
    }

    fn extent(&mut self) -> Extent {
        let blocks = self.random.random_range(1..9);
        let start = self.next_block;
        self.next_block += blocks;
        let crc = self.random.random_bool(0.5).then(|| self.random.random());
        Extent { zone: ZoneId(1000), start, blocks, crc }
    }

    fn extents(&mut self, of_blocks: u32) -> Vec<Extent> {
        let first = Extent { zone: ZoneId(2000), start: self.next_block, blocks: 1, crc: None };
        self.next_block += 1;
        let rest = Extent { start: self.next_block, blocks: of_blocks - 1, ..first };
        self.next_block += rest.blocks;
        if rest.blocks == 0 { vec![first] } else { vec![first, rest] }
    }

    pub(crate) fn annotation(&mut self) -> Arc<Annotation> {
        let random = &mut self.random;
        let keys = random.random_bool(0.3).then(|| KeyRange {
            first: vec![random.random(); random.random_range(0..8)],
            last: vec![0xff; random.random_range(0..8)],
        });
        let hint = PlacementHint {
            level: random.random_bool(0.5).then(|| random.random_range(0..7)),
            stream: random.random_range(0..5),
            lifetime: Lifetime::Medium,
            keys,
        };
        let opaque = vec![random.random(); random.random_range(0..=self.opaque_max)];
        Arc::new(Annotation { hint, dead: ByteCount(random.random_range(0..9)), opaque })
    }

    /// A transaction of one to six records that a catalog in this state accepts.
    pub(crate) fn transaction(&mut self, catalog: &Catalog) -> Vec<Record> {
        let mut after = catalog.clone();
        let mut records = Vec::new();
        for _ in 0..self.random.random_range(1..=6) {
            let mut record = [self.record(&after)];
            if after.stage(&mut record).is_ok() {
                records.extend(record);
            }
        }
        if records.is_empty() {
            records.push(Record::Annotate { id: FileId::STORE, annotation: self.annotation() });
        }
        records
    }

    fn some_file(&mut self, catalog: &Catalog) -> Option<FileId> {
        let count = catalog.len();
        let nth = if count == 0 { return None } else { self.random.random_range(0..count) };
        catalog.files().nth(nth).map(|(id, _)| id)
    }

    fn birth(&mut self, catalog: &Catalog, sealed: bool) -> Record {
        let id = catalog.next_file();
        let kind =
            [FileKind::Table, FileKind::Log, FileKind::Client][self.random.random_range(0..3)];
        let extents = vec![self.extent(), self.extent()];
        let blocks: u32 = extents.iter().map(|extent| extent.blocks).sum();
        let size = if kind == FileKind::Log { 0 } else { u64::from(blocks) * 4096 - 7 };
        let (epoch, annotation) = (catalog.next_epoch() - 1, self.annotation());
        if sealed {
            Record::Seal { id, kind, size, extents, epoch, annotation }
        } else {
            Record::Create { id, kind, size, extents, epoch, annotation }
        }
    }

    fn name(&mut self) -> Arc<str> {
        format!("dir/{}", self.random.random_range(0..12)).into()
    }

    fn record(&mut self, catalog: &Catalog) -> Record {
        let choice = self.random.random_range(0..14);
        let Some(id) = self.some_file(catalog).filter(|_| choice > 2) else {
            return self.birth(catalog, choice % 2 == 0);
        };
        let file = catalog.get(id).expect("a listed file").clone();
        let end = file.extents.end();
        match choice {
            3 => Record::Delete { id },
            4 => Record::Annotate { id, annotation: self.annotation() },
            5 => Record::Annotate { id: FileId::STORE, annotation: self.annotation() },
            6 | 7 => Record::Link { name: self.name(), id },
            8 => Record::Unlink { name: self.name(), id: FileId::STORE },
            9 => {
                let (from, to) = (self.name(), self.name());
                Record::Rename { from, to, id: FileId::STORE, replaced: None }
            }
            10 if file.sealed => {
                let from = self.random.random_range(0..=end);
                Record::Trim { id, from, to: self.random.random_range(from..=end) }
            }
            10 => {
                let extents: Vec<Extent> = file.extents.extents().collect();
                let (kind, size) = (file.kind, u64::from(end) * 4096);
                let annotation = self.annotation();
                Record::Seal { id, kind, size, extents, epoch: 0, annotation }
            }
            11 if file.kind == FileKind::Log => Record::Extend { id, end, extent: self.extent() },
            11 => {
                let from = self.random.random_range(0..=end);
                let extents = vec![self.extent()];
                let size = u64::from(from + extents[0].blocks) * 4096;
                Record::Resize { id, size, from, extents }
            }
            12 if file.is_leased() => {
                let run = file.runs[file.runs.len() - 1];
                Record::LogEnd {
                    id,
                    end: self.random.random_range(run.block.min(end)..=end),
                    size: run.offset + 10,
                    sequence: run.sequence + 3,
                    epoch: catalog.next_epoch() - 1,
                }
            }
            _ => match file.extents.pieces().first().copied() {
                Some(piece) => {
                    let new = self.extents(piece.extent.blocks);
                    Record::Move { id, at: piece.at, old: piece.extent, new }
                }
                None => Record::Delete { id },
            },
        }
    }
}
