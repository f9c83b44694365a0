//! The same load on tables of Cassandra's own and on a table on Terrace, in one cluster.
//!
//! Three loads run one after the other: on an own table with the log synced every 10 s, as
//! Cassandra comes; on a table on Terrace, whose writes are synced before they are acknowledged;
//! and on an own table with the log synced before a write is acknowledged. After each load the
//! nodes get time to finish flushes and compactions. Nothing else is forced.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::client::number_after;
use super::cost::Cost;
use super::group::Group;
use super::node::NODES;
use super::parts::Parts;
use crate::step;

/// The nodes are quiet when they write less than this in a period.
const QUIET: u64 = 1 << 20;
const PERIOD: Duration = Duration::from_secs(5);
/// The longest time until they are quiet.
const QUIET_MAX: Duration = Duration::from_secs(180);

/// The result of a load.
struct Load {
    name: &'static str,
    /// Bytes of values that the client wrote, and of those that are the newest of their rows.
    written: u64,
    live: u64,
    millis: u64,
    p50_us: u64,
    p99_us: u64,
    cost: Cost,
    /// Bytes written, and bytes in use by tables and logs, on all nodes.
    bytes: u64,
    space: u64,
}

/// Runs the loads, and prints the table.
pub(super) fn run(parts: &Parts<'_>, writes: u64) -> anyhow::Result<()> {
    let mut group = Group::start(parts)?;
    let own = load(parts, &group, "own tables, log every 10 s", "own", "default", writes)?;
    let terrace = load(parts, &group, "Terrace", "stored", "terrace", writes)?;
    group.sync_logs()?;
    let synced = load(parts, &group, "own tables, log synced", "synced", "default", writes)?;
    print(&[own, synced, terrace]);
    Ok(())
}

fn load(
    parts: &Parts<'_>,
    group: &Group<'_>,
    name: &'static str,
    table: &str,
    memtable: &str,
    writes: u64,
) -> anyhow::Result<Load> {
    let rate = || parts.client_of("Rate");
    step::command(rate().args(["make", &group.hosts(), table, memtable]))?;
    wait_for_quiet(group)?;
    let before = Cost::of(group)?;
    let said = step::output(rate().args(["write", &group.hosts(), table, &writes.to_string()]))?;
    eprintln!("{said}");
    wait_for_quiet(group)?;
    let cost = Cost::of(group)?.since(before);
    let number = |word| {
        number_after(&said, word).with_context(|| format!("client: expected {word}: {said}"))
    };
    let failed = number("failed")?;
    ensure!(failed == 0, "{name}: expected all writes, {failed} failed");
    let is_own = memtable == "default";
    let mut files = 0;
    for node in group.nodes() {
        files += files_of(&node.data().join("loops"), table)? + len(&node.log_files())?;
    }
    Ok(Load {
        name,
        written: number("written")?,
        live: number("live")?,
        millis: number("millis")?,
        p50_us: number("p50_us")?,
        p99_us: number("p99_us")?,
        cost,
        bytes: if is_own { cost.disk } else { cost.drive },
        space: if is_own { files } else { cost.used },
    })
}

/// Bytes of the files of a table.
fn files_of(keyspace: &Path, table: &str) -> anyhow::Result<u64> {
    let prefix = format!("{table}-");
    let mut sum = 0;
    for entry in std::fs::read_dir(keyspace)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            sum += len(&entry.path())?;
        }
    }
    Ok(sum)
}

/// Bytes of the files of a directory.
fn len(directory: &Path) -> anyhow::Result<u64> {
    let mut sum = 0;
    for file in std::fs::read_dir(directory)? {
        let about = file?.metadata()?;
        sum += if about.is_file() { about.len() } else { 0 };
    }
    Ok(sum)
}

fn wait_for_quiet(group: &Group<'_>) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut before = Cost::of(group)?;
    while began.elapsed() < QUIET_MAX {
        std::thread::sleep(PERIOD);
        let now = Cost::of(group)?;
        if now.since(before).disk < QUIET {
            break;
        }
        before = now;
    }
    Ok(())
}

fn print(loads: &[Load]) {
    println!(
        "| table | writes a second | median of writes | p99 of writes | \
         bytes written for a byte | bytes in use for a live byte | \
         processor ms for a write, all nodes |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let nodes = f64::from(NODES);
    for load in loads {
        let writes = load.written as f64 / 1024.0;
        let rate = writes / (load.millis as f64 / 1e3);
        let (p50, p99) = (load.p50_us as f64 / 1e3, load.p99_us as f64 / 1e3);
        let written = load.bytes as f64 / load.written as f64 / nodes;
        let space = load.space as f64 / load.live as f64 / nodes;
        let processor = load.cost.processor_s * 1e3 / writes;
        println!(
            "| {} | {rate:.0} | {p50:.1} ms | {p99:.1} ms | {written:.2} | {space:.2} | \
             {processor:.2} |",
            load.name
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_table_are_counted() {
        let place = tempfile::tempdir().unwrap();
        for (table, len) in [("own-1", 5), ("own-2", 6), ("owner-1", 7)] {
            std::fs::create_dir_all(place.path().join(table).join("backups")).unwrap();
            std::fs::write(place.path().join(table).join("data"), vec![0; len]).unwrap();
        }
        assert_eq!(files_of(place.path(), "own").unwrap(), 11);
    }
}
