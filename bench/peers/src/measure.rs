//! Measurements of this process: processor time, wall time, latencies, bytes written, memory.
//!
//! - Foreground is the processor time of the threads that carry out operations, as each of them
//!   reads it (`CLOCK_THREAD_CPUTIME_ID`). Background is the rest of the process
//!   (`CLOCK_PROCESS_CPUTIME_ID`).
//! - The time of a thread that only looks whether an engine has settled counts as neither.
//! - One operation in eight is timed, so that reading the clock costs little.
//! - Bytes written are those of write calls (`wchar` of `/proc/self/io`), and those that reach the
//!   block layer (`write_bytes`). The first knows no mapped memory, the second is in pages.
//!
//! Linux only. A file of `/proc` that is missing or has another form is an error.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// One operation in this many is timed.
const SAMPLED: u64 = 8;

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

/// Processor time of this process.
fn process_time() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

/// Processor time of looking whether an engine has settled, in nanoseconds.
static WATCHED: AtomicU64 = AtomicU64::new(0);

/// Runs a wait for the engine, whose processor time in this thread is not measured.
pub(crate) fn watching<T>(wait: impl FnOnce() -> T) -> T {
    let began = thread_time();
    let answer = wait();
    WATCHED.fetch_add((thread_time() - began).as_nanos() as u64, Ordering::Relaxed);
    answer
}

fn watched() -> Duration {
    Duration::from_nanos(WATCHED.load(Ordering::Relaxed))
}

/// Seconds of processors and of the clock.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) operations: u64,
    pub(crate) wall: f64,
    pub(crate) foreground: f64,
    pub(crate) background: f64,
}

impl Cost {
    /// Microseconds of processors for an operation.
    pub(crate) fn micros(&self) -> f64 {
        self.each(self.foreground + self.background)
    }

    /// Microseconds for an operation.
    pub(crate) fn each(&self, seconds: f64) -> f64 {
        seconds * 1e6 / self.operations.max(1) as f64
    }
}

/// The start of a measurement of the whole process.
pub(crate) struct Start {
    wall: Instant,
    process: Duration,
    watched: Duration,
}

impl Start {
    pub(crate) fn now() -> Self {
        Self { wall: Instant::now(), process: process_time(), watched: watched() }
    }

    /// The cost since then, with the foreground's part of it.
    pub(crate) fn cost(&self, operations: u64, foreground: Duration) -> Cost {
        let total = process_time() - self.process - (watched() - self.watched);
        Cost {
            operations,
            wall: self.wall.elapsed().as_secs_f64(),
            foreground: foreground.as_secs_f64(),
            background: total.saturating_sub(foreground).as_secs_f64(),
        }
    }
}

/// One thread's operations: its processor time, and latencies of some of them, in nanoseconds.
pub(crate) struct Worker {
    began: Duration,
    count: u64,
    latencies: Vec<u32>,
}

impl Worker {
    /// A worker in this thread, at whose end it is to be [`closed`](Self::close).
    pub(crate) fn begin() -> Self {
        Self { began: thread_time(), count: 0, latencies: Vec::new() }
    }

    /// Carries out one operation.
    pub(crate) fn run<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        self.count += 1;
        if !self.count.is_multiple_of(SAMPLED) {
            return operation();
        }
        let began = Instant::now();
        let answer = operation();
        let nanos = began.elapsed().as_nanos().min(u128::from(u32::MAX));
        self.latencies.push(nanos as u32);
        answer
    }

    /// Processor time of the thread since the beginning, and the latencies.
    pub(crate) fn close(self) -> (Duration, Vec<u32>) {
        (thread_time() - self.began, self.latencies)
    }
}

/// Latencies, in microseconds of the clock.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Latencies {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

impl Latencies {
    /// `None` without a sample.
    pub(crate) fn of(mut samples: Vec<u32>) -> Option<Self> {
        samples.sort_unstable();
        let last = samples.len().checked_sub(1)?;
        let at = |part: f64| f64::from(samples[(last as f64 * part).round() as usize]) / 1e3;
        Some(Self { p50: at(0.5), p99: at(0.99), p999: at(0.999) })
    }
}

/// Bytes that this process has written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) calls: u64,
    pub(crate) device: u64,
}

impl Written {
    pub(crate) fn now() -> anyhow::Result<Self> {
        let text = read("/proc/self/io")?;
        Ok(Self { calls: field(&text, "wchar:")?, device: field(&text, "write_bytes:")? })
    }
}

/// Resident memory of this process, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// Most since the process began or [`forget_peak`] was called, mapped files included.
    pub(crate) peak: u64,
    /// Now, without files.
    pub(crate) anonymous: u64,
}

impl Memory {
    pub(crate) fn now() -> anyhow::Result<Self> {
        let text = read("/proc/self/status")?;
        let bytes = |name| Ok::<_, anyhow::Error>(field(&text, name)? << 10);
        Ok(Self { peak: bytes("VmHWM:")?, anonymous: bytes("RssAnon:")? })
    }
}

/// Begins a new peak of memory, where the kernel allows it.
pub(crate) fn forget_peak() {
    _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Bytes that a directory takes on the disk.
pub(crate) fn space(dir: &Path) -> anyhow::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let entry = entry?;
        // A file may be deleted meanwhile.
        let Ok(about) = entry.metadata() else { continue };
        sum += if about.is_dir() { space(&entry.path())? } else { about.blocks() * 512 };
    }
    Ok(sum)
}

/// Waits until the other threads of this process have slept for 0.3 s: for engines that do not tell
/// whether a flush or a compaction is due.
pub(crate) fn wait_quiet() -> anyhow::Result<()> {
    const STEP: Duration = Duration::from_millis(20);
    const QUIET: u32 = 15;
    let (mut quiet, mut before) = (0, u64::MAX);
    while quiet < QUIET {
        std::thread::sleep(STEP);
        let (sleep, ticks) = other_threads()?;
        quiet = if sleep && ticks == before { quiet + 1 } else { 0 };
        before = ticks;
    }
    Ok(())
}

/// Whether all other threads sleep, and their clock ticks of processor time.
fn other_threads() -> anyhow::Result<(bool, u64)> {
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let (mut sleep, mut sum) = (true, 0);
    for task in std::fs::read_dir("/proc/self/task").context("/proc/self/task")? {
        let task = task?;
        if task.file_name() == own.as_str() {
            continue;
        }
        // A thread may end meanwhile.
        let Ok(text) = std::fs::read_to_string(task.path().join("stat")) else { continue };
        let fields: Vec<&str> =
            text.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect();
        ensure!(fields.len() > 12, "/proc/self/task: expected fields of a thread, found {text:?}");
        sleep &= fields[0] == "S";
        sum += fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    }
    Ok((sleep, sum))
}

fn read(path: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.to_owned())
}

fn field(text: &str, name: &str) -> anyhow::Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok())
        .with_context(|| format!("expected a number after {name:?}, found {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_samples() {
        let found = Latencies::of((1..=1001).rev().map(|n| n * 1000).collect()).unwrap();
        assert_eq!((found.p50, found.p99, found.p999), (501.0, 991.0, 1000.0));
        assert!(Latencies::of(Vec::new()).is_none());
    }

    #[test]
    fn the_process_is_read() {
        assert!(Memory::now().unwrap().peak > Memory::now().unwrap().anonymous / 2);
        Written::now().unwrap();
        wait_quiet().unwrap();
    }
}
