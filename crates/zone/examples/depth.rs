//! Random reads of 4 KiB from a block device by one thread: with 1, 8 and 32 in flight, by
//! `io_uring` and by blocking calls. `cargo xtask bench depth`; a block device can follow `--`.
//! Nothing is written to it.
//!
//! Without a device, a file of 1 GiB in the directory for temporary files is made a loop device,
//! past the page cache, which needs root. Processor time is that of this process, with the threads
//! of the kernel that work for its ring; that of the loop device is not in it.

use std::collections::VecDeque;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use terrace_env::random::{Random, RngCore};
use terrace_env::{Cause, Lba, runner};
use terrace_zone::linux::{BlockDevice, IoEngine};
use terrace_zone::{Access, Device, Op, Request};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Bytes of a read.
const READ: u64 = 4096;
/// Size of the file.
const SIZE: u64 = 1 << 30;
/// How long each combination runs.
const TIME: Duration = Duration::from_secs(3);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [path] => measure(Path::new(path)),
        [] => {
            let dir = tempfile::tempdir()?;
            let device = Loop::new(&dir.path().join("backing"))?;
            measure(&device.0)
        }
        _ => Err("expected the path of a block device, or nothing".into()),
    }
}

/// A loop device over a file with random bytes, until it is dropped.
struct Loop(PathBuf);

impl Loop {
    fn new(path: &Path) -> Outcome<Self> {
        let mut file = std::fs::File::create(path)?;
        let mut random = Random::seeded(1);
        let mut chunk = vec![0; 1 << 20];
        for _ in 0..SIZE / chunk.len() as u64 {
            random.fill_bytes(&mut chunk);
            file.write_all(&chunk)?;
        }
        file.sync_all()?;
        let made = ["-f", "--show", "--direct-io=on"];
        let made = Command::new("losetup").args(made).arg(path).output()?;
        if !made.status.success() {
            return Err(format!("losetup: {}", String::from_utf8_lossy(&made.stderr)).into());
        }
        Ok(Self(String::from_utf8(made.stdout)?.trim().into()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        Command::new("losetup").arg("-d").arg(&self.0).status().ok();
    }
}

fn measure(path: &Path) -> Outcome<()> {
    println!(
        "{:<16}{:>8}{:>14}{:>20}{:>14}",
        "engine", "depth", "reads/s", "processor us/read", "on device"
    );
    for engine in [IoEngine::Blocking, IoEngine::IoUring] {
        for depth in [1, 8, 32] {
            let device = BlockDevice::open_with(path, Access::ReadOnly, engine)?;
            let measured = read(&device, depth)?;
            println!(
                "{:<16}{depth:>8}{:>14.0}{:>20.1}{:>14.1}",
                engine.to_string(),
                measured.reads as f64 / measured.wall.as_secs_f64(),
                measured.processor.as_secs_f64() * 1e6 / measured.reads as f64,
                measured.in_queue.as_secs_f64() / measured.wall.as_secs_f64(),
            );
        }
    }
    Ok(())
}

struct Measured {
    reads: u64,
    wall: Duration,
    processor: Duration,
    /// Time that reads have been with the device, summed over the reads.
    in_queue: Duration,
}

/// Reads at random places, `depth` reads at a time: it waits for the oldest, then submits another.
fn read(device: &BlockDevice, depth: usize) -> Outcome<Measured> {
    let blocks = READ / u64::from(device.geometry().logical_block);
    let places = device.geometry().blocks() / blocks;
    let mut random = Random::seeded(2);
    let mut submit = || {
        let lba = Lba(random.next_u64() % places * blocks);
        let op = Op::Read { lba, blocks: blocks as u32 };
        device.submit(Request { op, cause: Cause::Client })
    };
    let (start, processor, in_queue) = (runner::now(), processor_time(), in_queue(device.path())?);
    let mut under_way = VecDeque::new();
    let mut reads = 0;
    while runner::now().since(start) < TIME {
        while under_way.len() < depth {
            under_way.push_back(submit());
        }
        if let Some(oldest) = under_way.pop_front() {
            device.wait(oldest)?;
            reads += 1;
        }
    }
    for ticket in under_way {
        device.wait(ticket)?;
        reads += 1;
    }
    Ok(Measured {
        reads,
        wall: runner::now().since(start),
        processor: processor_time().saturating_sub(processor),
        in_queue: self::in_queue(device.path())?.saturating_sub(in_queue),
    })
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The sum of the times that requests have been with a device: the eleventh number that the kernel
/// shows of it. The path may be a link, as those in `/dev/disk/by-id` are.
fn in_queue(path: &Path) -> Outcome<Duration> {
    let node = path.canonicalize()?;
    let name = node.file_name().ok_or("expected the path of a block device")?;
    let shown = Path::new("/sys/class/block").join(name).join("stat");
    let text = std::fs::read_to_string(&shown)?;
    let number = text.split_whitespace().nth(10).ok_or("expected eleven numbers")?;
    Ok(Duration::from_millis(number.parse()?))
}
