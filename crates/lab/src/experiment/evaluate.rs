//! Finds the value of a [`Claim`]'s quantity in the outcomes of our runs.
//!
//! There is no value if a run, a metric, a sample or a series in it is missing; if the claim waits
//! for a value that its series does not reach; if the claim is about zones and the outcome lists
//! none; or if the divisor of a ratio is zero.
//!
//! The outcomes must be of the claim's own experiment: the names of systems, variants and phases
//! are compared, not the experiment's name.

use super::claim::{Claim, Measure, Quantity, Than};
use crate::run::{Outcome, Sample};

impl Claim {
    /// Our metric; `None` where the runs that it is taken from are not among `outcomes`, or do not
    /// have it.
    #[must_use]
    pub fn evaluate(&self, outcomes: &[Outcome]) -> Option<f64> {
        self.quantity.evaluate(outcomes)
    }
}

impl Quantity {
    fn evaluate(&self, outcomes: &[Outcome]) -> Option<f64> {
        let outcome = self.outcome(outcomes, &self.system)?;
        match &self.measure {
            Measure::Metric { metric, than } => {
                self.compare(outcomes, than.as_ref(), |outcome| outcome.metrics.value(metric))
            }
            Measure::End { series, than } => self.compare(outcomes, than.as_ref(), |outcome| {
                outcome.samples.last()?.values.get(series).copied()
            }),
            Measure::Series { series, when, reaches } => {
                let reached = |sample: &&Sample| {
                    sample.values.get(when).is_some_and(|value| value >= reaches)
                };
                outcome.samples.iter().find(reached)?.values.get(series).copied()
            }
            Measure::Zones { between: (least, most) } => {
                let zones = &outcome.zones;
                let within = zones.iter().filter(|zone| (*least..=*most).contains(&zone.valid));
                (!zones.is_empty()).then(|| within.count() as f64 / zones.len() as f64)
            }
        }
    }

    /// The outcome of a system in the phase and variant that are meant.
    fn outcome<'a>(&self, outcomes: &'a [Outcome], system: &str) -> Option<&'a Outcome> {
        outcomes.iter().find(|outcome| {
            outcome.system == system && outcome.variant == self.variant && self.is_of_phase(outcome)
        })
    }

    /// A value of the quantity's own run, or how it stands to that of another.
    fn compare(
        &self,
        outcomes: &[Outcome],
        than: Option<&Than>,
        value: impl Fn(&Outcome) -> Option<f64>,
    ) -> Option<f64> {
        let own = value(self.outcome(outcomes, &self.system)?)?;
        let Some(than) = than else { return Some(own) };
        let other = value(self.other(outcomes, than.whose())?)?;
        match than {
            Than::Over(_) => (other != 0.0).then(|| own / other),
            Than::Minus(_) => Some(own - other),
        }
    }

    /// The outcome that this one is compared with: a system's, a variant's, or both.
    fn other<'a>(&self, outcomes: &'a [Outcome], whose: &str) -> Option<&'a Outcome> {
        let is_meant = |outcome: &&Outcome| {
            let variant = outcome.variant.as_deref();
            outcome.system == self.system && variant == Some(whose)
                || variant.is_some_and(|it| whose == format!("{}, {it}", outcome.system))
        };
        let of_variant = || outcomes.iter().filter(is_meant).find(|it| self.is_of_phase(it));
        self.outcome(outcomes, whose).or_else(of_variant)
    }

    fn is_of_phase(&self, outcome: &Outcome) -> bool {
        self.phase.as_ref().is_none_or(|phase| *phase == outcome.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(quantity: &str) -> Claim {
        let text = format!("text = \"t\"\npublished = 1.0\nquantity = {{ {quantity} }}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn each_kind_of_quantity_is_taken_from_its_run() {
        let (a, mut b) = (Outcome::made_up("a"), Outcome::made_up("b"));
        b.metrics.kv_per_second = 200.0;
        let mut lesser = Outcome { variant: Some("lesser".into()), ..Outcome::made_up("a") };
        lesser.metrics.kv_per_second = 100.0;
        let outcomes = [a, b, lesser];
        for (quantity, expected) in [
            ("system = \"a\", metric = \"kv_per_second\"", Some(300.0)),
            ("system = \"a\", metric = \"kv_per_second\", over = \"b\"", Some(1.5)),
            ("system = \"a\", metric = \"kv_per_second\", over = \"lesser\"", Some(3.0)),
            ("system = \"a\", metric = \"kv_per_second\", minus = \"b\"", Some(100.0)),
            ("system = \"b\", metric = \"kv_per_second\", minus = \"a\"", Some(-100.0)),
            ("system = \"b\", metric = \"kv_per_second\", minus = \"a, lesser\"", Some(100.0)),
            ("system = \"a\", metric = \"kv_per_second\", minus = \"c\"", None),
            ("system = \"b\", metric = \"kv_per_second\", over = \"lesser\"", None),
            ("system = \"b\", metric = \"kv_per_second\", over = \"a, lesser\"", Some(2.0)),
            ("system = \"a\", metric = \"kv_per_second\", over = \"c\"", None),
            ("system = \"b\", metric = \"kv_per_second\", phase = \"other\"", None),
            ("system = \"b\", metric = \"kv_per_second\", variant = \"other\"", None),
            ("system = \"b\", metric = \"read_amplification\"", None),
            ("system = \"b\", metric = \"seconds_by_cause.reclaim\"", Some(0.0)),
            (
                "system = \"a\", series = \"reclaim_share\", when = \"valid_share\", reaches = 0.7",
                Some(0.4),
            ),
            (
                "system = \"a\", series = \"reclaim_share\", when = \"valid_share\", reaches = 0.9",
                None,
            ),
            ("system = \"a\", series = \"reclaim_share\"", Some(0.6)),
            ("system = \"a\", series = \"reclaim_share\", minus = \"b\"", Some(0.0)),
            ("system = \"a\", series = \"reclaim_share\", over = \"lesser\"", Some(1.0)),
            ("system = \"a\", zones_between = [0.45, 0.8]", Some(0.5)),
        ] {
            assert_eq!(claim(quantity).evaluate(&outcomes), expected, "{quantity}");
        }
    }
}
