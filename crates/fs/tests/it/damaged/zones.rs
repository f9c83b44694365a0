//! A specimen on zones.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, DeviceId, Store, ZoneId};
use terrace_fs::inspect::Inspector;
use terrace_fs::journal::replay;
use terrace_fs::{Access, BLOCK, FormatOptions, Fs, MountOptions, ZoneGrid, ZonePlace, pointer};
use terrace_zone::{Device, Emulator, Geometry, PowerCut, Snapshot};

use super::harm::Harm;
use super::oracle::{Case, Outcome, Part, judge};
use super::specimen::{End, Specimen, first_life, second_life};
use super::suite::Medium;

/// See the [module](self).
pub(crate) struct Zones {
    snapshot: Snapshot,
    /// Parts of the store, each with its blocks.
    parts: Vec<(Part, Vec<ZonePlace>)>,
}

const SOUND: &str = "a medium in memory does not fail";

fn mount(drive: &Arc<Emulator>, access: Access) -> Result<Arc<Fs>, terrace_env::store::StoreError> {
    let device = Arc::clone(drive) as Arc<dyn Device>;
    let options = MountOptions { access, background: false, ..MountOptions::default() };
    Fs::mount(device, &options)
}

impl Zones {
    pub(crate) fn make(seed: u64, end: End, random: &mut Random) -> (Self, Specimen) {
        let mut geometry = Geometry::uniform(ByteCount::kib(256), 24);
        if seed.is_multiple_of(2) {
            geometry.conventional.push(0..1);
        }
        let drive = Emulator::in_memory(geometry, seed).expect("a possible shape");
        let drive = Arc::new(drive);
        let device = Arc::clone(&drive) as Arc<dyn Device>;
        Fs::format(device, &FormatOptions::default()).expect("a store");
        let fs = mount(&drive, Access::ReadWrite).expect("a mount");
        let store = Arc::clone(&fs) as Arc<dyn Store>;
        let known = first_life(&store, random);
        fs.unmount();
        drop((store, fs));
        let fs = mount(&drive, Access::ReadWrite).expect("a mount");
        let store = Arc::clone(&fs) as Arc<dyn Store>;
        let mut killed = None;
        let of_drive = Arc::clone(&drive);
        let end_of_life = || killed = Some(of_drive.snapshot().expect(SOUND));
        let specimen = second_life(&store, known, end, random, end_of_life);
        drop((store, fs));
        let snapshot = killed.unwrap_or_else(|| drive.snapshot().expect(SOUND));
        let drive = Arc::new(snapshot.cut(PowerCut::KeepAll, random));
        let parts = parts(&drive);
        (Self { snapshot, parts }, specimen)
    }
}

impl Zones {
    /// The drive as the specimen's last life left it.
    pub(crate) fn into_snapshot(self) -> Snapshot {
        self.snapshot
    }

    /// The blocks of a zone up to its pointer.
    pub(crate) fn written(drive: &Arc<Emulator>, zone: ZoneId) -> Vec<ZonePlace> {
        written(drive, zone)
    }
}

/// The blocks of a zone up to its pointer.
fn written(drive: &Arc<Emulator>, zone: ZoneId) -> Vec<ZonePlace> {
    let report = drive.report(zone, 1).expect("a zone of this drive")[0];
    let end = pointer(drive.geometry(), &report).unwrap_or(2);
    (0..end).map(|block| ZonePlace { zone, block }).collect()
}

fn parts(drive: &Arc<Emulator>) -> Vec<(Part, Vec<ZonePlace>)> {
    let device = Arc::clone(drive) as Arc<dyn Device>;
    let found = replay(&device, false).expect("a journal");
    let all =
        |zones: Vec<ZoneId>| zones.into_iter().flat_map(|zone| written(drive, zone)).collect();
    let mut parts = vec![
        (Part::Superblock, all(found.superblock_zones())),
        (Part::Journal, all(found.journal_zones().collect())),
    ];
    let inspector = Inspector::device(device).expect("a store");
    for info in inspector.list().filter(|info| info.id.0 != 0) {
        let record = inspector.record(info.id).expect("a file");
        let blocks = record.extents.extents().flat_map(|extent| {
            let grid = ZoneGrid::new(DeviceId::FIRST, drive.geometry());
            let first = grid.place(extent.first);
            let there = written(drive, first.zone);
            let blocks = first.block..first.block + extent.blocks;
            let of_file = move |at: &ZonePlace| blocks.contains(&at.block);
            there.into_iter().filter(of_file)
        });
        parts.push((Part::of(info.kind), blocks.collect()));
    }
    parts.retain(|(_, blocks): &(Part, Vec<ZonePlace>)| !blocks.is_empty());
    parts
}

fn spoil(drive: &Emulator, blocks: &[ZonePlace], harm: Harm, random: &mut Random) {
    let change = |at: &ZonePlace, how: &mut dyn FnMut(&mut [u8])| {
        let lba = at.lba(drive.geometry());
        drive.corrupt(lba, |block| how(block)).expect(SOUND);
    };
    let half = blocks.len() / 2;
    let zeroed = match harm {
        Harm::Zero => blocks,
        Harm::ZeroFirst => &blocks[..half.max(1)],
        Harm::Halve => &blocks[half..],
        _ => {
            let at = &blocks[random.random_range(0..blocks.len())];
            let bit = random.random_range(0..BLOCK * 8);
            return change(at, &mut |block| block[bit / 8] ^= 1 << (bit % 8));
        }
    };
    for at in zeroed {
        change(at, &mut |block| block.fill(0));
    }
}

impl Medium for Zones {
    fn damage(
        &self,
        specimen: &Specimen,
        random: &mut Random,
    ) -> (Part, Harm, Result<Outcome, String>) {
        let drive = Arc::new(self.snapshot.cut(PowerCut::KeepAll, random));
        let (part, blocks) = &self.parts[random.random_range(0..self.parts.len())];
        let harm = Harm::draw(false, random);
        spoil(&drive, blocks, harm, random);
        let checked = Fs::check(Arc::clone(&drive) as Arc<dyn Device>);
        let access = if random.random_bool(0.3) { Access::ReadWrite } else { Access::ReadOnly };
        let opened = mount(&drive, access).map(|fs| fs as Arc<dyn Store>);
        let case = Case { part: *part, harm, on_zones: true };
        let outcome = judge(specimen, case, opened, checked);
        (*part, harm, outcome.map_err(|wrong| format!("{:?}, {access:?}: {wrong}", blocks[0])))
    }
}
