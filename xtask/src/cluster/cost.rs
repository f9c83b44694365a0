//! Costs of the nodes of a cluster since they were started: processor time, and bytes written to
//! the disk and to the drives.
//!
//! Bytes written to the disk are those that the kernel counts for the process. Most of those on a
//! drive are among them, as the image is a file; a drive's own bytes are those that the store
//! counts, without the emulation's table of zones.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::group::Group;
use super::node::Node;

/// Ticks of the kernel in a second, in `/proc/PID/stat`.
const TICKS: f64 = 100.0;

/// Costs of all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) processor_s: f64,
    pub(super) disk: u64,
    pub(super) drive: u64,
    /// Bytes of the drives that are in use, with those that wait for reclaim.
    pub(super) used: u64,
}

impl Cost {
    /// The costs of all nodes of a group until now.
    pub(super) fn of(group: &Group<'_>) -> anyhow::Result<Self> {
        let mut sum = Self::default();
        for node in group.nodes() {
            let one = Self::of_node(node)?;
            sum.processor_s += one.processor_s;
            sum.disk += one.disk;
            sum.drive += one.drive;
            sum.used += one.used;
        }
        Ok(sum)
    }

    fn of_node(node: &Node<'_>) -> anyhow::Result<Self> {
        let process = Path::new("/proc").join(node.process()?.to_string());
        let stat = std::fs::read_to_string(process.join("stat"))?;
        let io = std::fs::read_to_string(process.join("io"))?;
        let zones = node.zones()?;
        let (drive, used) = of_drive(&zones)?;
        Ok(Self {
            processor_s: ticks(&stat).with_context(|| format!("stat: {stat}"))? as f64 / TICKS,
            disk: disk(&io).with_context(|| format!("io: {io}"))?,
            drive,
            used,
        })
    }

    /// The costs since an earlier moment.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            processor_s: self.processor_s - before.processor_s,
            disk: self.disk - before.disk,
            drive: self.drive - before.drive,
            used: self.used.saturating_sub(before.used),
        }
    }
}

/// The time of a process in user and kernel mode.
fn ticks(stat: &str) -> Option<u64> {
    // The name, in parentheses, may have spaces. The 14th and 15th field are meant.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

fn disk(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("write_bytes:"))?.trim().parse().ok()
}

/// Bytes written to a drive, and bytes of it that are in use.
fn of_drive(zones: &str) -> anyhow::Result<(u64, u64)> {
    let answer: Value = serde_json::from_str(zones.trim()).context("zones: expected JSON")?;
    let device = &answer["devices"][0];
    let written = device["io"]["written_bytes"]
        .as_object()
        .context("zones: expected written bytes")?
        .values()
        .filter_map(Value::as_u64)
        .sum();
    let space = |name: &str| {
        device["space"][name].as_u64().with_context(|| format!("zones: expected space: {name}"))
    };
    Ok((written, space("capacity")? - space("free")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_from_the_kernel_and_the_store() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(disk("wchar: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n"), Some(4096));
        let zones = r#"{"devices": [{"io": {"written_bytes": {"log": 5, "flush": 7}},
            "space": {"capacity": 9, "free": 6}}]}"#;
        assert_eq!(of_drive(zones).unwrap(), (12, 3));
        assert!(of_drive("{}").is_err());
    }
}
