//! [`Stage`]: the modelled drive of a run, its log device or offload device if it has one, the
//! store on them, and its clients.
//!
//! [`Stage::open`] formats the devices and opens the store. The phases then run once each, in
//! order, because each goes on with the store as the one before left it. [`Stage::finish`] verifies
//! the store without the devices' timing, closes it and, if both succeed, ends the trace. A store
//! that moves too much fails ([`WorkLimit`]).
//!
//! A stage must be used inside a simulation with the plan's seed.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use terrace::{ByteCount, Db, Devices, FormatOptions, Fs, Options};
use terrace_env::store::StoreError;
use terrace_env::sync::Mutex;
use terrace_fs::MountOptions;
use terrace_fs::superblock::Role;
use terrace_zone::emulator::Timing;
use terrace_zone::timing::{Drive, ScaleMode};
use terrace_zone::{Device, Emulator, Geometry};

use super::addresses::{Addresses, Notes};
use super::jobs::Jobs;
use super::log_timing::{LogTiming, OnDrive, SharedTiming};
use super::metrics::metrics;
use super::observer::{Observation, Observer};
use super::occupancy::zone_shares;
use super::phase::PhasePlan;
use super::plan::RunPlan;
use super::recorder::{Recorder, Trace, TraceOf};
use super::sampler::{Sampler, Scene};
use super::work_limit::WorkLimit;
use super::{Cost, Outcome, PlanError, Progress, RunError};
use crate::workload::{Arriving, Crowd, Entries, First, Sizes, World};

/// Operations between two calls of the watch.
const WATCH_EVERY: u64 = 1024;

/// A run in flight; to be used inside a simulation with the plan's seed.
pub(super) struct Stage<'a> {
    plan: &'a RunPlan,
    scene: Scene,
    trace: Arc<Mutex<Trace>>,
    /// Where merges write, on a device without zones.
    notes: Option<Arc<Mutex<Notes>>>,
    limit: WorkLimit,
}

