//! [`Chooser`]: chooses the record of the next operation, in order or by a distribution.
//!
//! A chooser may have a state, so each sequence of operations needs its own. The number of records
//! may grow between choices. While it does not change, `Shuffled` takes each record once in a
//! round.

use std::fmt;
use std::str::FromStr;

use terrace_env::random::{Random, Rng};

use super::order::Order;
use super::zipfian::{ScrambledZipfian, Zipfian};

/// A way to choose among the records there are, with YCSB's names.
#[derive(Clone, Debug)]
pub enum Chooser {
    /// One after the other, or in steps, and again from the first.
    Sequential {
        /// The next record.
        next: u64,
        /// Distance from one record to the next.
        step: u64,
    },
    /// Each once, in an order that looks random, and again from the first: like RocksDB's
    /// `filluniquerandom`.
    Shuffled {
        /// How many were chosen.
        next: u64,
        /// Seed of the order.
        seed: u64,
    },
    /// Each as often as any other.
    Uniform,
    /// By Zipf's distribution, the popular ones scattered: YCSB's `zipfian`.
    Zipfian(ScrambledZipfian),
    /// By Zipf's distribution, the oldest the most popular: popular records are neighbours.
    Clustered(Zipfian),
    /// By Zipf's distribution, the newest the most popular.
    Latest(Zipfian),
    /// Most operations on few records; uniform among these, and among the others.
    Hotspot {
        /// The share of the records that is hot; they are the oldest.
        records: f64,
        /// The share of the operations on them.
        operations: f64,
    },
    /// Nine of ten operations on a tenth of the records; uniform among these, and among the others.
    NinetyTen {
        /// Whether the tenth is scattered over all records, and not the oldest of them.
        scattered: bool,
    },
}

impl Chooser {
    /// The names there are.
    pub const NAMES: [&str; 9] = [
        "sequential",
        "shuffled",
        "uniform",
        "zipfian",
        "zipfian-clustered",
        "latest",
        "hotspot",
        "ninety-ten",
        "ninety-ten-scattered",
    ];

    /// YCSB's hot spot: four of five operations on a fifth of the records.
    #[must_use]
    pub fn hotspot() -> Self {
        Self::Hotspot { records: 0.2, operations: 0.8 }
    }

    /// The chooser's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sequential { .. } => "sequential",
            Self::Shuffled { .. } => "shuffled",
            Self::Uniform => "uniform",
            Self::Zipfian(_) => "zipfian",
            Self::Clustered(_) => "zipfian-clustered",
            Self::Latest(_) => "latest",
            Self::Hotspot { .. } => "hotspot",
            Self::NinetyTen { scattered: false } => "ninety-ten",
            Self::NinetyTen { scattered: true } => "ninety-ten-scattered",
        }
    }

    /// Chooses one of the records `0..records`.
    ///
    /// # Panics
    /// When there are none.
    pub fn choose(&mut self, records: u64, random: &mut Random) -> u64 {
        assert!(records > 0, "a choice out of nothing");
        match self {
            Self::Sequential { next, step } => {
                let chosen = if *next < records { *next } else { 0 };
                *next = chosen + *step;
                chosen
            }
            Self::Shuffled { next, seed } => {
                let place = *next % records;
                *next = place + 1;
                Order::seeded(*seed, records).at(place)
            }
            Self::Uniform => random.random_range(0..records),
            Self::Zipfian(zipfian) => zipfian.draw(records, random),
            Self::Clustered(zipfian) => {
                zipfian.grow(records);
                zipfian.draw(random).min(records - 1)
            }
            Self::Latest(zipfian) => {
                zipfian.grow(records);
                // Drawn over the records at the last growth: never less than there is.
                records - 1 - zipfian.draw(random).min(records - 1)
            }
            Self::Hotspot { records: share, operations } => {
                hot_or_cold(records, *share, *operations, random)
            }
            Self::NinetyTen { scattered } => {
                let chosen = hot_or_cold(records, 0.1, 0.9, random);
                // One order for every sequence of operations, so that the same records stay hot.
                if *scattered { Order::seeded(0, records).at(chosen) } else { chosen }
            }
        }
    }
}

/// A share of the operations goes to a share of the records, which are the oldest.
fn hot_or_cold(records: u64, share: f64, operations: f64, random: &mut Random) -> u64 {
    let hot = ((records as f64 * share) as u64).clamp(1, records);
    if hot == records || random.random_bool(operations) {
        random.random_range(0..hot)
    } else {
        random.random_range(hot..records)
    }
}

