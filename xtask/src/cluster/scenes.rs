//! The faults of each kind of loop.
//!
//! | loop | what happens |
//! |---|---|
//! | one | one node is killed while writes run, and started again |
//! | all | all nodes are killed while writes run, and started in one of the six orders |
//! | stale | one is killed; rows are overwritten; the others are killed; the stale one starts |
//! | replace | one node is killed while writes run, loses files and drive, and is replaced |
//! | repair | a fifth of the rows on one node's drive is deleted; `nodetool repair` |
//! | wipe | one node gets an empty drive and keeps its other files; `nodetool repair` |
//! | flips | bits on one node's drive flip while clients read; the node is replaced |
//! | full | one node has a small drive, which a client fills; the client's table is truncated |
//! | fourth | a fourth node joins while writes run, and is decommissioned while others run |
//! | changes | tables and columns come and go, conditional updates run, one node is killed |
//!
//! A node that has lost rows or its drive is repaired before rows are read. Writes of which it had
//! one of two copies have one until then, and a read at QUORUM may miss that one. After `replace`,
//! `repair` and `wipe` the node answers alone: the others are killed.

use std::time::Duration;

use anyhow::ensure;

use super::client::{Changed, Clients, Probed, Written};
use super::group::Group;
use super::node::Medium;

/// The account of a loop.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Happened {
    pub(super) written: Written,
    /// Figures of this kind of loop, as text.
    pub(super) also: String,
}

impl From<Written> for Happened {
    fn from(written: Written) -> Self {
        Self { written, also: String::new() }
    }
}

/// One loop on a cluster.
pub(super) struct Scene<'s, 'a> {
    pub(super) group: &'s mut Group<'a>,
    pub(super) clients: &'s mut Clients<'a>,
    /// The node that meets the fault.
    pub(super) node: usize,
    /// The time from the first write to the kill.
    pub(super) after: Duration,
}

impl Scene<'_, '_> {
    pub(super) fn one(&mut self) -> anyhow::Result<Happened> {
        let written = self.kill_in_mid_write()?;
        self.group.up(self.node)?;
        Ok(written.into())
    }

    pub(super) fn all(&mut self, order: [usize; 3]) -> anyhow::Result<Happened> {
        let writer = self.clients.write()?;
        std::thread::sleep(self.after);
        self.group.kill_all()?;
        let written = writer.end()?;
        order.into_iter().try_for_each(|node| self.group.up(node))?;
        Ok(written.into())
    }

    pub(super) fn stale(&mut self) -> anyhow::Result<Happened> {
        self.group.kill(self.node)?;
        let written = self.clients.write()?.end()?;
        let others = Group::others(self.node);
        others.clone().try_for_each(|other| self.group.kill(other))?;
        self.group.up(self.node)?;
        others.into_iter().try_for_each(|other| self.group.up(other))?;
        Ok(written.into())
    }

    pub(super) fn replace(&mut self) -> anyhow::Result<Happened> {
        let written = self.kill_in_mid_write()?;
        self.group.replace(self.node, Medium::Large)?;
        self.repair_and_answer_alone()?;
        Ok(written.into())
    }

    pub(super) fn repair(&mut self) -> anyhow::Result<Happened> {
        let written = self.clients.write()?.end()?;
        self.group.kill(self.node)?;
        let deleted = self.group.node(self.node).lose()?;
        ensure!(deleted > 0, "expected deleted rows, found none");
        self.group.up(self.node)?;
        self.repair_and_answer_alone()?;
        Ok(Happened { written, also: format!("{deleted} rows were gone") })
    }

    pub(super) fn wipe(&mut self) -> anyhow::Result<Happened> {
        let written = self.clients.write()?.end()?;
        self.group.kill(self.node)?;
        self.group.node(self.node).format(Medium::Large)?;
        self.group.up(self.node)?;
        self.repair_and_answer_alone()?;
        Ok(written.into())
    }

    pub(super) fn flips(&mut self) -> anyhow::Result<Happened> {
        let written = self.clients.write()?.end()?;
        self.group.kill(self.node)?;
        let damage = self.group.node(self.node).flush()?;
        self.group.up(self.node)?;
        let flipped = damage.flip(self.after.as_millis() as u64)?;
        let Probed { right, failed, wrong } = self.clients.probe()?;
        ensure!(wrong == 0, "damaged drive: expected no wrong row, found {wrong}");
        self.group.kill_damaged(self.node)?;
        self.group.replace(self.node, Medium::Large)?;
        self.group.repair(self.node)?;
        let reads = format!("{right} reads right, {failed} failed");
        Ok(Happened { written, also: format!("{flipped} bits; {reads}") })
    }

    pub(super) fn full(&mut self) -> anyhow::Result<Happened> {
        self.group.kill(self.node)?;
        self.group.replace(self.node, Medium::Small)?;
        self.group.repair(self.node)?;
        let filled = self.clients.fill()?;
        let written = self.clients.write()?.end()?;
        ensure!(written.failed == 0, "full node: expected all writes, {} failed", written.failed);
        let seconds = self.clients.free()?;
        self.group.kill(self.node)?;
        self.group.up(self.node)?;
        let mib = filled * 64 / 1024;
        Ok(Happened { written, also: format!("full after {mib} MiB; writable after {seconds} s") })
    }

    pub(super) fn fourth(&mut self) -> anyhow::Result<Happened> {
        let writer = self.clients.write()?;
        self.group.join()?;
        let first = writer.end()?;
        let lost = self.clients.lost()?;
        ensure!(lost == 0, "four nodes: expected no lost write, found {lost}");
        let writer = self.clients.write()?;
        self.group.leave()?;
        let second = writer.end()?;
        let written = Written {
            acknowledged: first.acknowledged + second.acknowledged,
            failed: first.failed + second.failed,
            p99_us: first.p99_us.max(second.p99_us),
        };
        Ok(written.into())
    }

    pub(super) fn changes(&mut self) -> anyhow::Result<Happened> {
        let changes = self.clients.change()?;
        let written = self.kill_in_mid_write()?;
        self.group.up(self.node)?;
        let Changed { applied, unknown, changed, refused } = changes.end()?;
        ensure!(applied > 0, "expected conditional updates that were applied, found none");
        ensure!(changed > 0, "expected changes of the schema that succeeded, found none");
        let updates = format!("{applied} conditional updates, {unknown} not acknowledged");
        Ok(Happened {
            written,
            also: format!("{updates}; {changed} rounds of schema changes, {refused} refused"),
        })
    }

    /// Repairs the node. Then it has all rows without the others.
    fn repair_and_answer_alone(&mut self) -> anyhow::Result<()> {
        self.group.repair(self.node)?;
        let others = Group::others(self.node);
        others.clone().try_for_each(|other| self.group.kill(other))?;
        let lost = self.clients.lost_alone(&self.group.node(self.node).address())?;
        ensure!(lost == 0, "after the repair: expected all rows on the node, {lost} are missing");
        others.into_iter().try_for_each(|other| self.group.up(other))
    }

    /// Writes, and kills the node meanwhile.
    fn kill_in_mid_write(&mut self) -> anyhow::Result<Written> {
        let writer = self.clients.write()?;
        std::thread::sleep(self.after);
        self.group.kill(self.node)?;
        writer.end()
    }
}
