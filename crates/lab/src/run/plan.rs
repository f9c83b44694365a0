//! [`RunPlan`]: all that a run depends on except the program, as plain values. Sizes, counts and
//! times are those of the scaled run, unless a field says otherwise.
//!
//! With the same engine, equal plans give the same outcomes except for their costs. Each drive is
//! in the plan as a name and a hash of its parameters; [`find_unchanged`] refuses a drive whose
//! parameters have changed since. [`RunPlan::new`] refuses an experiment that cannot be run at the
//! scale asked for, or at the experiment's smallest scale if that is larger.

use serde::{Deserialize, Serialize};
use terrace::{ByteCount, LoadRule, Options, System};
use terrace_fs::superblock::Role;
use terrace_zone::Geometry;
use terrace_zone::timing::{Drive, Scale, ScaleMode};
use xxhash_rust::xxh3::xxh3_64;

use super::device::DevicePlan;
use super::phase::PhasePlan;
use super::places::{Places, Starts};
use super::scaling::Scaling;
use super::store_plan::{Shapes, StorePlan, described, is_none, store_plan};
use super::{PlanError, log_device};
use crate::experiment::{Experiment, Variant};

/// Bytes of a block of the file system.
pub(super) const BLOCK: u64 = 4 << 10;
/// Two blocks of the file system: below, nothing is left of it.
pub(super) const IO_SIZE_MIN: u64 = 8 << 10;

/// A run: an experiment under one system and one variant, at a scale, from a seed. See the
/// [module](self).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// The experiment: `geardb/fig3`.
    pub experiment: String,
    /// The system, as the experiment has it.
    pub system: String,
    /// The variant, if the experiment has variants.
    pub variant: Option<String>,
    /// Seed of everything in the run that is left to chance.
    pub seed: u64,
    /// The n of a scale of `1/n`.
    pub scale: u64,
    /// Choice of the values that shrink.
    pub scale_by: ScaleMode,
    /// The drive: a name or a path.
    pub drive: String,
    /// A hash of the drive's parameters.
    pub drive_hash: String,
    /// Zones that the store has, without conventional ones.
    pub zones: u32,
    /// The device that is made of it.
    #[serde(default, skip_serializing_if = "DevicePlan::is_usual")]
    pub device: DevicePlan,
    /// How the store is opened.
    pub store: StorePlan,
    /// The phases.
    pub phases: Vec<PhasePlan>,
    /// Nanoseconds of the run between two samples.
    pub sample_every: u64,
}

/// The smallest second device that a store takes.
const OFFLOAD_MIN: ByteCount = ByteCount::mib(8);

/// Which run of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct RunChoice<'a> {
    /// The system, in its text form.
    pub system: &'a str,
    /// The variant; `None` where there are none.
    pub variant: Option<&'a str>,
    /// The scale; the values that shrink are the experiment's choice.
    pub scale: Scale,
    /// The seed.
    pub seed: u64,
}

impl RunPlan {
    /// The plan of one run of an experiment.
    pub fn new(experiment: &Experiment, choice: RunChoice<'_>) -> Result<Self, PlanError> {
        let drive = Drive::find(&experiment.drive)?;
        let variant = find_variant(experiment, choice.variant)?;
        let scale = experiment.scale(choice.scale);
        let scaling = Scaling::new(scale, experiment.scale_by);
        let scaling = scaling.with_all_reads(experiment.all_reads)?;
        let space = variant.and_then(|variant| variant.space).or(experiment.space);
        let geometry = |scale| drive.geometry(scale);
        let of_drive = |problem| PlanError::geometry(drive.name(), scale, problem);
        let full = geometry(Scale::FULL).map_err(of_drive)?;
        let small = geometry(scaling.scale()).map_err(of_drive)?;
        scaling.size("a zone", zone_bytes(&full, full.zone_capacity))?;
        let zones = zones(&full, space.map(|space| space.0))?;
        let described = described(experiment, variant, choice.system)?;
        let device = DevicePlan::of(described.device.as_ref(), &scaling)?;
        let full_device = DevicePlan::of(described.device.as_ref(), &Scaling::full())?;
        let shapes = Shapes { full: &full, small: &small, zones, full_device, device: &device };
        let store = store_plan(&described, &scaling, &shapes, choice.system)?;
        let factor = variant.and_then(|variant| variant.operations_factor).unwrap_or(1.0);
        let phases = experiment.phases.iter().map(|phase| phase.under(variant));
        let phases = phases.map(|phase| PhasePlan::new(&phase, &scaling, factor));
        let phases: Vec<_> = phases.collect::<Result<_, _>>()?;
        PhasePlan::check_all(&phases)?;
        let plan = Self {
            experiment: experiment.name.clone(),
            system: choice.system.to_owned(),
            variant: choice.variant.map(str::to_owned),
            seed: choice.seed,
            scale: scaling.n(),
            scale_by: experiment.scale_by,
            drive: experiment.drive.clone(),
            drive_hash: hash_of(&drive),
            zones,
            device,
            store,
            phases,
            sample_every: (experiment.sample_every.0 / scaling.time_scale()).max(1),
        };
        let geometry = plan.geometry(&drive)?;
        plan.log_starts(&geometry, &plan.whole_drive(&drive)?)?;
        Ok(plan)
    }

