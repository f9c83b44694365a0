//! Loops of the cluster: writes at QUORUM, kills in the middle, starts, and a check that each
//! acknowledged write is there.
//!
//! | loop | what happens |
//! |---|---|
//! | one | one node is killed while writes run, and started again |
//! | all | all nodes are killed while writes run, and started in one of the six orders |
//! | stale | one is killed; rows are overwritten; the others are killed; the stale one starts |
//! | replace | one node is killed while writes run, loses files and drive, and is replaced |
//!
//! `terrace check` verifies the store of each killed node before the node starts again. All rows
//! with an acknowledged write since the cluster was made are read at QUORUM at the end of each
//! loop. The seed decides the keys, the nodes and the moments of the kills.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::node::{NODES, Node};
use super::parts::Parts;
use crate::random::mixed;
use crate::step;

/// The longest time from the first write to a kill, and the shortest, in milliseconds.
const KILL_MAX: u64 = 2500;
const KILL_MIN: u64 = 200;
/// The orders in which nodes start.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// A kind of loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    One,
    All,
    Stale,
    Replace,
}

/// The result of a loop.
#[derive(Debug)]
pub(super) struct Done {
    kind: &'static str,
    written: Written,
    lost: u64,
    checks: u64,
    seconds: f64,
}

/// Account of a client on its writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Written {
    acknowledged: u64,
    failed: u64,
    p99_us: u64,
}

/// A cluster under test.
pub(super) struct Loops<'a> {
    parts: &'a Parts<'a>,
    nodes: Vec<Node<'a>>,
    notes: PathBuf,
    seed: u64,
    writes: u64,
    next: u64,
    checks: u64,
}

impl<'a> Loops<'a> {
    /// Starts a new cluster with an empty table. Each loop has this number of writes.
    pub(super) fn start(parts: &'a Parts<'a>, seed: u64, writes: u64) -> anyhow::Result<Self> {
        let numbers = 1..=NODES;
        let nodes =
            numbers.map(|number| Node::new(parts, number)).collect::<Result<Vec<_>, _>>()?;
        let notes = parts.place().join("acknowledged");
        _ = std::fs::remove_file(&notes);
        let mut loops = Self { parts, nodes, notes, seed, writes, next: 0, checks: 0 };
        let began = Instant::now();
        for node in &mut loops.nodes {
            node.start(false)?;
            node.wait()?;
        }
        eprintln!("{NODES} nodes after {:.0} s", began.elapsed().as_secs_f64());
        let mut client = parts.client();
        step::command(client.args(["schema", &loops.hosts(), "terrace"]))?;
        Ok(loops)
    }

