//! `cargo xtask bench server`: throughput of the server of objects, next to a server on plain
//! files, and prints a table.
//!
//! - `directory` and `drive` are `terrace-serve` on a store in a directory, and on the image of a
//!   zoned drive. A put is answered when it is durable.
//! - `files` is the crate `s3s-fs`, over the same crates for HTTP, signatures and XML, on plain
//!   files (`bench/objects`). It syncs nothing. `files, synced` syncs the files and directories of
//!   an object before it answers a put.
//!
//! A round puts new objects of each size on each server, by turns, and then gets them all, over a
//! few connections (`bench/objects/client.py`). The first round is not counted. Numbers are medians
//! of the others. The ratio is that of the requests a second to the best of the servers whose puts
//! are durable; gets compare with all servers.
//!
//! Objects come from the page cache, and the client shares the processors with the server: the
//! column of its processor time says how much it takes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::page;
use crate::step;
use crate::workspace::Workspace;

/// The manifest of the other server.
const MANIFEST: &str = "bench/objects/Cargo.toml";
/// The key of the client.
const KEY: [(&str, &str); 2] =
    [("TERRACE_ACCESS_KEY", "bench"), ("TERRACE_SECRET_KEY", "benchbenchbenchbench")];

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Rounds that count
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,
    /// Connections of the client
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    connections: u32,
    /// Objects of 64 KiB in a round
    #[arg(long, default_value_t = 2000)]
    small: u32,
    /// Objects of 16 MiB in a round
    #[arg(long, default_value_t = 24)]
    large: u32,
    /// Servers, such as `directory,files`
    #[arg(long, value_delimiter = ',', default_value = "directory,drive,files-synced,files")]
    servers: Vec<String>,
    /// The directory of the stores: about 3.5 GB for each server. It should be on ext4
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

/// Builds the programs, measures, and prints the table.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let words = ["build", "--quiet", "--release", "-p", "terrace-cli", "-p", "terrace-server"];
    step::command(&mut workspace.cargo(words))?;
    let target = workspace.target().join("objects");
    let words = ["build", "--quiet", "--release", "--locked", "--manifest-path", MANIFEST];
    step::command(workspace.cargo(words).env("CARGO_TARGET_DIR", &target))?;
    let programs = [workspace.target().join("release"), target.join("release")];
    let place = arguments.dir.join("bench-server");
    std::fs::create_dir(&place).with_context(|| format!("creating {}", place.display()))?;
    let measured = measure(workspace, arguments, &programs, &place);
    let removed = std::fs::remove_dir_all(&place);
    let lines = measured?;
    removed.with_context(|| format!("removing {}", place.display()))?;
    println!("Measured at {}.\n\n{}", page::origin(workspace)?, table(&lines));
    Ok(())
}

/// A server that runs.
struct Server {
    name: String,
    process: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its store is removed, too.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(name: &str, [ours, peers]: &[PathBuf; 2], place: &Path) -> anyhow::Result<Self> {
        let store = place.join(name);
        let terrace = || Command::new(ours.join("terrace"));
        let mut command = match name {
            "directory" | "drive" => {
                if name == "drive" {
                    let words = ["device", "create", "--size", "32GiB", "--zone-size", "256MiB"];
                    step::output(terrace().args(words).arg(&store))?;
                } else {
                    std::fs::create_dir(&store)?;
                }
                step::output(terrace().arg("format").arg(&store))?;
                let mut command = Command::new(ours.join("terrace-serve"));
                command.arg(&store).args(["--listen", "127.0.0.1:0"]).envs(KEY);
                command
            }
            "files" | "files-synced" => {
                std::fs::create_dir(&store)?;
                let mut command = Command::new(peers.join("objects-peer"));
                command.arg(&store).args((name == "files-synced").then_some("--sync"));
                command
            }
            other => anyhow::bail!("expected directory, drive, files or files-synced: {other}"),
        };
        let mut process = command.stderr(Stdio::piped()).spawn().context("starting a server")?;
        let stderr = process.stderr.take().context("expected the server's output")?;
        let mut server = Self { name: name.to_owned(), process, address: String::new() };
        let mut said = BufReader::new(stderr).lines();
        for line in said.by_ref() {
            if let Some((_, rest)) = line?.split_once("address=") {
                server.address = rest.split(' ').next().unwrap_or_default().to_owned();
                break;
            }
        }
        ensure!(!server.address.is_empty(), "{name}: expected an address, found none");
        // The rest of its output must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Ok(server)
    }
}

