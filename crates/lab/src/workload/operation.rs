//! [`Workload`]: an endless sequence of [`Operation`]s on records, drawn in given proportions. As
//! long as there is no record, it draws inserts.
//!
//! A workload does not know the results of its operations. A record counts as inserted once its
//! insert is drawn, and a deleted record can be drawn again.

use terrace_env::random::{Random, Rng};

use super::chooser::Chooser;
use super::sizes::Sizes;

/// An operation on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a record.
    Read(u64),
    /// Writes any record, there or not, with a value of this number of bytes.
    Update(u64, u32),
    /// Writes the next record, with a value of this number of bytes.
    Insert(u64, u32),
    /// Reads a number of records in key order from one on.
    Scan(u64, u32),
    /// Reads a record and writes it, with a value of this number of bytes.
    ReadModifyWrite(u64, u32),
    /// Deletes a record.
    Delete(u64),
}

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// [`Operation::Read`].
    Read,
    /// [`Operation::Update`].
    Update,
    /// [`Operation::Insert`].
    Insert,
    /// [`Operation::Scan`].
    Scan,
    /// [`Operation::ReadModifyWrite`].
    ReadModifyWrite,
    /// [`Operation::Delete`].
    Delete,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Update, Self::Insert, Self::Scan, Self::ReadModifyWrite, Self::Delete];

    /// Its name in traces and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "modify",
            Self::Delete => "delete",
        }
    }
}

impl Operation {
    /// Kind of the operation.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Read(_) => Kind::Read,
            Self::Update(..) => Kind::Update,
            Self::Insert(..) => Kind::Insert,
            Self::Scan(..) => Kind::Scan,
            Self::ReadModifyWrite(..) => Kind::ReadModifyWrite,
            Self::Delete(_) => Kind::Delete,
        }
    }

    /// The size of the value that it writes, if it writes one.
    #[must_use]
    pub fn value_size(self) -> Option<u32> {
        match self {
            Self::Update(_, size) | Self::Insert(_, size) | Self::ReadModifyWrite(_, size) => {
                Some(size)
            }
            Self::Read(_) | Self::Scan(..) | Self::Delete(_) => None,
        }
    }
}

/// How often each operation comes, in parts of the sum of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Proportions {
    /// Reads.
    pub read: f64,
    /// Updates.
    pub update: f64,
    /// Inserts.
    pub insert: f64,
    /// Scans.
    pub scan: f64,
    /// Reads that are followed by a write of the same record.
    pub read_modify_write: f64,
    /// Deletes.
    pub delete: f64,
}

impl Proportions {
    /// These proportions with `times` as many reads and scans to each write. A read that is
    /// followed by a write of its record stays one, and the others are plain reads.
    #[must_use]
    pub fn with_reads(self, times: u64) -> Self {
        let times = times.max(1) as f64;
        let read = times * self.read + (times - 1.0) * self.read_modify_write;
        Self { read, scan: times * self.scan, ..self }
    }

    /// The sum of all.
    #[must_use]
    pub fn sum(&self) -> f64 {
        let Self { read, update, insert, scan, read_modify_write, delete } = self;
        [read, update, insert, scan, read_modify_write, delete].into_iter().sum()
    }
}

/// A sequence of operations.
#[derive(Clone, Debug)]
pub struct Workload {
    proportions: Proportions,
    chooser: Chooser,
    values: Sizes,
    scans: Sizes,
    /// Scans are of an n-th of the records that are drawn for them, rounded.
    scan_part: u32,
    /// Records so far: inserts go on from here.
    records: u64,
    random: Random,
}

impl Workload {
    /// A workload on a store of `records` records.
    ///
    /// # Panics
    /// When no operation has a part, or there is nothing to begin with and no insert.
    #[must_use]
    pub fn new(
        proportions: Proportions,
        chooser: Chooser,
        values: Sizes,
        records: u64,
        seed: u64,
    ) -> Self {
        let Proportions { read, update, insert, scan, read_modify_write, delete } = proportions;
        let parts = [read, update, insert, scan, read_modify_write, delete];
        let positive = parts.iter().all(|part| *part >= 0.0) && parts.iter().sum::<f64>() > 0.0;
        assert!(positive, "proportions without an operation: {proportions:?}");
        assert!(records > 0 || insert > 0.0, "nothing to work on");
        let (scans, random) = (Sizes::Uniform(1, 100), Random::seeded(seed));
        Self { proportions, chooser, values, scans, scan_part: 1, records, random }
    }

    /// This workload with scans of other lengths; YCSB's are 1 to 100.
    #[must_use]
    pub fn with_scans(self, scans: Sizes) -> Self {
        Self { scans, ..self }
    }

    /// This workload with scans of `length` records, which follow one another where records are
    /// chosen in order.
    #[must_use]
    pub fn with_scan_length(self, length: u32) -> Self {
        let mut workload = self.with_scans(Sizes::Constant(length));
        if let Chooser::Sequential { step, .. } = &mut workload.chooser {
            *step = length.into();
        }
        workload
    }

    /// This workload with `times` as many reads and scans to each write
    /// ([`Proportions::with_reads`]), and scans of as many times fewer records.
    #[must_use]
    pub fn with_reads(mut self, times: u32) -> Self {
        let part = |records: u64| ((records + u64::from(times) / 2) / u64::from(times)).max(1);
        if let Chooser::Sequential { step, .. } = &mut self.chooser {
            *step = part(*step);
        }
        let proportions = self.proportions.with_reads(times.into());
        Self { proportions, scan_part: times, ..self }
    }