    /// Carries out one loop. The index chooses its kind.
    pub(super) fn run(&mut self, index: u64) -> anyhow::Result<Done> {
        let began = Instant::now();
        self.checks = 0;
        let kind = [Kind::One, Kind::All, Kind::Stale, Kind::Replace][(index % 4) as usize];
        let chosen = mixed(self.seed, 3 * index);
        let node = (chosen % u64::from(NODES)) as usize;
        let after = KILL_MIN + mixed(self.seed, 3 * index + 1) % (KILL_MAX - KILL_MIN);
        let order = ORDERS[((index / 4 + chosen) % 6) as usize];
        let after = Duration::from_millis(after);
        eprintln!("loop {index}: {kind:?}, node {}, kill after {after:?}, {order:?}", node + 1);
        let (name, written) = match kind {
            Kind::One => ("one", self.one(node, after)?),
            Kind::All => ("all", self.all(order, after)?),
            Kind::Stale => ("stale", self.stale(node)?),
            Kind::Replace => ("replace", self.replace(node, after)?),
        };
        let lost = self.read()?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Done { kind: name, written, lost, checks: self.checks, seconds })
    }

    fn one(&mut self, node: usize, after: Duration) -> anyhow::Result<Written> {
        let client = self.write()?;
        std::thread::sleep(after);
        self.kill(node)?;
        let written = client.end()?;
        self.nodes[node].start(false)?;
        self.nodes[node].wait()?;
        Ok(written)
    }

    fn all(&mut self, order: [usize; 3], after: Duration) -> anyhow::Result<Written> {
        let client = self.write()?;
        std::thread::sleep(after);
        for node in &mut self.nodes {
            node.kill()?;
        }
        let written = client.end()?;
        for node in order {
            self.check(node)?;
        }
        for node in order {
            self.nodes[node].start(false)?;
            self.nodes[node].wait()?;
        }
        Ok(written)
    }

    fn stale(&mut self, node: usize) -> anyhow::Result<Written> {
        self.kill(node)?;
        let written = self.write()?.end()?;
        let others = (0..usize::from(NODES)).filter(|other| *other != node);
        for other in others.clone() {
            self.kill(other)?;
        }
        for each in std::iter::once(node).chain(others) {
            self.nodes[each].start(false)?;
            self.nodes[each].wait()?;
        }
        Ok(written)
    }

    fn replace(&mut self, node: usize, after: Duration) -> anyhow::Result<Written> {
        let client = self.write()?;
        std::thread::sleep(after);
        self.kill(node)?;
        let written = client.end()?;
        self.nodes[node].wipe()?;
        self.nodes[node].start(true)?;
        self.nodes[node].wait()?;
        Ok(written)
    }

    fn kill(&mut self, node: usize) -> anyhow::Result<()> {
        self.nodes[node].kill()?;
        self.check(node)
    }

    fn check(&mut self, node: usize) -> anyhow::Result<()> {
        self.checks += 1;
        self.nodes[node].check()
    }

    /// Starts a client and waits for its first write.
    fn write(&mut self) -> anyhow::Result<Client> {
        let first = self.next;
        self.next += self.writes;
        let mut java = self.parts.client();
        java.args(["write", &self.hosts(), &self.seed.to_string(), &first.to_string()]);
        java.arg(self.writes.to_string()).arg(&self.notes);
        let mut process = java.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take().context("expected the client's output")?;
        let mut client = Client { process, output: BufReader::new(output) };
        let mut line = String::new();
        client.output.read_line(&mut line)?;
        ensure!(line.trim() == "begun", "client: expected `begun`, found `{line}`");
        Ok(client)
    }

    /// Reads all acknowledged rows; the number of lost ones.
    fn read(&self) -> anyhow::Result<u64> {
        let mut java = self.parts.client();
        java.args(["read", &self.hosts()]).arg(&self.notes);
        let output = java.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let last = said.lines().last().unwrap_or_default();
        eprintln!("{said}");
        number_after(last, "lost").with_context(|| format!("client: expected losses: `{last}`"))
    }

    fn hosts(&self) -> String {
        self.nodes.iter().map(Node::address).collect::<Vec<_>>().join(",")
    }
}

/// A client that writes. It ends by itself.
struct Client {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Client {
    fn end(mut self) -> anyhow::Result<Written> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let status = self.process.wait()?;
        ensure!(status.success(), "client: expected to succeed, found {status}");
        written(&line).with_context(|| format!("client: expected counts, found `{line}`"))
    }
}

fn written(line: &str) -> Option<Written> {
    Some(Written {
        acknowledged: number_after(line, "acknowledged")?,
        failed: number_after(line, "failed")?,
        p99_us: number_after(line, "p99_us")?,
    })
}

fn number_after(line: &str, word: &str) -> Option<u64> {
    let mut words = line.split_whitespace().skip_while(|found| *found != word);
    words.nth(1)?.parse().ok()
}

/// The table of loops; an error if a write was lost or none was acknowledged.
pub(super) fn close(done: &[Done]) -> anyhow::Result<()> {
    println!(
        "| loop | acknowledged | not acknowledged | lost | checks | p99 of writes | seconds |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for one in done {
        let Done { kind, written, lost, checks, seconds } = one;
        let Written { acknowledged, failed, p99_us } = written;
        let p99 = *p99_us as f64 / 1e3;
        let times = format!("{p99:.1} ms | {seconds:.0}");
        println!("| {kind} | {acknowledged} | {failed} | {lost} | {checks} | {times} |");
    }
    for one in done {
        ensure!(one.lost == 0, "{}: expected no lost write, found {}", one.kind, one.lost);
        ensure!(one.written.acknowledged > 0, "{}: expected acknowledged writes", one.kind);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_clients_line() {
        let expected = Written { acknowledged: 7, failed: 2, p99_us: 31 };
        assert_eq!(written("acknowledged 7 failed 2 p99_us 31\n"), Some(expected));
        assert_eq!(written("acknowledged 7 failed\n"), None);
        assert_eq!(number_after("rows 12 lost 3", "lost"), Some(3));
    }

    #[test]
    fn a_lost_write_fails() {
        let done = |lost, acknowledged| Done {
            kind: "one",
            written: Written { acknowledged, ..Written::default() },
            lost,
            checks: 1,
            seconds: 1.0,
        };
        close(&[done(0, 5)]).unwrap();
        let error = close(&[done(0, 5), done(1, 5)]).unwrap_err().to_string();
        assert_eq!(error, "one: expected no lost write, found 1");
        assert!(close(&[done(0, 0)]).is_err());
    }
}