    /// The plan up to one of its phases, which is measured.
    #[must_use]
    pub fn as_far_as(&self, phase: usize) -> Self {
        let mut plan = self.clone();
        plan.phases.truncate(phase + 1);
        plan.phases.iter_mut().skip(phase).for_each(|last| last.measured = true);
        plan
    }

    /// The plan without names and descriptions: two runs with equal nameless plans have the same
    /// last phase, to the last digit.
    #[must_use]
    pub fn nameless(&self) -> Self {
        let mut plan = self.clone();
        (plan.experiment, plan.system, plan.variant) = (String::new(), String::new(), None);
        for phase in &mut plan.phases {
            phase.name = String::new();
            phase.measured = true;
        }
        plan
    }

    /// The plan with metrics of all phases. It is the same run: to look changes nothing.
    #[must_use]
    pub fn all_measured(&self) -> Self {
        let mut plan = self.clone();
        plan.phases.iter_mut().for_each(|phase| phase.measured = true);
        plan
    }

    /// The scale, with its mode.
    #[must_use]
    pub fn scale(&self) -> Scale {
        let text = format!("1/{}", self.scale);
        text.parse::<Scale>().unwrap_or(Scale::FULL).with_mode(self.scale_by)
    }

    /// How many seconds of the full drive a second of the run is.
    #[must_use]
    pub fn time_scale(&self) -> u64 {
        Scaling::new(self.scale(), self.scale_by).time_scale()
    }

    /// The drive, if it is still the one that the plan was made for.
    pub(super) fn find_drive(&self) -> Result<Drive, PlanError> {
        find_unchanged(&self.drive, &self.drive_hash)
    }

    /// The drive whose times the second device has, if it has any, and is as it was.
    pub(super) fn find_second(&self) -> Result<Option<Drive>, PlanError> {
        let drive = self.store.log_device.as_ref().or(self.store.offload.as_ref());
        drive.map(|(name, hash)| find_unchanged(name, hash)).transpose()
    }

    /// The shape of the part of the drive that the store has, scaled.
    pub(super) fn geometry(&self, drive: &Drive) -> Result<Geometry, PlanError> {
        let refused = |problem| PlanError::geometry(drive.name(), self.scale(), problem);
        let whole = drive.geometry(self.scale()).map_err(refused)?;
        let zones = u64::from(conventional(&whole)) + u64::from(self.zones);
        let size = ByteCount(zones * zone_bytes(&whole, whole.zone_size));
        if self.device.is_usual() {
            return drive.geometry_of(self.scale(), size).map_err(refused);
        }
        let rotational = self.device.is_rotational(&whole)?;
        self.device.geometry(&whole, self.space(&whole), rotational).map_err(refused)
    }

    /// The shape of the whole drive whose mechanism the device of the tables has, scaled: that of
    /// the experiment's, or its own.
    pub(super) fn whole_drive(&self, drive: &Drive) -> Result<Geometry, PlanError> {
        let own = self.device.own_drive()?;
        let drive = own.as_ref().unwrap_or(drive);
        let refused = |problem| PlanError::geometry(drive.name(), self.scale(), problem);
        drive.geometry(self.scale()).map_err(refused)
    }

    /// Bytes of the zones that the store has of a `drive`, where the drive's own are as large.
    fn space(&self, drive: &Geometry) -> ByteCount {
        ByteCount(u64::from(self.zones) * zone_bytes(drive, drive.zone_capacity))
    }

    /// Bytes of a key, and the percentage of their bytes to which values can be compressed, if
    /// tables are.
    pub(super) fn compressed(&self) -> Option<(u64, u8)> {
        let percent = self.store.compressible_to.filter(|_| !is_none(&self.store.compression))?;
        self.phases.first().map(|phase| (phase.key_size as u64, percent))
    }

    /// Where log and metadata lie.
    pub(super) fn places(&self) -> Places {
        let log = self.store.log;
        Places { log, metadata: self.store.metadata.unwrap_or(log) }
    }

