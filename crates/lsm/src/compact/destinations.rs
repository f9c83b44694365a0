//! [`Destinations`]: the tables that a job is writing, at most one for each destination of its
//! routes (a route sends a range of keys to a destination). A destination is a place in the tree (a
//! level and a run) and a stream (a hint for placement on the device).
//!
//! A table stays open while the job writes to other destinations. Example: routes alternate between
//! levels 1 and 2; one table of each level grows until it is full.
//!
//! The job ends a table where the [`Cut`](terrace_policy::Cut) of its route says so, and all tables
//! at the end of the job. A table ends earlier in two cases:
//! - Another destination of the same run begins a table. The tables of a run must not overlap.
//! - A table is to be opened, and the [`TableSource`] allows no more open tables. The fullest one
//!   ends.
//!
//! Before the job turns to another table, it waits for the writes of the last one. Tables that are
//! open when this is dropped count as discarded bytes. One actor at a time uses it.

use std::sync::Arc;

use terrace_policy::{Place, Route};

use super::outputs::{Output, Outputs};
use super::table_source::{TableSource, whole};
use crate::Error;
use crate::canary::{self, Rule};
use crate::old_versions::HeldBy;
use crate::ranges::Fragment;
use crate::table::TableBuilder;

/// A run and a stream, as a place for tables.
struct Destination {
    to: Place,
    stream: u16,
    /// The open table.
    builder: Option<TableBuilder>,
    /// Bytes of range tombstones in the table.
    ranges: u64,
    /// Bytes of the grandparents that the table overlaps.
    overlap: u64,
}

impl Destination {
    /// Approximate bytes of the open table.
    fn filled(&self) -> u64 {
        self.builder.as_ref().map_or(0, |builder| builder.estimated_size().0 + self.ranges)
    }
}

/// See the [module](self).
pub(crate) struct Destinations {
    source: TableSource,
    all: Vec<Destination>,
    /// The destination of each route.
    of_route: Vec<usize>,
    /// The destination that was written to last.
    current: usize,
    /// Bytes of the largest table.
    largest: u64,
    outputs: Outputs,
}

impl Destinations {
    /// Destinations of some routes, without a table.
    pub(crate) fn new(routes: &[Route], source: TableSource) -> Self {
        let mut all: Vec<Destination> = Vec::new();
        let mut of_route = Vec::with_capacity(routes.len());
        for &Route { to, stream, .. } in routes {
            let at = all.iter().position(|one| (one.to, one.stream) == (to, stream));
            of_route.push(at.unwrap_or(all.len()));
            if at.is_none() {
                let (ranges, overlap) = (0, 0);
                all.push(Destination { to, stream, builder: None, ranges, overlap });
            }
        }
        let outputs = Outputs::new(source.group.is_some(), Arc::clone(&source.discarded));
        let largest = routes.iter().map(whole).max().unwrap_or(0);
        Self { source, all, of_route, current: 0, largest, outputs }
    }

    /// Whether the job has used its budget, if `pending` more bytes are to come.
    pub(crate) fn are_over_budget(&self, pending: u64) -> bool {
        self.written() + pending >= self.source.budget.0
    }

    /// Approximate bytes of all tables, finished or not.
    fn written(&self) -> u64 {
        self.outputs.bytes() + self.all.iter().map(Destination::filled).sum::<u64>()
    }

    /// Approximate bytes of a route's table; `None` if no table is open.
    pub(crate) fn filled(&self, route: usize) -> Option<u64> {
        let destination = &self.all[self.of_route[route]];
        destination.builder.as_ref().map(|_| destination.filled())
    }

    /// The bytes of the grandparents that a route's table overlaps.
    pub(crate) fn overlap(&mut self, route: usize) -> &mut u64 {
        &mut self.all[self.of_route[route]].overlap
    }