/// The output of the client.
#[derive(Clone, Copy, Deserialize)]
struct Round {
    clock: f64,
    processor: f64,
    client: f64,
}

/// The rounds of an operation of a size on a server.
struct Line {
    server: String,
    operation: &'static str,
    size: u64,
    count: u32,
    rounds: Vec<Round>,
}

fn measure(
    workspace: &Workspace,
    arguments: &Arguments,
    programs: &[PathBuf; 2],
    place: &Path,
) -> anyhow::Result<Vec<Line>> {
    let servers = arguments.servers.iter().map(|name| Server::start(name, programs, place));
    let servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
    let script = workspace.root().join("bench/objects/client.py");
    let client = |server: &Server| {
        let mut command = Command::new("python3");
        command.arg(&script).arg(&server.address);
        command
    };
    for server in &servers {
        step::output(client(server).arg("bucket"))?;
    }
    let mut lines = Vec::new();
    for round in 0..=arguments.rounds {
        for (size, count) in [(64 << 10, arguments.small), (16 << 20, arguments.large)] {
            for operation in ["put", "get"] {
                // By turns: another one is the first in each round.
                for at in 0..servers.len() {
                    let server = &servers[(at + round as usize) % servers.len()];
                    let mut command = client(server);
                    command.args([&server.process.id().to_string(), operation]);
                    command.args([format!("{size}-{round}-"), size.to_string()]);
                    command.args([count.to_string(), arguments.connections.to_string()]);
                    let measured: Round = serde_json::from_str(&step::output(&mut command)?)?;
                    if round == 0 {
                        continue;
                    }
                    let of = |line: &&mut Line| {
                        (&line.server, line.operation, line.size) == (&server.name, operation, size)
                    };
                    match lines.iter_mut().find(of) {
                        Some(line) => line.rounds.push(measured),
                        None => lines.push(Line {
                            server: server.name.clone(),
                            operation,
                            size,
                            count,
                            rounds: vec![measured],
                        }),
                    }
                }
            }
        }
    }
    Ok(lines)
}

impl Line {
    fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        let mut values: Vec<f64> = self.rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// Requests a second.
    fn rate(&self) -> f64 {
        f64::from(self.count) / self.median(|round| round.clock)
    }

    /// Whether its acknowledged objects survive a power cut, or it has changed none.
    fn is_durable(&self) -> bool {
        self.operation == "get" || self.server != "files"
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        (self.operation, self.size) == (other.operation, other.size)
    }
}

/// The table, as Markdown.
fn table(lines: &[Line]) -> String {
    let mut text = String::from(
        "| | server | requests/s | MB/s | of the best | server's CPU, us | client's CPU, us |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
    );
    let mut lines: Vec<&Line> = lines.iter().collect();
    lines.sort_by_key(|line| (line.size, line.operation == "get"));
    for line in &lines {
        let rivals = lines.iter().filter(|one| one.is_of_kind(line) && one.is_durable());
        let best = rivals.map(|one| one.rate()).fold(0.0, f64::max);
        let each = |total: f64| total * 1e6 / f64::from(line.count);
        let (rate, kib) = (line.rate(), line.size >> 10);
        text += &format!(
            "| {} {kib} KiB | {} | {rate:.0} | {:.0} | {} | {:.0} | {:.0} |\n",
            line.operation,
            line.server,
            rate * line.size as f64 / 1e6,
            if line.is_durable() { format!("{:.2}", rate / best) } else { "not durable".into() },
            each(line.median(|round| round.processor)),
            each(line.median(|round| round.client)),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_is_compared_with_the_best_of_the_durable_ones_only() {
        let line = |server: &str, operation, clocks: [f64; 3]| Line {
            server: server.to_owned(),
            operation,
            size: 64 << 10,
            count: 100,
            rounds: clocks.map(|clock| Round { clock, processor: 0.02, client: 0.01 }).to_vec(),
        };
        let lines = [
            line("directory", "put", [9.0, 2.0, 1.0]),
            line("files-synced", "put", [4.0; 3]),
            line("files", "put", [1.0; 3]),
        ];
        let text = table(&lines);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(rows[0], "| put 64 KiB | directory | 50 | 3 | 1.00 | 200 | 100 |");
        assert_eq!(rows[1], "| put 64 KiB | files-synced | 25 | 2 | 0.50 | 200 | 100 |");
        assert_eq!(rows[2], "| put 64 KiB | files | 100 | 7 | not durable | 200 | 100 |");
    }
}
