//! Loops of the cluster: writes at QUORUM, a fault, starts, and a check that each acknowledged
//! write is there.
//!
//! All rows with an acknowledged write since the cluster was made are read at QUORUM at the end of
//! each loop. `terrace check` verifies the store of each killed node before the node starts again.
//! The seed decides the keys, the nodes and the moments of the kills. [`super::scenes`] has what
//! happens in each kind of loop.

use std::time::{Duration, Instant};

use anyhow::ensure;

use super::client::{Clients, Written};
use super::group::{Group, ORDERS};
use super::node::NODES;
use super::parts::Parts;
use super::scenes::{Happened, Scene};
use crate::random::mixed;

/// The longest time from the first write to a kill, and the shortest, in milliseconds.
const KILL_MAX: u64 = 2500;
const KILL_MIN: u64 = 200;

/// A kind of loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    One,
    All,
    Stale,
    Replace,
    Repair,
    Wipe,
    Flips,
    Full,
    Fourth,
    Changes,
}

/// All kinds, in the order of the loops.
const KINDS: [Kind; 10] = [
    Kind::One,
    Kind::All,
    Kind::Stale,
    Kind::Replace,
    Kind::Repair,
    Kind::Wipe,
    Kind::Flips,
    Kind::Full,
    Kind::Fourth,
    Kind::Changes,
];

/// The result of a loop.
#[derive(Debug)]
pub(super) struct Done {
    kind: Kind,
    happened: Happened,
    lost: u64,
    checks: u64,
    seconds: f64,
}

/// A cluster under test.
pub(super) struct Loops<'a> {
    group: Group<'a>,
    clients: Clients<'a>,
    seed: u64,
}

impl<'a> Loops<'a> {
    /// Starts a new cluster with an empty table. Each loop has this number of writes.
    pub(super) fn start(parts: &'a Parts<'a>, seed: u64, writes: u64) -> anyhow::Result<Self> {
        let group = Group::start(parts)?;
        let clients = Clients::new(parts, group.hosts(), seed, writes)?;
        Ok(Self { group, clients, seed })
    }

    /// Carries out one loop. The index chooses its kind, unless one is given.
    pub(super) fn run(&mut self, index: u64, only: Option<Kind>) -> anyhow::Result<Done> {
        let began = Instant::now();
        let count = KINDS.len() as u64;
        let kind = only.unwrap_or(KINDS[(index % count) as usize]);
        let chosen = mixed(self.seed, 3 * index);
        let node = (chosen % u64::from(NODES)) as usize;
        let after = KILL_MIN + mixed(self.seed, 3 * index + 1) % (KILL_MAX - KILL_MIN);
        let order = ORDERS[((index / count + chosen) % 6) as usize];
        let after = Duration::from_millis(after);
        eprintln!("loop {index}: {kind:?}, node {}, kill after {after:?}, {order:?}", node + 1);
        let mut scene = Scene { group: &mut self.group, clients: &mut self.clients, node, after };
        let happened = match kind {
            Kind::One => scene.one()?,
            Kind::All => scene.all(order)?,
            Kind::Stale => scene.stale()?,
            Kind::Replace => scene.replace()?,
            Kind::Repair => scene.repair()?,
            Kind::Wipe => scene.wipe()?,
            Kind::Flips => scene.flips()?,
            Kind::Full => scene.full()?,
            Kind::Fourth => scene.fourth()?,
            Kind::Changes => scene.changes()?,
        };
        let lost = self.clients.lost()?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Done { kind, happened, lost, checks: self.group.take_checks(), seconds })
    }
}

/// The table of loops; an error if a write was lost or none was acknowledged.
pub(super) fn close(done: &[Done]) -> anyhow::Result<()> {
    println!(
        "| loop | acknowledged | not acknowledged | lost | checks | p99 of writes | seconds | \
         also |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    for one in done {
        let Done { kind, happened, lost, checks, seconds } = one;
        let Happened { written: Written { acknowledged, failed, p99_us }, also } = happened;
        let p99 = *p99_us as f64 / 1e3;
        let times = format!("{p99:.1} ms | {seconds:.0}");
        let kind = format!("{kind:?}").to_lowercase();
        println!("| {kind} | {acknowledged} | {failed} | {lost} | {checks} | {times} | {also} |");
    }
    for one in done {
        let Done { kind, happened, lost, .. } = one;
        ensure!(*lost == 0, "{kind:?}: expected no lost write, found {lost}");
        ensure!(happened.written.acknowledged > 0, "{kind:?}: expected acknowledged writes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_write_fails() {
        let done = |lost, acknowledged| Done {
            kind: Kind::One,
            happened: Happened::from(Written { acknowledged, ..Written::default() }),
            lost,
            checks: 1,
            seconds: 1.0,
        };
        close(&[done(0, 5)]).unwrap();
        let error = close(&[done(0, 5), done(1, 5)]).unwrap_err().to_string();
        assert_eq!(error, "One: expected no lost write, found 1");
        assert!(close(&[done(0, 0)]).is_err());
    }
}
