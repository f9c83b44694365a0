//! [`Appending`]: which zones have appends in flight, and in which of them the zone table is out of
//! step. It does no I/O and takes no lock.
//!
//! After an append has failed, the table is set to a report of the zone. While other appends are in
//! flight there, the report shows some of them and not others. So the zone stays *unsettled* until
//! it was reported while no append to it was in flight, from before the report to after it. Several
//! threads may report one zone at once, and one of them may come back after the zone has been
//! settled, forgotten and begun anew. So appends are numbered over all zones, without a restart.

use std::collections::BTreeMap;

use terrace_env::ZoneId;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Appending {
    /// Zones with appends in flight, and unsettled ones.
    zones: BTreeMap<ZoneId, Zone>,
    /// How many appends have begun, in all zones.
    begun: u64,
}

#[derive(Debug, Default)]
struct Zone {
    under_way: usize,
    /// Number of the append that has begun last.
    last: u64,
    is_unsettled: bool,
}

/// A moment without appends to a zone: the number of the last one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause(u64);

impl Appending {
    pub(super) fn begin(&mut self, zone: ZoneId) {
        self.begun += 1;
        let zone = self.zones.entry(zone).or_default();
        zone.under_way += 1;
        zone.last = self.begun;
    }

    /// An append has ended.
    pub(super) fn end(&mut self, zone: ZoneId, has_failed: bool) {
        let entry = self.zones.get_mut(&zone).expect("an append in flight");
        entry.under_way -= 1;
        entry.is_unsettled |= has_failed;
        self.forget(zone);
    }

    /// Whether a zone is unsettled and can be reported, because no append to it is in flight.
    pub(super) fn pause(&self, zone: ZoneId) -> Option<Pause> {
        let entry = self.zones.get(&zone)?;
        (entry.under_way == 0 && entry.is_unsettled).then_some(Pause(entry.last))
    }

    /// A zone was reported. Returns whether the report tells of all appends: none has begun since
    /// the pause. The zone is settled then.
    pub(super) fn settle(&mut self, zone: ZoneId, pause: Pause) -> bool {
        let Some(entry) = self.zones.get_mut(&zone) else { return false };
        let is_right = entry.under_way == 0 && entry.last == pause.0;
        entry.is_unsettled &= !is_right;
        self.forget(zone);
        is_right
    }

    fn forget(&mut self, zone: ZoneId) {
        let is_over = |zone: &Zone| zone.under_way == 0 && !zone.is_unsettled;
        if self.zones.get(&zone).is_some_and(is_over) {
            self.zones.remove(&zone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: ZoneId = ZoneId(3);

    #[test]
    fn a_zone_is_settled_by_a_report_without_appends() {
        let mut appending = Appending::default();
        (0..3).for_each(|_| appending.begin(ZONE));
        appending.end(ZONE, true);
        assert_eq!(appending.pause(ZONE), None, "two are in flight");
        appending.end(ZONE, false);
        appending.end(ZONE, false);
        let pause = appending.pause(ZONE).unwrap();
        // One that begins and ends while the zone is reported.
        appending.begin(ZONE);
        assert!(!appending.settle(ZONE, pause));
        appending.end(ZONE, false);
        assert!(!appending.settle(ZONE, pause));
        let pause = appending.pause(ZONE).unwrap();
        assert!(appending.settle(ZONE, pause));
        assert_eq!(appending.pause(ZONE), None);
        assert!(appending.zones.is_empty());
    }

    #[test]
    fn a_zone_without_failures_needs_no_report() {
        let mut appending = Appending::default();
        (0..2).for_each(|_| appending.begin(ZONE));
        (0..2).for_each(|_| appending.end(ZONE, false));
        assert_eq!(appending.pause(ZONE), None);
        assert!(appending.zones.is_empty());
    }

    #[test]
    fn a_report_from_before_a_zone_was_settled_is_not_taken_over() {
        let mut appending = Appending::default();
        appending.begin(ZONE);
        appending.end(ZONE, true);
        // One thread begins a report, and is slow.
        let slow = appending.pause(ZONE).unwrap();
        // Another thread appends, reports the zone and settles it.
        appending.begin(ZONE);
        appending.end(ZONE, false);
        let pause = appending.pause(ZONE).unwrap();
        assert!(appending.settle(ZONE, pause));
        assert!(appending.zones.is_empty());
        // The append of a third thread fails. Only its own report tells of it.
        appending.begin(ZONE);
        appending.end(ZONE, true);
        let pause = appending.pause(ZONE).unwrap();
        assert!(!appending.settle(ZONE, slow), "it is older than the last append");
        assert!(appending.settle(ZONE, pause));
        assert!(appending.zones.is_empty());
    }
}
