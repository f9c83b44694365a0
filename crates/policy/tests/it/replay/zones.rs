//! [`Zones`]: zones of a few entries each, and the tables in them. Tables are placed and zones
//! reclaimed as the deciders say; there are no limits on open zones. A zone is free as soon as none
//! of its entries is live.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::store::{FileKind, PlacementHint, Rank};
use terrace_env::{ByteCount, FileId, ZoneId};
use terrace_policy::{
    CandidateZone, ExtentView, PartZone, Placement, PlacementChoice, PlacementRequest,
    RECLAIM_STREAM, Reclaim, ReclaimView, SpaceView, Supply, ZoneView, ZonesView,
};

/// Free zones that tables leave to reclaim.
const RESERVE: u32 = 2;

/// Which table an entry of a zone belongs to, and the entry's number in it; `None`: dead.
pub(crate) type Slot = Option<(FileId, usize)>;

/// A zone.
#[derive(Clone, Default)]
pub(crate) struct Zone {
    pub(crate) slots: Vec<Slot>,
    pub(crate) live: usize,
    pub(crate) level: Option<u8>,
    pub(crate) stream: u16,
}

/// A table's entries: their keys, and where they are.
struct Table {
    keys: Vec<u32>,
    at: Vec<Option<(usize, usize)>>,
    live: usize,
}

/// All zones.
pub(crate) struct Zones {
    pub(crate) placement: Arc<dyn Placement>,
    pub(crate) reclaim: Arc<dyn Reclaim>,
    pub(crate) capacity: usize,
    pub(crate) all: Vec<Zone>,
    tables: BTreeMap<FileId, Table>,
    /// Zones that others write to at this moment.
    held: BTreeSet<usize>,
}

/// Work that reclaim has done.
#[derive(Default)]
pub(crate) struct Reclaimed {
    pub(crate) zones: usize,
    pub(crate) moved: usize,
}

impl Zones {
    pub(crate) fn new(
        (placement, reclaim): (Arc<dyn Placement>, Arc<dyn Reclaim>),
        zones: usize,
        capacity: usize,
    ) -> Self {
        let all = vec![Zone::default(); zones];
        let (tables, held) = (BTreeMap::new(), BTreeSet::new());
        Self { placement, reclaim, capacity, all, tables, held }
    }

    /// The same deciders over no zones.
    pub(crate) fn none(&self) -> Self {
        let deciders = (Arc::clone(&self.placement), Arc::clone(&self.reclaim));
        Self::new(deciders, 0, self.capacity)
    }

    pub(crate) fn free(&self) -> u32 {
        self.all.iter().filter(|zone| zone.slots.is_empty()).count() as u32
    }

    /// Live entries, and the room of all zones that hold anything.
    pub(crate) fn used(&self) -> (usize, usize) {
        let occupied = self.all.iter().filter(|zone| !zone.slots.is_empty());
        occupied.fold((0, 0), |(live, room), zone| (live + zone.live, room + self.capacity))
    }

    /// Where the tables lie, as deciders are told: live entries of a table by zone, in the order in
    /// which they were written.
    pub(crate) fn view(&self) -> ZonesView {
        let zone = |at: usize| ZoneId(at as u32);
        let written = (0..).zip(&self.all).filter(|(_, zone)| !zone.slots.is_empty());
        let zones = written.map(|(at, of)| ZoneView {
            zone: zone(at),
            capacity: ByteCount(self.capacity as u64),
            written: ByteCount(of.slots.len() as u64),
        });
        let mut extents: Vec<ExtentView> = Vec::new();
        for (file, table) in &self.tables {
            for (at, _) in table.at.iter().flatten() {
                match extents.last_mut() {
                    Some(last) if (last.file, last.zone) == (*file, zone(*at)) => last.size.0 += 1,
                    _ => {
                        let size = ByteCount(1);
                        extents.push(ExtentView { file: *file, zone: zone(*at), size });
                    }
                }
            }
        }
        ZonesView::new(zones.collect(), extents)
    }

    /// The keys of a table from `start` up to `end`. The rest of a trimmed table may hold none.
    pub(crate) fn keys(&self, file: FileId, start: &[u8], end: &[u8]) -> &[u32] {
        let Some(Table { keys, .. }) = self.tables.get(&file) else { return &[] };
        let before = |bound: &[u8]| keys.partition_point(|key| &key.to_be_bytes()[..] < bound);
        &keys[before(start)..before(end)]
    }

    /// Writes a table; `together`: while those written since the last one that was not are still
    /// being written.
    pub(crate) fn put(
        &mut self,
        file: FileId,
        keys: Vec<u32>,
        (level, stream): (u8, u16),
        size: u64,
        together: bool,
    ) {
        if !together {
            self.held.clear();
        }
        let (live, at) = (keys.len(), vec![None; keys.len()]);
        let entries: Vec<(FileId, usize)> = (0..live).map(|entry| (file, entry)).collect();
        self.tables.insert(file, Table { keys, at, live });
        let touched = self.write(&entries, Some(level), stream, size);
        self.held.extend(touched);
    }

    fn write(
        &mut self,
        entries: &[(FileId, usize)],
        level: Option<u8>,
        stream: u16,
        size: u64,
    ) -> BTreeSet<usize> {
        let (mut at, mut touched) = (usize::MAX, BTreeSet::new());
        for (written, (file, entry)) in entries.iter().enumerate() {
            if at == usize::MAX || self.all[at].slots.len() == self.capacity {
                let left = size.saturating_sub(written as u64);
                let left = (stream != RECLAIM_STREAM).then_some(left);
                at = self.place(level, stream, left);
                (self.all[at].level, self.all[at].stream) = (level, stream);
                touched.insert(at);
            }
            let zone = &mut self.all[at];
            let table = self.tables.get_mut(file).expect("a table");
            table.at[*entry] = Some((at, zone.slots.len()));
            zone.slots.push(Some((*file, *entry)));
            zone.live += 1;
        }
        touched
    }

