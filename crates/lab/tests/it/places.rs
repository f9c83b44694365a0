//! Where log and metadata of a run lie: on the drive of tables, on a log device that is free or has
//! the times of a drive of its own, or in other zones of the drive of tables. Each request has the
//! times of its place, and counts there.

use terrace_lab::experiment::Experiment;
use terrace_lab::run::{LogDeviceAmplification, Metrics, RunChoice, RunPlan};

use crate::run::{LOAD, metrics};

/// The load with these settings of the store.
fn with(settings: &str) -> String {
    // With space enough that nothing is collected: the start of the collector depends on which
    // actor is faster.
    LOAD.replace("6GiB", "24GiB").replace("[store]", &format!("[store]\n{settings}"))
}

/// A short load of synced writes, with memtables so large that the drive has little to do.
fn synced(settings: &str) -> Metrics {
    metrics(&synced_text(settings), "1/64")
}

fn synced_text(settings: &str) -> String {
    let text = with(&format!("synced = true\n{settings}")).replace("8MiB", "64MiB");
    text.replace("300_000", &format!("{}", SYNCED * 64))
}

/// Writes of a synced load, in the run.
const SYNCED: u32 = 3_000;

fn on_device(drive: &str) -> String {
    format!("log = \"log-device\"\nlog_device = \"{drive}\"")
}

#[test]
fn a_free_log_is_written_to_a_log_device_and_not_to_the_drive() {
    let here = metrics(&with(""), "1/64");
    let text = with("log = \"free\"");
    let free = metrics(&text, "1/64");
    assert_eq!(metrics(&text, "1/64"), free, "the same seed");
    assert_eq!((here.write_amplification.reclaim, free.write_amplification.reclaim), (0., 0.));
    for cause in ["log", "journal"] {
        assert!(here.seconds_by_cause[cause] > 0.0 && here.writes_by_cause[cause] > 0.0, "{cause}");
        let of_drive = [&free.seconds_by_cause, &free.writes_by_cause];
        assert_eq!(of_drive.map(|it| it.get(cause)), [None, None], "{cause}");
    }
    // Other times of flushes make other merges: that alone is worth some percent either way.
    let faster = free.kv_per_second / here.kv_per_second;
    assert!(faster > 0.95, "{faster} times as fast");
    // The same bytes are written, to the other device.
    let (wa, beside) = (free.write_amplification, free.log_device_amplification);
    assert_eq!((wa.log, wa.metadata), (0., 0.));
    assert_eq!(wa.total, wa.flush + wa.compaction + wa.reclaim);
    let (log, metadata) = (here.write_amplification.log, here.write_amplification.metadata);
    assert!((beside.log / log - 1.0).abs() < 0.01, "{} and {log}", beside.log);
    assert!((beside.metadata / metadata - 1.0).abs() < 0.1, "{} and {metadata}", beside.metadata);
    assert!((beside.total - beside.log - beside.metadata).abs() < 1e-9, "{beside:?}");
    assert_eq!(here.log_device_amplification, LogDeviceAmplification::default());
    for of_times in [&free.log_device_seconds_by_cause, &free.log_device_service_by_cause] {
        assert!(of_times.is_empty(), "{of_times:?}");
    }
}

#[test]
fn a_synced_write_waits_for_a_revolution_of_a_disk_beside_the_drive_but_hardly_for_flash() {
    let disk = synced(&on_device("hitachi-hua72303"));
    assert_eq!(synced(&on_device("hitachi-hua72303")), disk, "the same seed");
    let flash = synced(&on_device("wd-zn540"));
    // One client at 7200 revolutions a minute. The scale shortens a revolution and the run alike,
    // but not the transfer, which weighs 64 times as much.
    let revolution = 60.0 / 7200.0;
    let syncs = disk.log_device_writes_by_cause["log"];
    assert!(syncs >= f64::from(SYNCED), "{syncs}");
    let each = |of: &Metrics| of.log_device_service_by_cause["log"] / syncs;
    println!("{} s a sync on the disk, {} s on flash", each(&disk), each(&flash));
    assert!((1.0..1.5).contains(&(each(&disk) / revolution)), "{}", each(&disk));
    assert!(each(&flash) < revolution / 20.0, "{}", each(&flash));
    assert!(disk.seconds > 0.9 * syncs * revolution, "{} s", disk.seconds);
    assert!(disk.seconds > 2.0 * flash.seconds, "{} and {} s", disk.seconds, flash.seconds);
    for of in [&disk, &flash] {
        let wa = of.write_amplification;
        assert_eq!((wa.log, wa.metadata), (0., 0.));
        assert!((1.9..2.1).contains(&of.log_device_amplification.log), "two blocks to an entry");
        for cause in ["log", "journal"] {
            assert_eq!(of.seconds_by_cause.get(cause), None, "{cause}");
            assert!(of.log_device_seconds_by_cause[cause] > 0.0, "{cause}");
        }
        let worked: f64 = of.log_device_seconds_by_cause.values().sum();
        assert!((worked / of.seconds - 1.0).abs() < 1e-6, "{worked} of {} s", of.seconds);
    }
    assert!(disk.log_device_positioning_by_cause["log"] > 0.0);
    assert_ne!(disk.trace_hash, flash.trace_hash);
}

