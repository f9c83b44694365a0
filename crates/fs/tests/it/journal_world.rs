//! A journal alone on an emulated drive, with the simplest space that can be.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::store::StoreError;
use terrace_env::sync::Mutex;
use terrace_env::{Cause, IoBuf, ZoneId};
use terrace_fs::journal::{Journal, JournalSpace, Replayed, format, replay};
use terrace_fs::superblock::SuperblockArea;
use terrace_zone::{Device, Geometry, Op, ZoneState, ZoneType};

/// Zones that are given out in order, the lowest free one first, and reset when they are. A
/// released zone is reset and written at once, by a writer that has waited for it.
pub(crate) struct Zones {
    device: Arc<dyn Device>,
    free: Mutex<BTreeSet<ZoneId>>,
}

impl Zones {
    /// All sequential zones but these.
    pub(crate) fn without(device: &Arc<dyn Device>, used: &[ZoneId]) -> Arc<Self> {
        let geometry = device.geometry();
        let all = geometry.zone_ids();
        let sequential = all.filter(|zone| geometry.zone_type(*zone) == ZoneType::Sequential);
        let writable = |zone: &ZoneId| {
            let report = device.report(*zone, 1).expect("a report")[0];
            !matches!(report.state, ZoneState::ReadOnly | ZoneState::Offline)
        };
        let free = sequential.filter(|zone| !used.contains(zone) && writable(zone)).collect();
        Arc::new(Self { device: Arc::clone(device), free: Mutex::new(free) })
    }
}

impl JournalSpace for Zones {
    fn take(&self) -> Result<ZoneId, StoreError> {
        let zone = self.free.lock().pop_first();
        let zone = zone.ok_or_else(|| StoreError::Invalid("no zone for the journal".into()))?;
        self.device
            .control(Op::Reset(zone), Cause::Journal)
            .map_err(|error| StoreError::io("reset", error))?;
        Ok(zone)
    }

    fn release(&self, zone: ZoneId) {
        let block = self.device.geometry().physical_block as usize;
        let tenant = IoBuf::copy_of(&vec![0xa5; block]);
        // A drive that fails may refuse it.
        if self.device.control(Op::Reset(zone), Cause::Client).is_ok() {
            let start = self.device.geometry().zone_start(zone);
            let _ = self.device.write(start, tenant, true, Cause::Client);
        }
        assert!(self.free.lock().insert(zone), "zone {zone} was released twice");
    }

    fn give_up(&self, zone: ZoneId) {
        assert!(!self.free.lock().contains(&zone), "zone {zone} was not taken");
    }
}

/// Makes an empty store; the seed decides its identity.
pub(crate) fn make(device: &Arc<dyn Device>, seed: u64) {
    let area = SuperblockArea::choose(Arc::clone(device)).expect("a place for the superblock");
    let space = Zones::without(device, &area.zones()) as Arc<dyn JournalSpace>;
    let uuid = Random::seeded(seed).uuid();
    format(device, area, &space, uuid, vec![7; 3]).expect("a formatted device");
}

/// Goes on with the result of a replay.
pub(crate) fn resume(device: &Arc<dyn Device>, replayed: Replayed) -> Result<Journal, StoreError> {
    let mut used = replayed.superblock_zones();
    used.extend(replayed.journal_zones());
    let zones = Zones::without(device, &used);
    let held = |journal: usize| journal + zones.free.lock().len();
    let before = held(replayed.journal_zones().count());
    let space = Arc::clone(&zones) as Arc<dyn JournalSpace>;
    let (journal, _) = Journal::resume(device, Vec::new(), replayed, &space, Vec::new())?;
    assert_eq!(held(journal.zones().len()), before, "a zone is the journal's, or free");
    Ok(journal)
}

/// Mounts for writing.
pub(crate) fn open(device: &Arc<dyn Device>) -> Result<Journal, StoreError> {
    resume(device, replay(device, true)?)
}

/// The shapes of drives that the suites run on, all small.
pub(crate) fn shape(index: u64) -> Geometry {
    let blocks = |zone_size: u64, zones: u32| Geometry {
        zone_size,
        zone_capacity: zone_size,
        ..Geometry::uniform(terrace_env::ByteCount::mib(1), zones)
    };
    match index % 4 {
        // Zones of 8 blocks, 7 of them writable: most commits meet a zone's end.
        0 => Geometry { zone_capacity: 7, ..blocks(8, 200) },
        // A conventional zone for the superblock.
        1 => Geometry { conventional: std::iter::once(0..1).collect(), ..blocks(16, 100) },
        // 512-byte blocks that tear within a block of the file system, and zones of odd size.
        2 => Geometry {
            logical_block: 512,
            physical_block: 512,
            zone_capacity: 8 * 13 + 5,
            ..blocks(8 * 13 + 7, 120)
        },
        _ => blocks(64, 64),
    }
}