    /// How often each operation comes.
    #[must_use]
    pub fn proportions(&self) -> Proportions {
        self.proportions
    }

    /// This workload with another choice of records.
    #[must_use]
    pub fn with_chooser(self, chooser: Chooser) -> Self {
        Self { chooser, ..self }
    }

    /// Records so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The next operation.
    pub fn next_operation(&mut self) -> Operation {
        let Proportions { read, update, insert, scan, read_modify_write, delete } =
            self.proportions;
        let parts = [read, update, insert, scan, read_modify_write, delete];
        let mut rest = self.random.random::<f64>() * parts.iter().sum::<f64>();
        let drawn = parts.iter().position(|part| {
            rest -= part;
            rest < 0.0
        });
        // Without any record there is only one thing to do.
        if self.records == 0 {
            return self.insert();
        }
        match drawn {
            Some(1) => Operation::Update(self.record(), self.values.draw(&mut self.random)),
            Some(2) => self.insert(),
            Some(3) => {
                let (record, length) = (self.record(), self.scans.draw(&mut self.random));
                Operation::Scan(record, ((length + self.scan_part / 2) / self.scan_part).max(1))
            }
            Some(4) => {
                Operation::ReadModifyWrite(self.record(), self.values.draw(&mut self.random))
            }
            Some(5) => Operation::Delete(self.record()),
            // The first, or none by rounding.
            _ => Operation::Read(self.record()),
        }
    }

    fn record(&mut self) -> u64 {
        self.chooser.choose(self.records, &mut self.random)
    }

    fn insert(&mut self) -> Operation {
        self.records += 1;
        Operation::Insert(self.records - 1, self.values.draw(&mut self.random))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(operations: &[Operation], wanted: impl Fn(&Operation) -> bool) -> f64 {
        operations.iter().filter(|one| wanted(one)).count() as f64 / operations.len() as f64
    }

    #[test]
    fn operations_come_in_their_proportions_and_inserts_count_up() {
        let proportions = Proportions {
            read: 4.0,
            update: 2.0,
            insert: 1.0,
            scan: 1.0,
            read_modify_write: 1.0,
            delete: 1.0,
        };
        let mut workload =
            Workload::new(proportions, Chooser::Uniform, Sizes::Constant(100), 500, 1);
        let drawn: Vec<Operation> = (0..50_000).map(|_| workload.next_operation()).collect();
        let near = |share: f64, expected: f64| (share - expected).abs() < 0.01;
        assert!(near(share(&drawn, |one| matches!(one, Operation::Read(_))), 0.4));
        assert!(near(share(&drawn, |one| matches!(one, Operation::Update(_, 100))), 0.2));
        assert!(near(share(&drawn, |one| matches!(one, Operation::Delete(_))), 0.1));
        assert!(near(share(&drawn, |one| matches!(one, Operation::Scan(_, 1..=100))), 0.1));
        let inserted = drawn.iter().filter_map(|one| match one {
            Operation::Insert(record, _) => Some(*record),
            _ => None,
        });
        assert!(inserted.eq(500..workload.records()));
    }

    #[test]
    fn more_reads_come_to_each_write_and_scans_are_as_much_shorter() {
        let proportions = Proportions {
            read: 1.0,
            update: 1.0,
            scan: 1.0,
            read_modify_write: 1.0,
            ..Proportions::default()
        };
        let values = Sizes::Constant(100);
        let workload = Workload::new(proportions, Chooser::Uniform, values, 500, 1);
        let mut workload = workload.with_scans(Sizes::Constant(40)).with_reads(16);
        // 31 reads and 16 scans, of 2.5 records each, to one update and one read-modify-write.
        assert_eq!(workload.proportions().sum(), 49.0);
        let drawn: Vec<Operation> = (0..49_000).map(|_| workload.next_operation()).collect();
        let near = |share: f64, expected: f64| (share - expected / 49.0).abs() < 0.01;
        assert!(near(share(&drawn, |one| matches!(one, Operation::Read(_))), 31.0));
        assert!(near(share(&drawn, |one| matches!(one, Operation::Scan(_, 3))), 16.0));
        assert!(near(share(&drawn, |one| matches!(one, Operation::Update(..))), 1.0));
        assert!(near(share(&drawn, |one| matches!(one, Operation::ReadModifyWrite(..))), 1.0));
        let in_order = Chooser::Sequential { next: 0, step: 100 };
        let scans = Proportions { scan: 1.0, ..Proportions::default() };
        let in_order = Workload::new(scans, in_order, values, 500, 1).with_scan_length(100);
        let mut in_order = in_order.with_reads(16);
        let drawn = [(); 3].map(|()| in_order.next_operation());
        assert_eq!(drawn, [0, 6, 12].map(|record| Operation::Scan(record, 6)));
    }

    #[test]
    fn an_empty_store_is_begun_with_an_insert() {
        let half = Proportions { read: 1.0, insert: 1.0, ..Proportions::default() };
        let mut workload = Workload::new(half, Chooser::Uniform, Sizes::Constant(1), 0, 3);
        assert_eq!(workload.next_operation(), Operation::Insert(0, 1));
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        let half = Proportions { read: 1.0, insert: 1.0, ..Proportions::default() };
        let sequence = |seed| {
            let values = Sizes::Uniform(1, 1_000);
            let mut one = Workload::new(half, Chooser::hotspot(), values, 10, seed);
            (0..1_000).map(|_| one.next_operation()).collect::<Vec<_>>()
        };
        assert_eq!(sequence(1), sequence(1));
        assert_ne!(sequence(1), sequence(2));
    }
}
