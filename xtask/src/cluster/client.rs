//! The client of the loops as a process: `Load` of the tests of `bindings/cassandra`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};

use super::parts::Parts;
use crate::step;

/// For how long the schema is changed, in seconds.
const CHANGES_S: &str = "40";

/// Account of a client on its writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) acknowledged: u64,
    pub(super) failed: u64,
    pub(super) p99_us: u64,
}

/// Account of a client that reads each row once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probed {
    pub(super) right: u64,
    pub(super) failed: u64,
    pub(super) wrong: u64,
}

/// Account of a client that changes the schema and makes conditional updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) applied: u64,
    pub(super) unknown: u64,
    pub(super) changed: u64,
    pub(super) refused: u64,
}

/// Starts clients, which note the end of each write in one file.
pub(super) struct Clients<'a> {
    parts: &'a Parts<'a>,
    hosts: String,
    notes: PathBuf,
    seed: u64,
    writes: u64,
    next: u64,
}

impl<'a> Clients<'a> {
    /// Clients of these hosts, with a table and no notes.
    pub(super) fn new(
        parts: &'a Parts<'a>,
        hosts: String,
        seed: u64,
        writes: u64,
    ) -> anyhow::Result<Self> {
        let notes = parts.place().join("acknowledged");
        _ = std::fs::remove_file(&notes);
        step::command(parts.client().args(["schema", &hosts, "terrace"]))?;
        Ok(Self { parts, hosts, notes, seed, writes, next: 0 })
    }

    /// Starts a client that writes, and waits for its first write.
    pub(super) fn write(&mut self) -> anyhow::Result<Writer> {
        let first = self.next;
        self.next += self.writes;
        let mut java = self.parts.client();
        java.args(["write", &self.hosts, &self.seed.to_string(), &first.to_string()]);
        java.arg(self.writes.to_string()).arg(&self.notes);
        Running::begin(java).map(Writer)
    }

    /// Starts a client that changes the schema and makes conditional updates.
    pub(super) fn change(&self) -> anyhow::Result<Changer> {
        let mut java = self.parts.client_of("Changes");
        java.args([&self.hosts, CHANGES_S]);
        Running::begin(java).map(Changer)
    }

    /// Writes at ALL until a drive is full; the number of writes of 64 KiB.
    pub(super) fn fill(&self) -> anyhow::Result<u64> {
        let said = step::output(self.parts.client_of("Fill").args(["fill", &self.hosts]))?;
        number_after(&said, "filled").with_context(|| format!("client: expected writes: {said}"))
    }

    /// Truncates the table of [`fill`](Self::fill), and writes at ALL until a write succeeds;
    /// seconds.
    pub(super) fn free(&self) -> anyhow::Result<u64> {
        let said = step::output(self.parts.client_of("Fill").args(["free", &self.hosts]))?;
        number_after(&said, "freed").with_context(|| format!("client: expected seconds: {said}"))
    }

    /// Reads all rows with an acknowledged write at QUORUM; the number of lost ones.
    pub(super) fn lost(&self) -> anyhow::Result<u64> {
        let last = self.last_line(&["read", &self.hosts])?;
        number_after(&last, "lost").with_context(|| format!("client: expected losses: `{last}`"))
    }

    /// Reads the same rows from one host, which is the only one that runs.
    pub(super) fn lost_alone(&self, host: &str) -> anyhow::Result<u64> {
        let last = self.last_line(&["read-one", host])?;
        number_after(&last, "lost").with_context(|| format!("client: expected losses: `{last}`"))
    }

    /// Reads each row once at QUORUM, and does not repeat reads that fail.
    pub(super) fn probe(&self) -> anyhow::Result<Probed> {
        let last = self.last_line(&["probe", &self.hosts])?;
        probed(&last).with_context(|| format!("client: expected counts, found `{last}`"))
    }

    /// The last line of a client that ends by itself; its code is not looked at.
    fn last_line(&self, words: &[&str]) -> anyhow::Result<String> {
        let mut java = self.parts.client();
        java.args(words).arg(&self.notes);
        let output = java.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        eprintln!("{said}");
        Ok(said.lines().last().unwrap_or_default().to_owned())
    }
}

/// A client that ends by itself, and is killed if it is dropped before.
struct Running {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts it, and waits until it has begun.
    fn begin(mut java: Command) -> anyhow::Result<Self> {
        let mut process = java.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take().context("expected the client's output")?;
        let mut running = Self { process, output: BufReader::new(output) };
        let line = running.line()?;
        ensure!(line.trim() == "begun", "client: expected `begun`, found `{line}`");
        Ok(running)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line)
    }

    /// Waits for its end; its last line.
    fn end(mut self) -> anyhow::Result<String> {
        let line = self.line()?;
        let status = self.process.wait()?;
        ensure!(status.success(), "client: expected to succeed, found {status}: `{line}`");
        Ok(line)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error says that it has ended.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// A client that writes.
pub(super) struct Writer(Running);

impl Writer {
    /// Waits for its end.
    pub(super) fn end(self) -> anyhow::Result<Written> {
        let line = self.0.end()?;
        written(&line).with_context(|| format!("client: expected counts, found `{line}`"))
    }
}

/// A client that changes the schema and makes conditional updates.
pub(super) struct Changer(Running);

impl Changer {
    /// Waits for its end. A register or a table that is wrong is an error.
    pub(super) fn end(self) -> anyhow::Result<Changed> {
        let line = self.0.end()?;
        changed(&line).with_context(|| format!("client: expected counts, found `{line}`"))
    }
}

fn written(line: &str) -> Option<Written> {
    Some(Written {
        acknowledged: number_after(line, "acknowledged")?,
        failed: number_after(line, "failed")?,
        p99_us: number_after(line, "p99_us")?,
    })
}

fn probed(line: &str) -> Option<Probed> {
    Some(Probed {
        right: number_after(line, "right")?,
        failed: number_after(line, "failed")?,
        wrong: number_after(line, "wrong")?,
    })
}

fn changed(line: &str) -> Option<Changed> {
    Some(Changed {
        applied: number_after(line, "applied")?,
        unknown: number_after(line, "unknown")?,
        changed: number_after(line, "changed")?,
        refused: number_after(line, "refused")?,
    })
}

/// The number that follows a word of a line.
pub(super) fn number_after(line: &str, word: &str) -> Option<u64> {
    let mut words = line.split_whitespace().skip_while(|found| *found != word);
    words.nth(1)?.parse().ok()
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
        let expected = Probed { right: 5, failed: 1, wrong: 0 };
        assert_eq!(probed("right 5 failed 1 wrong 0"), Some(expected));
    }
}