    /// The zone for the rest of a file.
    fn place(&self, level: Option<u8>, stream: u16, left: Option<u64>) -> usize {
        let of_reclaim = stream == RECLAIM_STREAM;
        let partly: Vec<PartZone> = (0..)
            .zip(&self.all)
            .filter(|(_, zone)| (1..self.capacity).contains(&zone.slots.len()))
            .filter(|(_, zone)| of_reclaim || zone.stream != RECLAIM_STREAM)
            .filter(|(id, _)| !self.held.contains(&(*id as usize)))
            .map(|(id, zone)| PartZone {
                zone: ZoneId(id),
                room: ByteCount((self.capacity - zone.slots.len()) as u64),
                level: zone.level,
                stream: zone.stream,
            })
            .collect();
        let free = self.free().saturating_sub(if of_reclaim { 0 } else { RESERVE });
        let view = SpaceView { partly: &partly, free, slot: true };
        let hint = PlacementHint { level, stream };
        let (kind, rank, left) = (FileKind::Table, Rank::Compaction, left.map(ByteCount));
        match self.placement.place(&view, &PlacementRequest { hint: &hint, kind, rank, left }) {
            Some(PlacementChoice::Append(zone)) => zone.0 as usize,
            Some(PlacementChoice::OpenNew) => {
                self.all.iter().position(|zone| zone.slots.is_empty()).expect("a free zone")
            }
            None => panic!("the replayed store is full"),
        }
    }

    /// Ends the life of a table's entries with keys from `start` up to `end`; how many zones are
    /// empty by that.
    pub(crate) fn trim(&mut self, file: FileId, start: &[u8], end: &[u8]) -> usize {
        let table = self.tables.get_mut(&file).filter(|_| start < end);
        let Some(table) = table else { return 0 };
        let before =
            |bound: &[u8]| table.keys.partition_point(|key| &key.to_be_bytes()[..] < bound);
        let (first, last) = (before(start), before(end));
        let mut emptied = 0;
        for (id, slot) in table.at[first..last].iter_mut().filter_map(Option::take) {
            let zone = &mut self.all[id];
            zone.slots[slot] = None;
            zone.live -= 1;
            table.live -= 1;
            if zone.live == 0 {
                *zone = Zone::default();
                emptied += 1;
            }
        }
        if table.live == 0 {
            self.tables.remove(&file);
        }
        emptied
    }

    pub(crate) fn supply(&self) -> Supply {
        let (zones, free) = (self.all.len() as u32, self.free());
        let spare = free.saturating_sub(RESERVE);
        let (live, room) = self.used();
        let bytes = |entries: usize| ByteCount(entries as u64);
        Supply { zones, free, spare, wanted: spare == 0, in_use: bytes(room), live: bytes(live) }
    }

    /// Whether it is time to empty zones.
    pub(crate) fn is_reclaim_due(&self) -> bool {
        self.reclaim.is_due(&self.supply())
    }

    /// Empties zones for as long as the policy finds any. `level_of`: that of a table.
    pub(crate) fn collect(&mut self, level_of: impl Fn(FileId) -> u64) -> Reclaimed {
        let mut reclaimed = Reclaimed::default();
        loop {
            let supply = self.supply();
            if !self.reclaim.is_due(&supply) {
                return reclaimed;
            }
            let candidates = self.candidates(&level_of);
            let Some(choice) =
                self.reclaim.victim(&ReclaimView { supply, candidates: &candidates })
            else {
                return reclaimed;
            };
            let victim = self.all[choice.victim.0 as usize].clone();
            let moved: Vec<(FileId, usize)> = victim.slots.into_iter().flatten().collect();
            self.held = BTreeSet::from([choice.victim.0 as usize]);
            self.write(&moved, None, choice.stream, moved.len() as u64);
            self.all[choice.victim.0 as usize] = Zone::default();
            reclaimed.zones += 1;
            reclaimed.moved += moved.len();
        }
    }

    fn candidates(&self, level_of: &impl Fn(FileId) -> u64) -> Vec<CandidateZone> {
        let tables = |zone: &Zone| -> BTreeSet<FileId> {
            zone.slots.iter().flatten().map(|(of, _)| *of).collect()
        };
        let mut candidates: Vec<(u32, &Zone)> = (0..)
            .zip(&self.all)
            .filter(|(_, zone)| !zone.slots.is_empty() && zone.live < zone.slots.len())
            .collect();
        candidates.sort_by_key(|(id, zone)| (zone.live, *id));
        let (sight, all) = (self.reclaim.sight(), candidates.len());
        let shown = candidates.into_iter().enumerate().filter(|(at, _)| sight.shows(*at, all));
        let view = |(id, zone): (u32, &Zone)| CandidateZone {
            zone: ZoneId(id),
            capacity: ByteCount(self.capacity as u64),
            live: ByteCount(zone.live as u64),
            gain: ByteCount((zone.slots.len() - zone.live) as u64),
            tables: tables(zone).len() as u64,
            levels: tables(zone).into_iter().map(level_of).sum(),
            levels_dead: 0,
            age: ByteCount(0),
        };
        shown.map(|(_, zone)| view(zone)).collect()
    }
}
