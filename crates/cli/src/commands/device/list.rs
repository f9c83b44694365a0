//! `terrace device list`: the block devices of this machine: model, size, zones, limits, users, and
//! a lasting name of each. Zoned ones come first. Nothing is written, and no right beyond reading
//! sysfs is needed; without the right to read a device the capacity of its zones is not known. The
//! last line tells how requests to a device are carried out by this program on this machine.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use terrace::device::{IoEngine, Listed, Usage, ZoneModel};
use terrace_env::ByteCount;

use crate::escape::shown;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// List the block devices of this machine, zoned ones first.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace device list")]
pub(crate) struct List {
    /// Only those with zones
    #[arg(long)]
    zoned: bool,
}

#[derive(Serialize)]
struct Answer {
    devices: Vec<Listed>,
    /// How many devices without zones were left out.
    left_out: usize,
    /// How requests are carried out.
    engine: IoEngine,
    /// The reason if `io_uring` is not used.
    no_io_uring: Option<String>,
}

impl List {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let listed = Listed::all().map_err(|error| {
            Failure::new(Kind::Failed, format!("cannot list the block devices: {error}"))
        })?;
        let (zoned, plain): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(|device| device.queue.zoned != ZoneModel::None);
        let none_zoned = zoned.is_empty();
        let left_out = if self.zoned { plain.len() } else { 0 };
        let devices = match self.zoned {
            true => zoned,
            false => zoned.into_iter().chain(plain).collect(),
        };
        let (engine, no_io_uring) = match IoEngine::check_io_uring() {
            Ok(()) => (IoEngine::IoUring, None),
            Err(error) => (IoEngine::Blocking, Some(error.to_string())),
        };
        let answer = Answer { devices, left_out, engine, no_io_uring };
        output.result(&answer, |out| {
            if none_zoned {
                writeln!(out, "no zoned block device on this machine")?;
            }
            if left_out > 0 {
                writeln!(out, "{left_out} block devices without zones are left out")?;
            }
            if !answer.devices.is_empty() {
                answer.print(out)?;
            }
            writeln!(out, "{}", answer.requests())
        })
    }
}

impl Answer {
    fn requests(&self) -> String {
        match &self.no_io_uring {
            None => format!("requests: {}", self.engine),
            Some(reason) => {
                format!("requests: {}, because io_uring cannot be used: {reason}", self.engine)
            }
        }
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header([
            "device",
            "model",
            "size",
            "kind",
            "zones",
            "zone size",
            "capacity",
            "open",
            "active",
            "blocks",
            "used by",
        ]);
        for column in [2, 4, 5, 6, 7, 8] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for device in &self.devices {
            table.add_row(row(device));
        }
        writeln!(out, "{table}")?;
        // These names stay when nodes are numbered anew.
        for Listed { path, by_id, .. } in &self.devices {
            if let Some(name) = by_id.first() {
                writeln!(out, "{} is {}", shown(path), shown(name))?;
            }
        }
        Ok(())
    }
}

fn row(device: &Listed) -> [String; 11] {
    let Listed { path, model, size, queue, zone_capacity, conventional, usage, .. } = device;
    let is_zoned = queue.zoned != ZoneModel::None;
    let of_zones = |value: Option<String>, none: &str| match value {
        Some(value) => value,
        None if is_zoned => none.to_owned(),
        None => "-".to_owned(),
    };
    let number = |limit: Option<u32>| limit.map(|limit| limit.to_string());
    let kind = match queue.zoned {
        ZoneModel::None => "plain",
        ZoneModel::HostAware => "host-aware",
        ZoneModel::HostManaged => "host-managed",
    };
    let zones = match conventional {
        Some(count @ 1..) => format!("{} ({count} conventional)", queue.zones),
        _ if is_zoned => queue.zones.to_string(),
        _ => "-".to_owned(),
    };
    let used = match usage {
        Usage::Free => "nobody".to_owned(),
        Usage::Kernel(by) => by.join(", "),
        Usage::Program => "a program that has locked it".to_owned(),
    };
    [
        shown(path),
        model.clone().unwrap_or_else(|| "-".to_owned()),
        size.to_string(),
        kind.to_owned(),
        zones,
        of_zones(queue.zone_size.map(|size| ByteCount(size).to_string()), "unknown"),
        of_zones(zone_capacity.map(|size| size.to_string()), "unknown"),
        of_zones(number(queue.max_open), "no limit"),
        of_zones(number(queue.max_active), "no limit"),
        format!(
            "{}/{}",
            queue.logical_block,
            queue.write_granularity.unwrap_or(queue.physical_block)
        ),
        used,
    ]
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use terrace::device::Queue;

    use super::*;

    fn device(zoned: ZoneModel) -> Listed {
        let is_zoned = zoned != ZoneModel::None;
        Listed {
            path: PathBuf::from("/dev/sdx"),
            by_id: vec![PathBuf::from("/dev/disk/by-id/scsi-x")],
            model: None,
            size: ByteCount::gib(1),
            queue: Queue {
                zoned,
                logical_block: 512,
                physical_block: 4096,
                write_granularity: is_zoned.then_some(4096),
                zone_size: is_zoned.then_some(16 << 20),
                zones: if is_zoned { 64 } else { 0 },
                max_open: is_zoned.then_some(8),
                max_active: None,
                request_max: 1 << 20,
                append_max: None,
                segments_max: 128,
                rotational: true,
                forces_writes: false,
            },
            zone_capacity: None,
            conventional: is_zoned.then_some(4),
            usage: Usage::Kernel(vec!["mounted on /".to_owned()]),
        }
    }

    #[test]
    fn the_engine_is_told_with_the_reason_if_it_is_not_io_uring() {
        let answer = |engine, reason: Option<&str>| Answer {
            devices: Vec::new(),
            left_out: 0,
            engine,
            no_io_uring: reason.map(str::to_owned),
        };
        assert_eq!(answer(IoEngine::IoUring, None).requests(), "requests: io_uring");
        let refused = answer(IoEngine::Blocking, Some("Function not implemented (os error 38)"));
        let expected = "requests: blocking calls, because io_uring cannot be used: \
                        Function not implemented (os error 38)";
        assert_eq!(refused.requests(), expected);
    }

    #[test]
    fn a_zoned_device_has_limits_and_a_plain_one_has_dashes() {
        let zoned = row(&device(ZoneModel::HostManaged)).join("|");
        let expected = "/dev/sdx|-|1 GiB|host-managed|64 (4 conventional)|16 MiB|unknown|8|no limit\
                        |512/4096|mounted on /";
        assert_eq!(zoned, expected);
        let (devices, engine) = (vec![device(ZoneModel::None)], IoEngine::IoUring);
        let answer = Answer { devices, left_out: 0, engine, no_io_uring: None };
        let mut told = Vec::new();
        answer.print(&mut told).unwrap();
        let told = String::from_utf8(told).unwrap();
        assert!(told.ends_with("\n/dev/sdx is /dev/disk/by-id/scsi-x\n"), "{told}");
        let plain = row(&device(ZoneModel::None)).join("|");
        assert_eq!(plain, "/dev/sdx|-|1 GiB|plain|-|-|-|-|-|512/4096|mounted on /");
    }
}