#[test]
fn the_trace_hash_covers_the_log_device() {
    // Fifteen synced writes, fewer than a memtable has: the drive of tables is not written to, so
    // that nothing but the log device's requests tells these runs apart.
    let few = |settings: &str| {
        let text = with(&format!("synced = true\n{settings}")).replace("300_000", "1_000");
        metrics(&text, "1/64")
    };
    let [disk, flash] = ["hitachi-hua72303", "wd-zn540"].map(|drive| few(&on_device(drive)));
    for of in [&disk, &flash] {
        assert!(of.writes_by_cause.is_empty(), "{:?}", of.writes_by_cause);
    }
    assert_eq!(disk.log_device_amplification, flash.log_device_amplification);
    assert_ne!(disk.trace_hash, flash.trace_hash);
}

#[test]
fn metadata_in_conventional_zones_move_the_head_of_the_drive() {
    let free = metrics(&with("log = \"free\""), "1/64");
    let text = with("log = \"free\"\nmetadata = \"conventional\"");
    let there = metrics(&text, "1/64");
    assert_eq!(metrics(&text, "1/64"), there, "the same seed");
    let (wa, beside) = (there.write_amplification, there.log_device_amplification);
    assert!(wa.log == 0.0 && beside.log > 1.0, "{} and {}", wa.log, beside.log);
    assert!(beside.metadata == 0.0 && wa.metadata > 0.0, "{} and {}", beside.metadata, wa.metadata);
    let seeking = there.positioning_by_cause["journal"] / there.writes_by_cause["journal"];
    println!("{seeking} s of seeking a commit");
    // To the middle of the disk, and half a revolution: 5 ms at least, and not 50.
    assert!((0.005..0.05).contains(&seeking), "{seeking}");
    assert!(there.service_by_cause["journal"] > there.positioning_by_cause["journal"]);
    let sum: f64 = there.seconds_by_cause.values().sum();
    assert!((sum / there.seconds - 1.0).abs() < 1e-9, "{sum} of {}", there.seconds);
    assert!(there.log_device_seconds_by_cause.is_empty());
    assert_eq!(free.positioning_by_cause.get("journal"), None);
}

#[test]
fn log_and_metadata_can_lie_on_a_device_and_in_conventional_zones() {
    let text = with(&format!("{}\nmetadata = \"conventional\"", on_device("hitachi-hua72303")));
    let both = metrics(&text, "1/64");
    assert_eq!(metrics(&text, "1/64"), both, "the same seed");
    assert!(both.log_device_seconds_by_cause["log"] > 0.0);
    assert_eq!(both.log_device_seconds_by_cause.get("journal"), None);
    assert!(both.seconds_by_cause["journal"] > 0.0);
    assert_eq!(both.seconds_by_cause.get("log"), None);
    let conventional = metrics(&with("log = \"conventional\""), "1/64");
    assert!(conventional.write_amplification.log > 1.0);
    assert!(conventional.seconds_by_cause["log"] > 0.0);
    assert_eq!(conventional.log_device_amplification, LogDeviceAmplification::default());
}

#[test]
fn a_log_in_sequential_zones_is_nearer_to_the_tables_than_one_in_conventional_zones() {
    let text = |log: &str| synced_text(&format!("log = \"{log}\"\nmetadata = \"sequential\""));
    let [near, far] = ["sequential", "conventional"].map(|log| metrics(&text(log), "1/64"));
    assert_eq!(metrics(&text("sequential"), "1/64"), near, "the same seed");
    for of in [&near, &far] {
        assert!(of.write_amplification.log > 1.0 && of.write_amplification.metadata > 0.0);
        assert_eq!(of.log_device_amplification, LogDeviceAmplification::default());
        assert!(of.seconds_by_cause["log"] > 0.0 && of.seconds_by_cause["journal"] > 0.0);
    }
    let each = |of: &Metrics| of.positioning_by_cause["log"] / of.writes_by_cause["log"];
    println!("{} s of seeking a synced write nearby, {} s far off", each(&near), each(&far));
    assert!(near.trace_hash != far.trace_hash && each(&near) < each(&far));
}

#[test]
fn places_that_do_not_fit_together_are_refused() {
    let refused = |settings: &str, drive: &str| {
        let text = with(settings).replace("seagate-st13125nm007", drive);
        let experiment = Experiment::parse("test", "test.toml", &text).unwrap();
        let scale = "1/64".parse().unwrap();
        let choice = RunChoice { system: "bluefs", variant: None, scale, seed: 1 };
        RunPlan::new(&experiment, choice).unwrap_err().to_string()
    };
    let disk = "seagate-st13125nm007";
    let apart = refused("metadata = \"conventional\"", disk);
    assert!(apart.contains("both on the drive or neither") && apart.contains("drive and conv"));
    let nameless = refused("log = \"log-device\"", disk);
    assert!(nameless.contains("log_device: expected the name of a drive"), "{nameless}");
    let unused = refused("log_device = \"wd-zn540\"", disk);
    assert!(unused.contains("found wd-zn540"), "{unused}");
    let unknown = Experiment::parse("test", "test.toml", &with(&on_device("floppy")));
    let unknown = unknown.unwrap_err().to_string();
    assert!(unknown.contains("log_device: ") && unknown.contains("\"floppy\""), "{unknown}");
    let flash = refused("log = \"conventional\"", "wd-zn540");
    assert!(flash.contains("expected a drive with conventional zones"), "{flash}");
    let flash = refused("log = \"sequential\"", "wd-zn540");
    assert!(flash.contains("in sequential zones: expected a disk, found flash"), "{flash}");
    let zoned = refused("log = \"middle\"", disk);
    assert!(zoned.contains("in the middle: expected a disk without zones"), "{zoned}");
    let plain = refused("log = \"conventional\"\ndevice = { kind = \"plain\" }", disk);
    assert!(plain.contains("expected a drive with conventional zones"), "{plain}");
}
