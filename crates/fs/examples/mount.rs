//! Mount time and peak memory of a large drive: 14 TB of 256 MiB zones, empty and with a million
//! files. `cargo xtask bench mount`; another number of files can follow `--`.
//!
//! The drive is a sparse image in the directory for temporary files; each file is one block, so it
//! takes 4 GiB there for a million of them while this runs. The mount is measured in a process of
//! its own, so that its memory is not mixed with that of building the store.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, Transaction,
};
use terrace_env::{ByteCount, Cause, runner};
use terrace_fs::{BLOCK, FormatOptions, Fs, MountOptions};
use terrace_zone::{Access, Device, Emulator, Geometry};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Files sealed by one transaction.
const BATCH: u64 = 1000;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [word, path] if word == "measure" => measure(Path::new(path)),
        [] => compare(1_000_000),
        [files] => compare(files.parse()?),
        _ => Err("expected the number of files, or nothing".into()),
    }
}

/// The image, removed when dropped.
struct Image(PathBuf);

impl Drop for Image {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

fn compare(files: u64) -> Outcome<()> {
    let name = format!("terrace-bench-mount-{}.img", std::process::id());
    let image = Image(std::env::temp_dir().join(name));
    let zone = ByteCount::mib(256);
    let geometry = Geometry::uniform(zone, (14_000_000_000_000 / zone.0) as u32);
    let (zones, capacity) = (geometry.zones, geometry.capacity());
    println!("drive: {zones} zones of {zone}, {capacity}");
    let drive = Emulator::create_image(&image.0, geometry, runner::fork_random().uuid())?;
    let drive: Arc<dyn Device> = Arc::new(drive);
    Fs::format(Arc::clone(&drive), &FormatOptions::default())?;
    drop(drive);
    measure_apart(&image.0)?;
    fill(&image.0, files)?;
    measure_apart(&image.0)
}

/// Measures in a process of its own.
fn measure_apart(image: &Path) -> Outcome<()> {
    let status = Command::new(std::env::current_exe()?).arg("measure").arg(image).status()?;
    if status.success() { Ok(()) } else { Err(format!("the measurement: {status}").into()) }
}

fn measure(image: &Path) -> Outcome<()> {
    let drive: Arc<dyn Device> = Arc::new(Emulator::open_image(image, Access::ReadWrite)?);
    let before = peak_memory();
    let start = runner::now();
    let fs = Fs::mount(drive, &MountOptions::default())?;
    let took = runner::now().since(start);
    let (peak, read) = (peak_memory(), fs.io().read(Cause::Recovery));
    let files = fs.list().len();
    println!(
        "{files:>8} files: mounted in {:.1} ms, {read} read, peak memory {peak} ({before} before \
         the mount)",
        took.as_secs_f64() * 1e3
    );
    fs.unmount();
    Ok(())
}

/// The most memory that this process has had resident, where the system tells.
fn peak_memory() -> ByteCount {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    ByteCount::kib(kib.unwrap_or(0))
}

fn fill(image: &Path, files: u64) -> Outcome<()> {
    let drive: Arc<dyn Device> = Arc::new(Emulator::open_image(image, Access::ReadWrite)?);
    let fs = Fs::mount(drive, &MountOptions::default())?;
    let mut left = files;
    while left > 0 {
        let batch = left.min(BATCH);
        let mut transaction = Transaction::new();
        let mut writers = Vec::with_capacity(batch as usize);
        for _ in 0..batch {
            let mut writer = create(&fs)?;
            writer.append(&[7; BLOCK])?;
            writer.finish()?;
            transaction.seal(writer.id(), Annotation::default());
            writers.push(writer);
        }
        fs.commit(transaction)?;
        left -= batch;
    }
    fs.unmount();
    Ok(())
}

fn create(fs: &Fs) -> Outcome<Box<dyn FileWriter>> {
    let options = CreateOptions {
        kind: FileKind::Table,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    };
    Ok(fs.create(&options)?)
}
