//! Random transactions that fit a catalog.
//!
//! Blocks are taken one after the other, zone by zone, and from the first zone on again when all
//! zones have been used: the catalog does not care whether two files name the same.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{Annotation, FileKind, PlacementHint};
use terrace_env::{DeviceId, FileId, ZoneId};
use terrace_fs::BlockAddr;
use terrace_fs::catalog::{Catalog, Extent, Record};

/// Makes transactions; remembers which blocks were named.
pub(crate) struct Changes {
    random: Random,
    next_block: u64,
    opaque_max: usize,
}

impl Changes {
    /// Annotations get up to `opaque_max` bytes of their owner's.
    pub(crate) fn new(seed: u64, opaque_max: usize) -> Self {
        Self { random: Random::seeded(seed), next_block: 0, opaque_max }
    }

    /// The next blocks that lie in one zone.
    fn blocks(&mut self, catalog: &Catalog, blocks: u32) -> BlockAddr {
        let grid = catalog.space().grid(DeviceId::FIRST).expect("a device with zones");
        let mut first = BlockAddr::new(DeviceId::FIRST, self.next_block);
        if !grid.is_in_one_zone(first, blocks) {
            first = grid.addr(ZoneId(grid.zone(first).0 + 1), 0);
        }
        if !grid.has(first) {
            first = grid.addr(ZoneId(0), 0);
        }
        self.next_block = first.block() + u64::from(blocks);
        first
    }

    fn extent(&mut self, catalog: &Catalog) -> Extent {
        let blocks = self.random.random_range(1..9);
        let first = self.blocks(catalog, blocks);
        let crc = self.random.random_bool(0.5).then(|| self.random.random());
        Extent { first, blocks, crc }
    }

    fn extents(&mut self, catalog: &Catalog, of_blocks: u32) -> Vec<Extent> {
        let parts = [1, of_blocks - 1].into_iter().filter(|blocks| *blocks > 0);
        let extent = |blocks| Extent { first: self.blocks(catalog, blocks), blocks, crc: None };
        parts.map(extent).collect()
    }

    pub(crate) fn annotation(&mut self) -> Arc<Annotation> {
        let random = &mut self.random;
        let hint = PlacementHint {
            level: random.random_bool(0.5).then(|| random.random_range(0..7)),
            stream: random.random_range(0..5),
        };
        let opaque = vec![random.random(); random.random_range(0..=self.opaque_max)];
        Arc::new(Annotation { hint, opaque })
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
        let extents = vec![self.extent(catalog), self.extent(catalog)];
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
            11 if file.kind == FileKind::Log => {
                Record::Extend { id, end, extent: self.extent(catalog) }
            }
            11 => {
                let from = self.random.random_range(0..=end);
                let extents = vec![self.extent(catalog)];
                let size = u64::from(from + extents[0].blocks) * 4096;
                Record::Resize { id, size, from, extents }
            }
            12 if file.is_leased() => {
                let run = file.runs[file.runs.len() - 1];
                let end = self.random.random_range(run.block.min(end)..=end);
                Record::LogEnd {
                    id,
                    end,
                    size: (run.offset + 10).min(u64::from(end) * 4096),
                    sequence: run.sequence + 3,
                    epoch: catalog.next_epoch() - 1,
                }
            }
            _ => match file.extents.pieces().first().copied() {
                Some(piece) => {
                    let new = self.extents(catalog, piece.extent.blocks);
                    Record::Move { id, at: piece.at, old: piece.extent, new }
                }
                None => Record::Delete { id },
            },
        }
    }
}
