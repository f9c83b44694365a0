//! Small appends to one zone, many of them in flight, against writes, of which a zone takes one at
//! a time: `cargo xtask bench append`. Without an argument on a drive like a WD Ultrastar DC ZN540,
//! in the time of its model; else on the zoned block device of that path, whose data are lost.

use std::collections::VecDeque;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use terrace_env::{ByteCount, Cause, IoBuf, Lba, ZoneId, runner};
use terrace_zone::linux::BlockDevice;
use terrace_zone::timing::{Drive, Scale};
use terrace_zone::{Access, Device, Emulator, Op, Request, ZoneType};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Bytes written by each combination, at most: many times the drive's buffer.
const BYTES: u64 = 256 << 20;
/// Pause before each combination, in which the drive empties its buffer.
const PAUSE: Duration = Duration::from_millis(100);

/// The kind of the requests, the number of zones, and the number of requests in flight.
#[derive(Clone, Copy)]
struct Pattern {
    appends: bool,
    zones: usize,
    depth: usize,
    size: u64,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => runner::simulate(1, || {
            let drive = Drive::find("wd-zn540")?;
            let device = Emulator::modelled(&drive, Scale::default(), ByteCount::gib(32), 1)?;
            measure_all(&device)
        }),
        [path] => measure_all(&BlockDevice::open(Path::new(path), Access::ReadWrite)?),
        _ => Err("expected the path of a zoned block device, or nothing".into()),
    }
}

fn measure_all(device: &dyn Device) -> Outcome<()> {
    if device.geometry().max_append.is_none() {
        return Err("expected a device with zone append, found none".into());
    }
    println!(
        "{:<10}{:>7}{:>11}{:>9}{:>14}{:>9}",
        "requests", "zones", "in flight", "KiB", "a second", "MB/s"
    );
    for size in [4 << 10, 32 << 10, 128 << 10] {
        for (appends, zones, depth) in [
            (false, 1, 1),
            (true, 1, 1),
            (true, 1, 4),
            (true, 1, 32),
            (false, 4, 4),
            (false, 8, 8),
            (true, 8, 32),
        ] {
            let pattern = Pattern { appends, zones, depth, size };
            let (requests, seconds) = measure(device, pattern)?;
            println!(
                "{:<10}{zones:>7}{depth:>11}{:>9}{:>14.0}{:>9.1}",
                if appends { "appends" } else { "writes" },
                size >> 10,
                requests as f64 / seconds,
                (requests * size) as f64 / seconds / 1e6,
            );
        }
    }
    Ok(())
}

/// Writes to the zones by turns, with a fixed number of requests in flight; returns the number of
/// requests, and seconds.
fn measure(device: &dyn Device, pattern: Pattern) -> Outcome<(u64, f64)> {
    let geometry = device.geometry();
    let blocks = pattern.size / u64::from(geometry.logical_block);
    let sequential = |zone: &ZoneId| geometry.zone_type(*zone) == ZoneType::Sequential;
    let zones: Vec<ZoneId> = geometry.zone_ids().filter(sequential).take(pattern.zones).collect();
    for zone in &zones {
        device.control(Op::Reset(*zone), Cause::Client)?;
    }
    runner::sleep(PAUSE);
    let room = zones.len() as u64 * (geometry.zone_capacity(zones[0]) / blocks);
    let requests = room.min(BYTES / pattern.size);
    let (start, mut under_way) = (runner::now(), VecDeque::new());
    for number in 0..requests {
        if under_way.len() >= pattern.depth
            && let Some(oldest) = under_way.pop_front()
        {
            device.wait(oldest)?;
        }
        let zone = zones[number as usize % zones.len()];
        let data = IoBuf::zeroed(pattern.size as usize);
        let op = if pattern.appends {
            Op::Append { zone, data, fua: false }
        } else {
            let behind = number / zones.len() as u64 * blocks;
            Op::Write { lba: Lba(geometry.zone_start(zone).0 + behind), data, fua: false }
        };
        under_way.push_back(device.submit(Request { op, cause: Cause::Client }));
    }
    for ticket in under_way {
        device.wait(ticket)?;
    }
    Ok((requests, runner::now().since(start).as_secs_f64()))
}
