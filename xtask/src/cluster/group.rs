//! The nodes of a cluster by number, and chores that need several of them.

use std::time::Instant;

use anyhow::Context;

use super::node::{Medium, NODES, Node, Start};
use super::parts::Parts;
use crate::step;

/// The orders in which three nodes start.
pub(super) const ORDERS: [[usize; 3]; 6] =
    [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// The nodes, and the number of checks of killed ones.
pub(super) struct Group<'a> {
    parts: &'a Parts<'a>,
    nodes: Vec<Node<'a>>,
    checks: u64,
}

impl<'a> Group<'a> {
    /// Starts three new nodes, each with an empty drive.
    pub(super) fn start(parts: &'a Parts<'a>) -> anyhow::Result<Self> {
        let nodes = (1..=NODES).map(|number| Node::new(parts, number)).collect::<Result<_, _>>()?;
        let mut group = Self { parts, nodes, checks: 0 };
        let began = Instant::now();
        for node in 0..group.nodes.len() {
            group.up(node)?;
        }
        eprintln!("{NODES} nodes after {:.0} s", began.elapsed().as_secs_f64());
        Ok(group)
    }

    /// The addresses of the first three nodes, as clients take them.
    pub(super) fn hosts(&self) -> String {
        let first = self.nodes.iter().take(usize::from(NODES));
        first.map(Node::address).collect::<Vec<_>>().join(",")
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    /// Starts all nodes anew, with a commit log that is synced before a write is acknowledged.
    pub(super) fn sync_logs(&mut self) -> anyhow::Result<()> {
        self.kill_all()?;
        for node in 0..self.nodes.len() {
            self.nodes[node].sync_log();
            self.up(node)?;
        }
        Ok(())
    }

    /// The node with this index.
    pub(super) fn node(&self, node: usize) -> &Node<'a> {
        &self.nodes[node]
    }

    /// All nodes of the first three but this one.
    pub(super) fn others(node: usize) -> impl Iterator<Item = usize> + Clone {
        (0..usize::from(NODES)).filter(move |other| *other != node)
    }

    /// Starts a node, and waits until clients can connect.
    pub(super) fn up(&mut self, node: usize) -> anyhow::Result<()> {
        self.nodes[node].start(Start::Again)?;
        self.nodes[node].wait()
    }

    /// Kills a node, and checks its store.
    pub(super) fn kill(&mut self, node: usize) -> anyhow::Result<()> {
        self.nodes[node].kill()?;
        self.check(node)
    }

    /// Kills a node with a damaged drive. The check of its store must find the damage.
    pub(super) fn kill_damaged(&mut self, node: usize) -> anyhow::Result<()> {
        self.nodes[node].kill()?;
        self.checks += 1;
        self.nodes[node].check_damaged()
    }

    /// Kills all nodes before it checks the first.
    pub(super) fn kill_all(&mut self) -> anyhow::Result<()> {
        for node in &mut self.nodes {
            node.kill()?;
        }
        (0..self.nodes.len()).try_for_each(|node| self.check(node))
    }

    fn check(&mut self, node: usize) -> anyhow::Result<()> {
        self.checks += 1;
        self.nodes[node].check()
    }

    /// The checks since the last call.
    pub(super) fn take_checks(&mut self) -> u64 {
        std::mem::take(&mut self.checks)
    }

    /// Starts a node that has lost its files and its drive, in place of itself.
    pub(super) fn replace(&mut self, node: usize, medium: Medium) -> anyhow::Result<()> {
        self.nodes[node].wipe(medium)?;
        self.nodes[node].start(Start::Replacing)?;
        self.nodes[node].wait()
    }

    /// Starts a fourth node, which takes a part of the data; its index.
    pub(super) fn join(&mut self) -> anyhow::Result<usize> {
        let mut node = Node::new(self.parts, NODES + 1)?;
        node.start(Start::Joining)?;
        node.wait()?;
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    /// Has the fourth node give its data to the others, and ends it.
    pub(super) fn leave(&mut self) -> anyhow::Result<()> {
        let node = self.nodes.len() - 1;
        self.nodetool(node, &["decommission"])?;
        self.kill(node)?;
        self.nodes.pop().context("expected a fourth node").map(drop)
    }

    /// Has a node and the others exchange rows that one of them lacks.
    pub(super) fn repair(&self, node: usize) -> anyhow::Result<()> {
        self.nodetool(node, &["repair", "-full", "loops"])
    }

    /// Runs `nodetool` on a node.
    fn nodetool(&self, node: usize, words: &[&str]) -> anyhow::Result<()> {
        step::command(self.parts.nodetool(self.nodes[node].management()).args(words))
    }
}