impl<'a> Stage<'a> {
    /// Makes the store. The trace of all requests is also written to `into`.
    pub(super) fn open(
        plan: &'a RunPlan,
        into: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, RunError> {
        let model = plan.find_drive()?;
        let geometry = plan.geometry(&model)?;
        let trace = Trace::written_to(into);
        let timing = plan.device.timing(&model, plan.scale(), &geometry)?;
        let notes: Option<Arc<Mutex<Notes>>> = (!geometry.layout.is_zoned()).then(Arc::default);
        let recorder = Recorder::new(timing, Arc::clone(&trace));
        let recorder = recorder.noting(notes.clone(), geometry.logical_block.into());
        let timing = SharedTiming::new(Box::new(recorder));
        let (second, second_mechanisms) =
            second_device(plan, (&model, &geometry), &timing, &trace)?;
        let refused = |problem| PlanError::geometry(model.name(), plan.scale(), problem);
        let drive = Arc::new(Emulator::in_memory(geometry, plan.seed).map_err(refused)?);
        drive.set_timing(Some(Box::new(timing)));
        let entries = entries(plan)?;
        let place = |error: terrace::Error| RunError::Store { place: "opening".into(), error };
        let limit = WorkLimit::default();
        let opened = store(plan, plan.options()?, &drive, second.clone(), &limit);
        let (db, fs) = opened.map_err(place)?;
        let size = db.store().space().capacity;
        limit.set(db.write_amplification(size), size);
        let jobs = Arc::new(Jobs::noting(notes.clone()));
        db.listen(Arc::clone(&jobs) as _);
        let world = World::new(db.clone(), Arc::new(entries));
        let rate = match plan.scale_by {
            ScaleMode::Delays => 1,
            ScaleMode::Bandwidths => plan.scale,
        };
        let scene = Scene {
            db,
            fs,
            drive,
            log_device: second.map(|(_, device)| device),
            world,
            jobs,
            places: plan.places(),
            mechanisms: plan.device.mechanisms(&model)?,
            log_mechanisms: second_mechanisms,
            compressed: plan.compressed(),
            time_scale: plan.time_scale(),
            rate,
        };
        Ok(Self { plan, scene, trace, notes, limit })
    }

    /// The parts of the run.
    #[cfg(test)]
    pub(super) fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Has an observer shown the store from now on.
    pub(super) fn observed(&self, observer: Arc<dyn Observer>) -> Observation {
        Observation::start(self.scene.db.clone(), self.scene.time_scale, observer)
    }

    /// Carries a phase out; returns its outcome, where it is measured.
    pub(super) fn phase(
        &self,
        at: usize,
        watch: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Outcome>, RunError> {
        let phase = &self.plan.phases[at];
        self.scene.jobs.take_merges();
        self.addresses(0);
        let syncs_before = self.trace.lock().syncs();
        let processor = processor_seconds();
        let from = self.scene.reading();
        let (done, of) = (Arc::new(AtomicU64::new(0)), phase.counted(phase.operations));
        let every = Duration::from_nanos(self.plan.sample_every);
        let sampler = phase.measured.then(|| {
            Sampler::start(self.scene.clone(), from.clone(), every, Arc::clone(&done), of)
        });
        let place = |error| RunError::Store { place: format!("phase {}", phase.name), error };
        let played = self.play(at, phase, &mut |operations| {
            done.store(phase.counted(operations), Ordering::Relaxed);
            if operations % WATCH_EVERY == 0 {
                watch(Progress { phase: &phase.name, operations, of: phase.operations });
            }
        });
        let played = played.and_then(|tally| {
            done.store(of, Ordering::Relaxed);
            if phase.wait_idle {
                self.scene.db.wait_idle().map_err(place)?;
                self.scene.fs.wait_reclaim_idle();
            }
            Ok(tally)
        });
        // After an error, too: the run may not end before its sampler.
        let sampled = sampler.map(Sampler::stop).transpose();
        let tally = played?;
        let of_store = |error: StoreError| place(error.into());
        let Some(samples) = sampled.map_err(of_store)? else { return Ok(None) };
        let to = self.scene.reading();
        let interval = to.since(&from);
        let (read, written) = interval.moved();
        let held = self.scene.occupancy().map_err(of_store)?;
        let trace = TraceOf::since(syncs_before, &self.trace.lock());
        let merges = self.merges();
        let found = (&samples, &merges[..]);
        let addresses = self.addresses(held.space.fragment_below.0);
        let metrics = metrics(&self.scene, &interval, found, &held, &tally, trace);
        Ok(Some(Outcome {
            experiment: self.plan.experiment.clone(),
            system: self.plan.system.clone(),
            variant: self.plan.variant.clone(),
            phase: phase.name.clone(),
            scale: self.plan.scale().to_string(),
            seed: self.plan.seed,
            metrics,
            samples: samples.samples,
            merges,
            zones: zone_shares(&self.scene.fs).map_err(of_store)?,
            addresses,
            cost: Cost {
                processor_seconds: processor_seconds() - processor,
                gigabytes_moved: (read + written) as f64 / 1e9,
            },
        }))
    }

    /// The reason for a failure: the limit of work, if the store has moved too much.
    pub(super) fn explain(&self, error: RunError) -> RunError {
        self.limit.exceeded().map_or(error, RunError::TooMuchMoved)
    }

    /// Where the tables of this phase's merges lie, and the free runs, if there are no zones.
    fn addresses(&self, fragment: u64) -> Addresses {
        let Some(notes) = &self.notes else { return Addresses::default() };
        let (free, size) = (self.scene.fs.free_runs(), self.scene.drive.geometry().capacity().0);
        let scale = (self.scene.time_scale * self.scene.rate) as f64;
        notes.lock().take(free, (size, fragment), scale)
    }

    /// The seconds of the merges that ended in this phase, of the full drive.
    fn merges(&self) -> Vec<f64> {
        let seconds = |time: Duration| time.as_secs_f64() * self.scene.time_scale as f64;
        let merges = self.scene.jobs.take_merges().into_iter();
        merges.map(|time| (seconds(time) * 1e4).round() / 1e4).collect()
    }

    fn play(
        &self,
        at: usize,
        phase: &PhasePlan,
        watch: &mut dyn FnMut(u64),
    ) -> Result<crate::workload::Tally, RunError> {
        // Another sequence for each phase.
        let seed = self.plan.seed.rotate_left(8) ^ at as u64;
        let left = self.scene.world.ledger().end_number();
        let source = First::new(phase.workload(left, seed)?, phase.operations);
        let store = &self.plan.store;
        let crowd = Crowd {
            clients: phase.clients as usize,
            durability: Some(store.durability()),
            synced_every: store.synced_every,
            time_scale: self.scene.time_scale,
            write_weight: phase.all_reads.map_or(1, |reads| reads.times.into()),
        };
        let world = &self.scene.world;
        let played = match phase.process()? {
            None => crowd.play(world, source, watch),
            Some((process, span)) => {
                let instants = process.instants(seed.rotate_left(16), Some(span));
                crowd.play(world, Arriving::new(source, instants), watch)
            }
        };
        played.map_err(|error| RunError::Client { phase: phase.name.clone(), error })
    }

    /// Ends the run: outside of its time, all contents of the store are held against the writes,
    /// and the store is closed.
    pub(super) fn finish(self) -> Result<(), RunError> {
        self.scene.drive.set_timing(None);
        self.scene.log_device.iter().for_each(|device| device.set_timing(None));
        let verified = self.scene.world.verify(&mut |_| ());
        let Self { scene, trace, .. } = self;
        let closed = scene.db.clone().close();
        verified.map_err(RunError::Contents)?;
        closed.map_err(|error| RunError::Store { place: "closing".into(), error })?;
        let finished: io::Result<()> = trace.lock().finish();
        finished.map_err(RunError::Trace)
    }
}

/// The second device of a store and its role, and how many parts of its own drive's mechanism work
/// at once.
type Second = (Option<(Role, Arc<Emulator>)>, u64);

/// The second device, if there is one. `drive` is that of the tables, with the part of it that the
/// store has; `timing` is its model.
fn second_device(
    plan: &RunPlan,
    drive: (&Drive, &Geometry),
    timing: &SharedTiming,
    trace: &Arc<Mutex<Trace>>,
) -> Result<Second, PlanError> {
    let (whole, part) = drive;
    let Some((role, geometry)) = plan.second(part)? else { return Ok((None, 1)) };
    let name = if role == Role::Log { "the log device" } else { "the offload device" };
    let size = geometry.capacity();
    let emulator = Emulator::in_memory(geometry, plan.seed);
    let emulator = emulator.map_err(|problem| PlanError::geometry(name, plan.scale(), problem))?;
    let model = plan.find_second()?;
    let device = model.as_ref().map(|model| {
        let timing = model.plain_timing(plan.scale(), size);
        let timing =
            timing.map_err(|problem| PlanError::geometry(model.name(), plan.scale(), problem))?;
        Ok::<_, PlanError>(Box::new(Recorder::beside(timing, Arc::clone(trace))) as Box<dyn Timing>)
    });
    let device = device.transpose()?;
    if role == Role::Offload {
        emulator.set_timing(device);
    } else {
        let starts = plan.log_starts(part, &plan.whole_drive(whole)?)?;
        let block = u64::from(part.logical_block);
        let on_drive =
            (!starts.is_empty()).then(|| OnDrive { model: timing.clone(), starts, block });
        if device.is_some() || on_drive.is_some() {
            emulator.set_timing(Some(Box::new(LogTiming::new(plan.places(), device, on_drive))));
        }
    }
    let mechanisms = model.map_or(1, |model| model.mechanisms());
    Ok((Some((role, Arc::new(emulator))), mechanisms))
}

/// Makes the store, and opens it so that its log is written the way the plan has it.
fn store(
    plan: &RunPlan,
    options: Options,
    drive: &Arc<Emulator>,
    second: Option<(Role, Arc<Emulator>)>,
    limit: &WorkLimit,
) -> Result<(Db, Arc<Fs>), terrace::Error> {
    let log = plan.store.log_writes;
    let mut format = FormatOptions::default();
    let devices = match second {
        None => Devices::from(log.device(Arc::clone(drive) as _)),
        Some((Role::Log, device)) => Devices::pair(Arc::clone(drive) as _, log.device(device)),
        Some((Role::Offload, device)) => {
            format.role = Role::Offload;
            Devices::pair(log.device(Arc::clone(drive) as _), device)
        }
    };
    Fs::format(devices.clone(), &format)?;
    let fs = Fs::mount(devices, &MountOptions::default())?;
    fs.set_flush_every(ByteCount(plan.store.flush_every));
    let store = plan.store.metadata_writes.store(Arc::clone(&fs) as _);
    let store = log.store(store, plan.store.log_chunk, plan.store.log_buffer);
    let store = limit.store(store);
    let db = Db::open_fs_through(Arc::clone(&fs), store, options)?;
    fs.set_cache(ByteCount(plan.store.file_cache), plan.store.cache_policy);
    Ok((db, fs))
}

fn entries(plan: &RunPlan) -> Result<Entries, PlanError> {
    let (mut value_size_max, mut first) = (0, None);
    for phase in &plan.phases {
        value_size_max = value_size_max.max(phase.values()?.max() as usize);
        first.get_or_insert((phase.key_size, phase.preset()?.key_order()));
    }
    let Some((key_size, order)) = first else { return Err(PlanError::no_phases()) };
    let entries = Entries::new(plan.seed, Sizes::Constant(key_size as u32), order, value_size_max);
    Ok(match plan.store.compressible_to {
        Some(percent) => entries.compressible_to(percent),
        None => entries,
    })
}

/// Processor time of this thread: a simulation runs on one, whatever other threads do.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use terrace_env::random::Random;
    use terrace_env::runner;
    use terrace_zone::PowerCut;

    use super::*;
    use crate::experiment::Experiment;
    use crate::run::RunChoice;
    use crate::workload::{ClientError, Defect};

    const LOAD: &str = r#"
        title = "a load"
        source = "none"
        about = "for a test"
        drive = "seagate-st13125nm007"
        space = "6GiB"
        systems = ["bluefs"]
        sample_every = "1 s"
        store = { memtable_size = "8MiB" }
        [[phase]]
        workload = "fillseq"
        operations = 20_000
    "#;

    fn plan(text: &str) -> RunPlan {
        let experiment = Experiment::parse("test", "test.toml", text).unwrap();
        let scale = "1/64".parse().unwrap();
        RunPlan::new(&experiment, RunChoice { system: "bluefs", variant: None, scale, seed: 1 })
            .unwrap()
    }

    /// Runs the plan, and changes the store, unknown to the run, before it is verified.
    fn finish(meddle: impl Fn(&World)) -> Result<(), RunError> {
        let plan = plan(LOAD);
        runner::simulate(plan.seed, || {
            let stage = Stage::open(&plan, None)?;
            stage.phase(0, &mut |_| ())?;
            meddle(&stage.scene().world);
            stage.finish()
        })
    }

    #[test]
    fn a_store_on_a_disk_merges_with_one_worker_and_on_flash_with_several() {
        let workers = |drive: &str, store: &str| {
            let text = LOAD.replace("6GiB", "64GiB").replace("seagate-st13125nm007", drive);
            let plan = plan(&text.replace("memtable_size", &format!("{store}memtable_size")));
            runner::simulate(plan.seed, || {
                let stage = Stage::open(&plan, None).unwrap();
                let workers = stage.scene.db.stats().workers;
                stage.finish().unwrap();
                workers
            })
        };
        assert_eq!(workers("seagate-st13125nm007", ""), 1);
        assert!(workers("wd-zn540", "") > 1);
        assert_eq!(workers("seagate-st13125nm007", "workers = 3, "), 3);
    }

    #[test]
    fn a_log_device_is_not_half_full_even_if_every_small_entry_takes_a_block() {
        let text = LOAD.replace("20_000", "1_000_000");
        let text = text.replace("memtable_size", "log = \"free\", synced = true, memtable_size");
        let plan = plan(&text);
        let (used, size) = runner::simulate(plan.seed, || {
            let stage = Stage::open(&plan, None).unwrap();
            let (mut used, mut size) = (0, 0);
            stage
                .phase(0, &mut |_| {
                    let device = stage.scene.fs.devices().remove(1);
                    size = device.capacity.0;
                    used = used.max(size - device.space.free.0);
                })
                .unwrap();
            stage.finish().unwrap();
            (used, size)
        });
        assert!(used > 2 * plan.log_memory().0, "no padding: {used} of {}", plan.log_memory());
        assert!(used < size / 2, "{used} of {size}");
    }

    #[test]
    fn operations_with_arrivals_last_as_long_as_these_and_their_waits_are_told() {
        let outcome = |text: &str| {
            let plan = plan(text);
            runner::simulate(plan.seed, || {
                let stage = Stage::open(&plan, None).unwrap();
                let outcome = stage.phase(0, &mut |_| ()).unwrap().unwrap();
                stage.finish().unwrap();
                (plan, outcome.metrics)
            })
        };
        let arrivals = "operations = 20_000\narrivals = \"sine:2,period=64,amplitude=0.2\"";
        let (plan, metrics) = outcome(&LOAD.replace("operations = 20_000", arrivals));
        // A second of the run is 64 of the full drive, and an operation stands for 64.
        let text = plan.phases[0].arrivals.as_deref();
        assert_eq!(text, Some("sine:2,amplitude=0.2,period=1,step=0.01,gaps=exponential"));
        assert!((metrics.kv_per_second - 2.0).abs() < 0.4, "{}", metrics.kv_per_second);
        assert_eq!(metrics.arrival_wait_seconds.len(), 5);
        assert!(metrics.arrival_wait_seconds["max"] <= metrics.latency_seconds["max"]);
        let (plan, metrics) = outcome(LOAD);
        assert!(metrics.arrival_wait_seconds.is_empty() && metrics.kv_per_second > 100.0);
        // Neither names the field: results from before there were arrivals are found again.
        assert!(!serde_json::to_string(&plan).unwrap().contains("arrivals"));
        assert!(!serde_json::to_string(&metrics).unwrap().contains("arrival"));
    }

    #[test]
    fn what_is_offloaded_is_told_as_a_share_and_as_wear() {
        let text = LOAD.replace("fillseq", "fillrandom").replace("20_000", "4_000_000");
        let store =
            "logged = false, offload = \"wd-zn540\", offload_size = \"2GiB\", memtable_size";
        let plan = plan(&text.replace("memtable_size", store));
        runner::simulate(plan.seed, || {
            let stage = Stage::open(&plan, None).unwrap();
            let written = || {
                let device = stage.scene.fs.devices().remove(1);
                (device.io.written_bytes.iter().sum::<u64>() as f64, device.capacity.0 as f64)
            };
            let (before, size) = written();
            let offloaded = stage.phase(0, &mut |_| ()).unwrap().unwrap().metrics.offloaded;
            let bytes = written().0 - before;
            let user = stage.scene.db.stats().user_bytes as f64;
            assert!(offloaded["held"] > 0.0 && offloaded["held"] < 1.0, "{offloaded:?}");
            assert_eq!(size, (2_u64 << 30) as f64 / 64.0);
            assert!(offloaded["share"] > 0.0 && offloaded["share"] <= 1.0, "{offloaded:?}");
            let near =
                |metric: &str, expected: f64| (offloaded[metric] / expected - 1.0).abs() < 0.01;
            assert!(near("written", bytes / user), "{offloaded:?}: {bytes} of {user}");
            assert!(near("wear", bytes / size), "{offloaded:?}: {bytes} on {size}");
            stage.finish().unwrap();
        });
    }

    #[test]
    fn a_phase_whose_drive_fails_ends_with_that_error() {
        let plan = plan(&LOAD.replace("memtable_size", "synced = true, memtable_size"));
        let ended = runner::simulate(plan.seed, || {
            let stage = Stage::open(&plan, None)?;
            let mut random = Random::seeded(1);
            stage.scene.drive.power_cut(PowerCut::any(&mut random), &mut random).unwrap();
            stage.phase(0, &mut |_| ()).map(drop)
        });
        assert!(matches!(ended, Err(RunError::Client { .. })), "{ended:?}");
    }

    #[test]
    fn a_load_that_moves_too_much_fails_by_itself_and_says_where_the_bytes_went() {
        let plan = plan(&LOAD.replace("fillseq", "fillrandom").replace("20_000", "4_000_000"));
        runner::simulate(plan.seed, || {
            let stage = Stage::open(&plan, None).unwrap();
            // The same load is within the limit of its system, as the other tests show.
            stage.limit.set(0.0, ByteCount(0));
            let error = stage.phase(0, &mut |_| ()).map_err(|error| stage.explain(error));
            let error = error.expect_err("a limit of nothing");
            let text = error.to_string();
            assert!(matches!(error, RunError::TooMuchMoved(_)), "{text}");
            assert!(text.contains("flush") && text.contains("compaction"), "{text}");
        });
    }

    #[test]
    fn a_store_that_has_lost_an_entry_fails_the_run() {
        finish(|_| ()).unwrap();
        let lost = finish(|world| {
            let mut key = Vec::new();
            world.entries().key(123, &mut key);
            world.db().delete(&key).unwrap();
        });
        match lost {
            Err(RunError::Contents(ClientError::Mismatch { defect, .. })) => {
                assert_eq!(defect, Defect::Missing);
            }
            other => panic!("expected a missing entry, found {other:?}"),
        }
    }
}
