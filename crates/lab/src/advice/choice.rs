//! [`choose`]: the candidate that suits a user best.
//!
//! 1. Candidates within the user's [`Limits`] come before the others.
//! 2. Among them the best by the user's [`Preference`] is chosen. `Balanced` is the geometric mean
//!    of writes, point reads and scans a second: to be twice as fast in one of them makes up for
//!    being half as fast in another one.
//!
//! Pure.

use super::Candidate;

/// Quantity by which a candidate is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// Overwrites a second.
    Write,
    /// The geometric mean of writes, reads and scans a second.
    #[default]
    Balanced,
    /// The geometric mean of reads and scans a second.
    Read,
    /// The worst live share of the space in use.
    Space,
}

/// Limits of the user; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The fewest overwrites a second.
    pub writes_per_second: Option<f64>,
    /// The longest overwrite, in seconds.
    pub longest_write: Option<f64>,
}

impl Limits {
    /// Whether a candidate is within them.
    #[must_use]
    pub fn allow(&self, candidate: &Candidate) -> bool {
        self.writes_per_second.is_none_or(|least| candidate.writes_per_second >= least)
            && self.longest_write.is_none_or(|most| candidate.longest_write <= most)
    }
}

impl Preference {
    fn value(self, candidate: &Candidate) -> f64 {
        let Candidate { writes_per_second, reads_per_second, scans_per_second, .. } = *candidate;
        match self {
            Self::Write => writes_per_second,
            Self::Balanced => (writes_per_second * reads_per_second * scans_per_second).cbrt(),
            Self::Read => (reads_per_second * scans_per_second).sqrt(),
            Self::Space => candidate.live_worst_percent,
        }
    }
}

/// The index of the best candidate; `None`: there is none within the limits.
#[must_use]
pub fn choose(candidates: &[Candidate], preference: Preference, limits: &Limits) -> Option<usize> {
    let allowed = (0..candidates.len()).filter(|at| limits.allow(&candidates[*at]));
    let value = |at: &usize| preference.value(&candidates[*at]);
    // The first of equals.
    allowed.rev().max_by(|a, b| value(a).total_cmp(&value(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(writes: f64, reads: f64, longest_write: f64, live: f64) -> Candidate {
        Candidate {
            system: "bluefs".to_owned(),
            writes_per_second: writes,
            written_for_one: 5.0,
            longest_write,
            live_worst_percent: live,
            runs: 9.0,
            reads_per_second: reads,
            scans_per_second: reads / 2.0,
        }
    }

    #[test]
    fn each_preference_has_its_own_winner_and_limits_come_first() {
        let all = [
            candidate(9_000.0, 10.0, 2.0, 70.0),
            candidate(4_000.0, 60.0, 1.0, 60.0),
            candidate(1_000.0, 90.0, 1.0, 65.0),
        ];
        let chosen = |preference, limits: Limits| choose(&all, preference, &limits);
        let none = Limits::default();
        assert_eq!(chosen(Preference::Write, none), Some(0));
        assert_eq!(chosen(Preference::Balanced, none), Some(1));
        assert_eq!(chosen(Preference::Read, none), Some(2));
        assert_eq!(chosen(Preference::Space, none), Some(0));
        let fast = Limits { writes_per_second: Some(2_000.0), ..none };
        assert_eq!(chosen(Preference::Read, fast), Some(1));
        let short = Limits { longest_write: Some(1.0), ..none };
        assert_eq!(chosen(Preference::Write, short), Some(1));
        let both = Limits { writes_per_second: Some(9_500.0), ..none };
        assert_eq!(chosen(Preference::Write, both), None);
    }
}
