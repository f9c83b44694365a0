//! [`Groups`]: group commit of bodies. Bodies that become whole at about the same time are made
//! durable together.
//!
//! The put of a large body makes two things durable, one after the other: its file, by the journal
//! of the file system, and the entry that names the file, by the log of the store. On a disk the
//! head goes to these two places and back, and no body is written meanwhile. A group goes there
//! once.
//!
//! 1. A put writes the end of its file, and queues the body. One put at a time leads.
//! 2. On a disk the leader waits for puts that are [on their way](Moving), but for no longer than
//!    the last group took, and [`WAIT_MAX`]. If that one had several puts, it also lingers until
//!    their clients are back.
//! 3. The leader publishes all queued files by one transaction of the file system.
//! 4. Each put of the group makes the transaction of its entry. All of these are committed in one
//!    write of the log ([`Member::commit`]), each with an answer of its own.
//!
//! On a disk a body of at most a write, which is [held back](NewBody) in memory until its end, is
//! written in a [lane](Lane): one after the other, into one zone.
//!
//! # Failure
//! - Files that cannot be published together are published one by one: a file that fails holds up
//!   no other.
//! - A put that fails in step 4, for example because its condition does not hold, leaves the group.
//!   The others go on without it.
//! - A transaction with a conflict fails alone. Its put repeats it without the group.
//! - If the leader panics, the puts of its group fail, and all later ones. The server must be
//!   started again.
//!
//! # Threads
//! Any. A call waits for the device and for other puts, and holds no lock meanwhile. A put waits
//! for space, or for a zone, before it joins a group.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use terrace::StoreError;
use terrace::fs::{NamedFiles, NewFile};
use terrace_env::runner;
use terrace_env::store::FileWriter;
use terrace_env::sync::{CommitQueue, GroupCommit};
use terrace_env::wait::{WaitCause, WaitCounts};

use super::Fault;
use super::body::{NewBody, Written};
use super::company::{Company, Member, leader_panicked};
use super::moving::{Lane, Moving};

/// Longest wait for other puts.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Time in which the clients of the last group come back with their next bodies.
const LINGER: Duration = Duration::from_millis(2);
/// Longest wait for the turn to write a body that was held back.
const LANE_WAIT_MAX: Duration = Duration::from_millis(200);

/// See the [module](self).
pub(super) struct Groups {
    bodies: GroupCommit<Bodies>,
    moving: Arc<Moving>,
    lane: Lane,
    on_disk: bool,
    waits: Arc<WaitCounts>,
}

/// A published body, and the place of its put in the group.
type Published = (Written, Member);

/// Bodies that wait for their group, and the answers to others.
#[derive(Default)]
struct Bodies {
    waiting: Vec<(u64, NewBody)>,
    next: u64,
    published: BTreeMap<u64, Result<Published, Fault>>,
}

/// The last group.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    puts: usize,
    /// Time in which it was published; at least half of that of the group before it.
    time: Duration,
}

impl CommitQueue for Bodies {
    type Writer = Last;
    type Error = Fault;

    fn lose_writer(&mut self) -> Fault {
        leader_panicked().into()
    }
}

impl Groups {
    /// Groups of bodies, on a disk or elsewhere.
    pub(super) fn new(on_disk: bool) -> Self {
        let bodies = GroupCommit::new(Bodies::default(), Some(Last::default()));
        let (moving, waits) = (Arc::default(), Arc::default());
        Self { bodies, moving, lane: Lane::default(), on_disk, waits }
    }

    /// The puts that are on their way.
    pub(super) fn moving(&self) -> &Arc<Moving> {
        &self.moving
    }

    /// Whether the bodies are on a disk.
    pub(super) fn on_disk(&self) -> bool {
        self.on_disk
    }

    /// Publishes a body, durably, together with others. The caller then commits its entry by the
    /// returned member.
    pub(super) fn publish(
        &self,
        mut body: NewBody,
        files: &NamedFiles,
    ) -> Result<Published, Fault> {
        {
            let _turn = if body.is_held() { self.lane.take(LANE_WAIT_MAX) } else { None };
            body.finish()?;
        }
        let mut queue = self.bodies.lock();
        let ticket = queue.next;
        queue.next += 1;
        queue.waiting.push((ticket, body));
        self.bodies.commit(
            queue,
            (&self.waits, WaitCause::Journal),
            |queue| queue.published.remove(&ticket),
            |queue, _| std::mem::take(&mut queue.waiting),
            |lead, mut group| {
                let last = *lead.writer();
                if self.on_disk {
                    let linger = if last.puts > 1 { LINGER } else { Duration::ZERO };
                    self.moving.await_end(last.time.min(WAIT_MAX), linger);
                    lead.publish(|queue| group.append(&mut queue.waiting));
                }
                let (puts, begun) = (group.len(), runner::now());
                let published = self.publish_all(group, files);
                let time = (runner::now() - begun).max(last.time / 2);
                *lead.writer() = Last { puts, time };
                lead.publish(|queue| queue.published.extend(published));
            },
        )
    }

    fn publish_all(
        &self,
        mut group: Vec<(u64, NewBody)>,
        files: &NamedFiles,
    ) -> Vec<(u64, Result<Published, Fault>)> {
        match (publish_together(&mut group, files), group.len()) {
            (Ok(()), _) => {
                let puts = group.iter().map(|_| self.moving.begin()).collect();
                let members = Company::of(puts, &self.waits);
                let published = |((ticket, body), member): ((u64, NewBody), Member)| {
                    (ticket, Ok((body.written(), member)))
                };
                group.into_iter().zip(members).map(published).collect()
            }
            (Err(error), 1) => vec![(group[0].0, Err(error.into()))],
            (Err(_), _) => {
                group.into_iter().flat_map(|one| self.publish_all(vec![one], files)).collect()
            }
        }
    }
}

fn publish_together(group: &mut [(u64, NewBody)], files: &NamedFiles) -> Result<(), StoreError> {
    let names: Vec<String> = group.iter().map(|(_, body)| body.name()).collect();
    let mut all: Vec<(&mut dyn FileWriter, &str, &NewFile)> = Vec::with_capacity(group.len());
    for ((_, body), name) in group.iter_mut().zip(&names) {
        let (writer, file) = body.unpublished();
        all.push((writer, name, file));
    }
    files.publish_each(&mut all)
}

#[cfg(test)]
mod tests;
