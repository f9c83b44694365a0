//! Dates of a [`Player`]: its days are ten days long, and entries expire in between. So an entry
//! expires by the operation [`NextDay`](super::super::Operation::NextDay) alone, and not while
//! another one is played. On a real device the date cannot be set, and no day passes.

use std::time::Duration;

use terrace_env::{Date, runner};

use super::Player;
use super::contents;

/// The time between two days.
const DAY: Duration = Duration::from_secs(10 * 24 * 60 * 60);

impl Player<'_> {
    /// When an entry expires that is unseen from this day on.
    pub(super) fn expiry(&self, day: u8) -> Date {
        Date((self.first_day + DAY * day.into()).0.saturating_sub(DAY.as_millis() as u64 / 2))
    }

    /// Goes on to the next day. Cursors that are open may show expired entries, or not.
    pub(super) fn next_day(&mut self) {
        if !runner::is_simulated() {
            return;
        }
        let day = self.contents.next_day();
        runner::set_date(self.first_day + DAY * day.into());
        for (_, spaces) in &mut self.snapshots {
            contents::expire(spaces, day);
        }
        self.walks.clear();
    }
}