    /// The log device as the file system sees it, if there is one.
    pub(super) fn log_geometry(&self, drive: &Geometry) -> Result<Option<Geometry>, PlanError> {
        if !self.places().beside() {
            return Ok(None);
        }
        let space = if self.device.is_usual() { self.space(drive) } else { drive.capacity() };
        log_device::size(&self.store, &self.phases, space).map(Geometry::plain).map(Some)
    }

    /// The second device as the file system sees it, if there is one, and its role.
    pub(super) fn second(&self, drive: &Geometry) -> Result<Option<(Role, Geometry)>, PlanError> {
        if self.store.offload.is_none() {
            return Ok(self.log_geometry(drive)?.map(|geometry| (Role::Log, geometry)));
        }
        let space = if self.device.is_usual() { self.space(drive) } else { drive.capacity() };
        let size = if self.store.offload_size > 0 { self.store.offload_size } else { space.0 };
        let size = ByteCount(size.max(OFFLOAD_MIN.0).next_multiple_of(1 << 20));
        Ok(Some((Role::Offload, Geometry::plain(size))))
    }

    /// Where the log device lies on the drive of tables. The store has a part of the `whole` drive,
    /// which is of the shape `drive`.
    pub(super) fn log_starts(
        &self,
        drive: &Geometry,
        whole: &Geometry,
    ) -> Result<Starts, PlanError> {
        let Some(log) = self.log_geometry(drive)? else { return Ok(Starts::default()) };
        Starts::of(self.places(), log.capacity(), drive, whole)
    }

    /// About the memory that the log device takes in addition to the drive's.
    #[must_use]
    pub fn log_memory(&self) -> ByteCount {
        let logs = log_device::logs(&self.store);
        ByteCount(if self.places().beside() { logs } else { 0 })
    }

    /// How the store is opened.
    pub(super) fn options(&self) -> Result<Options, PlanError> {
        let store = &self.store;
        let system = store.system.parse::<System>()?;
        Ok(Options::default()
            .system(system)
            .durability(store.durability())
            .memtable_size(ByteCount(store.memtable_size))
            .memtables_max(store.memtables_max)
            .block_size(ByteCount(store.block_size))
            .compression(store.compression)
            .filter_bits(store.filter_bits)
            .memory(ByteCount(store.memory))
            .io_size(ByteCount(store.io_size))
            .workers(store.workers)
            .file_cache(ByteCount(store.file_cache))
            // The papers' systems do not, but for the thesis's checker.
            .compact_at_rest(system.load == LoadRule::Idle))
    }
}

fn find_variant<'a>(
    experiment: &'a Experiment,
    name: Option<&str>,
) -> Result<Option<&'a Variant>, PlanError> {
    let variants = &experiment.variants;
    match name {
        None if variants.is_empty() => Ok(None),
        _ => {
            let found = variants.iter().find(|variant| Some(&*variant.name) == name);
            found.map(Some).ok_or_else(|| PlanError::Variant {
                known: variants.iter().map(|variant| variant.name.clone()).collect(),
                found: name.unwrap_or("none").to_owned(),
            })
        }
    }
}

pub(super) fn zone_bytes(geometry: &Geometry, blocks: u64) -> u64 {
    blocks * u64::from(geometry.logical_block)
}

/// The conventional zones, which lie before all others.
fn conventional(geometry: &Geometry) -> u32 {
    geometry.conventional.iter().map(|run| run.end).max().unwrap_or(0)
}

/// How many sequential zones `space` is; without a limit, all of them.
fn zones(full: &Geometry, space: Option<u64>) -> Result<u32, PlanError> {
    let all = full.zones - conventional(full);
    let Some(space) = space else { return Ok(all) };
    let zone = zone_bytes(full, full.zone_size);
    let zones = u32::try_from(space / zone).unwrap_or(u32::MAX);
    if (1..=all).contains(&zones) {
        return Ok(zones);
    }
    Err(PlanError::Impossible {
        what: "space".into(),
        expected: format!("1 to {all} zones of {}", ByteCount(zone)),
        found: ByteCount(space).to_string(),
    })
}

/// The drive of this name, if it still has the parameters of this hash.
pub(super) fn find_unchanged(name: &str, hash: &str) -> Result<Drive, PlanError> {
    let drive = Drive::find(name)?;
    let found = hash_of(&drive);
    if found == hash {
        return Ok(drive);
    }
    Err(PlanError::Impossible {
        what: format!("drive {name}"),
        expected: format!("the parameters of hash {hash}"),
        found,
    })
}

/// Every parameter is in the text that is hashed.
pub(super) fn hash_of(drive: &Drive) -> String {
    format!("{:016x}", xxh3_64(format!("{drive:?}").as_bytes()))
}