    /// Adds an entry at the end of the route's table. `held_by`: the snapshots that it is kept for,
    /// if no other reader needs it.
    pub(crate) fn add(
        &mut self,
        (at, route): (usize, &Route),
        (key, value): (&[u8], &[u8]),
        held_by: Option<HeldBy>,
    ) -> Result<(), Error> {
        let builder = self.open((at, route))?;
        if let Some(held_by) = held_by.filter(|_| !canary::is_broken(Rule::OldVersionsCounted)) {
            builder.count_old_version(held_by, (key.len() + value.len()) as u64);
        }
        builder.add(key, value)
    }

    /// Adds range tombstones at the end of the route's table. `held`: those that only snapshots
    /// keep, with their bytes.
    pub(crate) fn add_ranges(
        &mut self,
        (at, route): (usize, &Route),
        fragments: Vec<Fragment>,
        held: Vec<(HeldBy, u64)>,
    ) -> Result<(), Error> {
        if fragments.is_empty() {
            return Ok(());
        }
        let bytes: usize = fragments.iter().map(Fragment::bytes).sum();
        let builder = self.open((at, route))?;
        builder.add_ranges(fragments);
        for (held_by, bytes) in held {
            builder.count_old_version(held_by, bytes);
        }
        self.all[self.of_route[at]].ranges += bytes as u64;
        Ok(())
    }

    /// Opens the table of a route, to which the next entries go.
    fn open(&mut self, (at, route): (usize, &Route)) -> Result<&mut TableBuilder, Error> {
        let at = self.of_route[at];
        if self.all[at].builder.is_none() {
            self.make_room(route.to)?;
            let builder = self.source.begin(route, self.written())?;
            debug_assert!(
                self.all.iter().all(|one| one.to != route.to || one.builder.is_none()),
                "{}: a run has one open table",
                route.to
            );
            self.all[at].builder = Some(builder);
        }
        self.turn_to(at)?;
        Ok(self.all[at].builder.as_mut().expect("an open table"))
    }

    /// Waits for the writes of the last table, so that at most one table has writes in flight.
    fn turn_to(&mut self, at: usize) -> Result<(), Error> {
        if at != self.current {
            if let Some(left) = &mut self.all[self.current].builder {
                left.rest()?;
            }
            self.current = at;
        }
        Ok(())
    }

    /// Ends tables, so that one for a run may be opened.
    fn make_room(&mut self, to: Place) -> Result<(), Error> {
        for other in 0..self.all.len() {
            if self.all[other].to == to {
                self.end(other)?;
            }
        }
        loop {
            let open = self.all.iter().enumerate().filter(|(_, one)| one.builder.is_some());
            let count = open.clone().count();
            if self.source.may_open_beside(count, self.largest) {
                return Ok(());
            }
            let fullest = open.max_by_key(|(_, one)| one.filled()).map(|(at, _)| at);
            self.end(fullest.expect("one table always may be open"))?;
        }
    }

    /// Ends the table of a route, if there is one.
    pub(crate) fn end_table(&mut self, route: usize) -> Result<(), Error> {
        self.end(self.of_route[route])
    }

    /// Ends all tables.
    pub(crate) fn end_all(&mut self) -> Result<(), Error> {
        (0..self.all.len()).try_for_each(|at| self.end(at))?;
        debug_assert!(self.all.iter().all(|one| one.filled() == 0), "bytes of no table");
        Ok(())
    }

    fn end(&mut self, at: usize) -> Result<(), Error> {
        if self.all[at].builder.is_some() {
            self.turn_to(at)?;
        }
        let destination = &mut self.all[at];
        if let Some(builder) = destination.builder.take() {
            (destination.ranges, destination.overlap) = (0, 0);
            let (place, stream) = (destination.to, destination.stream);
            self.outputs.push(Output { place, stream, built: builder.finish()? });
        }
        Ok(())
    }

    /// Finished tables, for a job that goes on without them.
    pub(crate) fn take_outputs(&mut self) -> Outputs {
        self.outputs.take()
    }
}

impl Drop for Destinations {
    fn drop(&mut self) {
        for builder in self.all.iter().filter_map(|one| one.builder.as_ref()) {
            self.source.discarded.add(builder.estimated_size().0);
        }
    }
}