impl fmt::Display for Chooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no chooser of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {}, found `{name}`", Chooser::NAMES.join(", "))]
pub struct UnknownChooser {
    /// Name asked for.
    pub name: String,
}

impl FromStr for Chooser {
    type Err = UnknownChooser;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "sequential" => Ok(Self::Sequential { next: 0, step: 1 }),
            "shuffled" => Ok(Self::Shuffled { next: 0, seed: 1 }),
            "uniform" => Ok(Self::Uniform),
            "zipfian" => Ok(Self::Zipfian(ScrambledZipfian::new())),
            "zipfian-clustered" => Ok(Self::Clustered(Zipfian::new(1, Zipfian::THETA))),
            "latest" => Ok(Self::Latest(Zipfian::new(1, Zipfian::THETA))),
            "hotspot" => Ok(Self::hotspot()),
            "ninety-ten" => Ok(Self::NinetyTen { scattered: false }),
            "ninety-ten-scattered" => Ok(Self::NinetyTen { scattered: true }),
            _ => Err(UnknownChooser { name: name.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chooser_stays_within_the_records_also_while_they_grow() {
        let mut random = Random::seeded(1);
        for name in Chooser::NAMES {
            let mut chooser: Chooser = name.parse().unwrap();
            assert_eq!(chooser.name(), name);
            for records in 1..2_000 {
                assert!(chooser.choose(records, &mut random) < records, "{name} of {records}");
            }
        }
        let error = "zipf".parse::<Chooser>().unwrap_err().to_string();
        assert!(error.contains("ninety-ten-scattered, found `zipf`"), "{error}");
    }

    #[test]
    fn latest_prefers_the_newest_and_hotspot_the_hot() {
        let mut random = Random::seeded(1);
        let mut share = |name: &str, wanted: std::ops::Range<u64>| {
            let mut chooser: Chooser = name.parse().unwrap();
            let chosen = (0..20_000).map(|_| chooser.choose(1_000, &mut random));
            chosen.filter(|record| wanted.contains(record)).count() as f64 / 20_000.0
        };
        assert!(share("latest", 990..1_000) > 0.35);
        assert!((0.78..0.82).contains(&share("hotspot", 0..200)));
        assert!((0.18..0.22).contains(&share("uniform", 0..200)));
        assert!((0.88..0.92).contains(&share("ninety-ten", 0..100)));
        assert!((0.05..0.25).contains(&share("ninety-ten-scattered", 0..100)));
        assert!(share("zipfian-clustered", 0..10) > 0.35);
    }

    #[test]
    fn a_scattered_tenth_is_as_hot_as_the_oldest_and_stays_the_same() {
        let often = |seed| {
            let mut chooser: Chooser = "ninety-ten-scattered".parse().unwrap();
            let (mut counts, random) = (vec![0_u32; 1_000], &mut Random::seeded(seed));
            (0..20_000).for_each(|_| counts[chooser.choose(1_000, random) as usize] += 1);
            let hot = (0..1_000).filter(|record| counts[*record] > 60);
            hot.collect::<Vec<usize>>()
        };
        assert_eq!(often(1).len(), 100);
        assert_eq!(often(1), often(2));
        assert!(often(1).iter().any(|record| *record > 900));
    }

    #[test]
    fn shuffled_chooses_each_once_before_it_begins_again() {
        let mut chooser: Chooser = "shuffled".parse().unwrap();
        let mut random = Random::seeded(1);
        let first: Vec<u64> = (0..50).map(|_| chooser.choose(50, &mut random)).collect();
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..50) && !first.is_sorted());
        assert!((0..50).all(|at| chooser.choose(50, &mut random) == first[at]));
    }

    #[test]
    fn sequential_goes_round() {
        let random = &mut Random::seeded(1);
        let mut chooser = Chooser::Sequential { next: 0, step: 1 };
        let chosen: Vec<u64> = (0..7).map(|_| chooser.choose(3, random)).collect();
        assert_eq!(chosen, [0, 1, 2, 0, 1, 2, 0]);
        let mut chooser = Chooser::Sequential { next: 0, step: 4 };
        let chosen: Vec<u64> = (0..5).map(|_| chooser.choose(10, random)).collect();
        assert_eq!(chosen, [0, 4, 8, 0, 4]);
    }
}
