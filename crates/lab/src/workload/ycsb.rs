//! [`Ycsb`]: the core workloads of the Yahoo! Cloud Serving Benchmark (Cooper and others,
//! "Benchmarking cloud serving systems with YCSB", SoCC 2010; files `workloads/workloada` to
//! `workloadf` of its distribution).
//!
//! Proportions of operations and choice of records are YCSB's. A record has one value instead of
//! ten fields; the caller decides its size.

use std::fmt;

use super::chooser::Chooser;
use super::operation::{Proportions, Workload};
use super::sizes::Sizes;
use super::zipfian::{ScrambledZipfian, Zipfian};

/// A core workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ycsb {
    /// Inserts only: the others begin with its records.
    Load,
    /// *Update heavy*: half reads, half updates.
    A,
    /// *Read mostly*: 95 % reads, 5 % updates.
    B,
    /// *Read only*.
    C,
    /// *Read latest*: 95 % reads, mostly of the newest records, 5 % inserts.
    D,
    /// *Short ranges*: 95 % scans of 1 to 100 records, 5 % inserts.
    E,
    /// *Read-modify-write*: half reads, half reads followed by a write.
    F,
}

impl Ycsb {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Load, Self::A, Self::B, Self::C, Self::D, Self::E, Self::F];

    /// The workload's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "ycsb-load",
            Self::A => "ycsb-a",
            Self::B => "ycsb-b",
            Self::C => "ycsb-c",
            Self::D => "ycsb-d",
            Self::E => "ycsb-e",
            Self::F => "ycsb-f",
        }
    }

    /// The proportions of the workload's operations.
    #[must_use]
    pub fn proportions(self) -> Proportions {
        let none = Proportions::default();
        match self {
            Self::Load => Proportions { insert: 1.0, ..none },
            Self::A => Proportions { read: 0.5, update: 0.5, ..none },
            Self::B => Proportions { read: 0.95, update: 0.05, ..none },
            Self::C => Proportions { read: 1.0, ..none },
            Self::D => Proportions { read: 0.95, insert: 0.05, ..none },
            Self::E => Proportions { scan: 0.95, insert: 0.05, ..none },
            Self::F => Proportions { read: 0.5, read_modify_write: 0.5, ..none },
        }
    }

    /// The workload's choice of records.
    #[must_use]
    pub fn chooser(self) -> Chooser {
        match self {
            Self::Load => Chooser::Uniform,
            Self::D => Chooser::Latest(Zipfian::new(1, Zipfian::THETA)),
            _ => Chooser::Zipfian(ScrambledZipfian::new()),
        }
    }

    /// The workload on a store of `records` records; `Load` begins with none.
    #[must_use]
    pub fn workload(self, values: Sizes, records: u64, seed: u64) -> Workload {
        let records = if self == Self::Load { 0 } else { records };
        Workload::new(self.proportions(), self.chooser(), values, records, seed)
    }
}

impl fmt::Display for Ycsb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Operation;
    use super::*;

    #[test]
    fn every_workload_draws_its_own_operations() {
        for ycsb in Ycsb::ALL {
            let mut workload = ycsb.workload(Sizes::Constant(1_000), 100, 1);
            assert!((0..1_000).all(|_| match workload.next_operation() {
                Operation::Scan(_, length) => ycsb == Ycsb::E && (1..=100).contains(&length),
                Operation::Insert(..) => matches!(ycsb, Ycsb::Load | Ycsb::D | Ycsb::E),
                Operation::Update(..) => matches!(ycsb, Ycsb::A | Ycsb::B),
                Operation::ReadModifyWrite(..) => ycsb == Ycsb::F,
                Operation::Read(_) => !matches!(ycsb, Ycsb::Load | Ycsb::E),
                Operation::Delete(_) => false,
            }));
        }
    }
}
