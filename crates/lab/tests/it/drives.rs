//! The models of drives against published measurements, and a whole store on one of them.
//!
//! `TERRACE_REGENERATE=1 cargo test -p terrace-lab --test it drives` writes the golden and the
//! table of `docs/drives.md` anew.

use std::sync::Arc;

use terrace::{ByteCount, Db, FormatOptions, Options};
use terrace_env::{Cause, Time, runner};
use terrace_lab::drives::{self, Comparison, Grid, Validation};
use terrace_zone::Emulator;
use terrace_zone::timing::{DeviceTime, Drive, Job, Metric, Pattern, Rate, Region, Scale};

use crate::golden::{check, file, regenerates};

/// The text between two marks of a page, or the page with it replaced.
fn between(page: &str, start: &str, end: &str, new: Option<&str>) -> String {
    let (head, rest) = page.split_once(start).expect("the start mark");
    let (old, tail) = rest.split_once(end).expect("the end mark");
    new.map_or_else(|| old.to_owned(), |new| format!("{head}{start}{new}{end}{tail}"))
}

#[test]
fn every_model_is_within_a_tenth_of_what_was_published() {
    let mut validation = Validation::default();
    for drive in Drive::all() {
        validation.comparisons.extend(drives::validate(&drive).unwrap());
    }
    assert!(validation.comparisons.len() > 20);
    let off: Vec<String> = validation.failures().map(|one| format!("{one:?}")).collect();
    assert!(off.is_empty(), "{off:#?}");
    let page = std::fs::read_to_string(file("../../docs/drives.md")).unwrap();
    let (start, end) = ("<!-- validate-drives -->\n\n", "\n<!-- end -->");
    if regenerates() {
        let page = between(&page, start, end, Some(&validation.to_string()));
        std::fs::write(file("../../docs/drives.md"), page).unwrap();
    } else {
        let table = between(&page, start, end, None);
        assert_eq!(table, validation.to_string(), "docs/drives.md: run with TERRACE_REGENERATE=1");
    }
}

#[test]
fn a_sweep_gives_the_same_metrics_on_every_machine() {
    let grid = Grid { sizes: vec![ByteCount::kib(256)], depths: vec![1, 16] };
    let mut validation = Validation::default();
    for drive in Drive::all() {
        validation.cells.extend(drives::sweep(&drive, &grid).unwrap());
    }
    check("tests/golden/sweep.md", &validation.to_string());
}

#[test]
fn a_model_that_is_off_is_found() {
    let drive = Drive::find("hitachi-hua72303").unwrap();
    let mut published = drive.published()[0].clone();
    published.metric = Metric::Rate(Rate(1000));
    for (model, holds) in [(890, false), (910, true), (1000, true), (1090, true), (1110, false)] {
        let (drive, published) = (drive.name().to_owned(), published.clone());
        let comparison = Comparison { drive, published, model: Metric::Rate(Rate(model)) };
        assert_eq!(comparison.holds(), holds, "{model}");
        let validation = Validation { comparisons: vec![comparison], cells: Vec::new() };
        assert_eq!(validation.failures().count(), usize::from(!holds));
        assert_eq!(validation.to_string().contains("(off)"), !holds);
    }
}

/// Loads a store in key order on a part of a disk; gives the history, the device time, how long
/// it took, and the bytes that were written.
fn load(seed: u64, entries: u32) -> (Option<u64>, DeviceTime, Time, u64) {
    runner::simulate(seed, || {
        let drive = Drive::find("seagate-st13125nm007").unwrap();
        let scale: Scale = "1/16".parse().unwrap();
        // The conventional zones take 7.6 GiB of it.
        let size = ByteCount::gib(10);
        let device = Arc::new(Emulator::modelled(&drive, scale, size, seed).unwrap());
        let options = Options::default().memtable_size(ByteCount::mib(8));
        let format = FormatOptions::default();
        let db = Db::create_device(Arc::clone(&device), &format, options).unwrap();
        let value = vec![7; 4096];
        for key in 0..entries {
            db.put(&key.to_be_bytes(), &value).unwrap();
        }
        db.wait_idle().unwrap();
        db.sync().unwrap();
        let (end, io) = (runner::now(), device.io());
        let written = Cause::ALL.iter().map(|cause| io.written(*cause).0).sum();
        let device_time = device.device_time();
        db.close().unwrap();
        (runner::history(), device_time, end, written)
    })
}

#[test]
fn a_store_is_loaded_at_the_bandwidth_of_its_disk_and_twice_the_same_way() {
    let entries = 16_384;
    let (history, time, end, written) = load(1, entries);
    assert_eq!((history, &time, end, written), {
        let again = load(1, entries);
        assert_eq!(again.1, time);
        (again.0, &time, again.2, again.3)
    });
    let rate = written as f64 / end.since(Time(0)).as_secs_f64();
    let drive = 245e6;
    assert!((0.85 * drive..1.02 * drive).contains(&rate), "{:.1} MB/s", rate / 1e6);
    for cause in [Cause::Log, Cause::Flush] {
        assert!(time.of(cause).transfer > end.since(Time(0)) / 4, "{cause}: {:?}", time.of(cause));
    }
}

#[test]
fn a_sequential_job_that_would_go_on_behind_the_drive_is_refused() {
    let model = std::fs::read_to_string(file("../zone/src/timing/drives/hgst-hsh721414al.toml"));
    let model = model.unwrap().replace("value = 524,", "value = 4,").replace("256MiB", "16MiB");
    let of = |zones: &str| {
        let text = model.replace("value = 52156", &format!("value = {zones}"));
        Drive::parse("small", &text).unwrap()
    };
    // The job moves 224 MiB at each of 16 places; a 32nd of the drive lies after the last.
    let job = Job {
        pattern: Pattern::SequentialWrite,
        size: ByteCount::mib(1),
        depth: 1,
        region: Region::Whole,
        written: 0,
    };
    drives::measure(&of("604"), &job).unwrap();
    let refused = drives::measure(&of("304"), &job).unwrap_err().to_string();
    assert!(refused.contains("x1, whole: expected a larger drive"), "{refused}");
}
