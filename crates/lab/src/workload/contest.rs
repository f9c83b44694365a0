//! [`Contest`]: the writes of a record that several clients wrote at once, and which of them a read
//! may find.
//!
//! A clock ticks when a write begins or ends. Write A is dropped when another write B ends that
//! began after A had ended: a read that begins from then on cannot find A.
//!
//! The caller holds the lock of the record's shard. [`Seen`] is a copy for a read, taken when the
//! read begins.

/// A write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    generation: u32,
    /// The write leaves no entry.
    delete: bool,
    began: u64,
    ended: Option<u64>,
}

/// The writes of a record that a read may find.
#[derive(Debug)]
pub(super) struct Contest {
    candidates: Vec<Interval>,
    begun: u32,
    clock: u64,
}

/// Values that a read may find, as far as is known when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The last write that has ended, and the writes that begin after it.
    Settled {
        /// Its generation.
        generation: u32,
        /// The write left an entry.
        held: bool,
    },
    /// One of several, and the writes that begin after them.
    Contested {
        /// Generations of the writes, in order, and whether each leaves an entry.
        candidates: Vec<(u32, bool)>,
        /// The last that had begun.
        begun: u32,
    },
}

impl Contest {
    /// So far the write of this generation is the last that has ended.
    pub(super) fn new(generation: u32, held: bool) -> Self {
        let settled = Interval { generation, delete: !held, began: 0, ended: Some(0) };
        Self { candidates: vec![settled], begun: generation, clock: 0 }
    }

    /// Another write begins; returns its generation.
    pub(super) fn begin(&mut self, delete: bool) -> u32 {
        self.begun += 1;
        self.clock += 1;
        let (generation, began) = (self.begun, self.clock);
        self.candidates.push(Interval { generation, delete, began, ended: None });
        generation
    }

    /// A write has ended: writes that had ended before it began will not be found any more.
    pub(super) fn end(&mut self, generation: u32) {
        self.clock += 1;
        let clock = self.clock;
        let one = self.candidates.iter_mut().find(|one| one.generation == generation);
        let one = one.expect("an unfinished write is a candidate");
        one.ended = Some(clock);
        let began = one.began;
        self.candidates.retain(|one| one.ended.is_none_or(|ended| ended >= began));
    }

    /// The only generation that can be found, if there is only one.
    pub(super) fn settled(&self) -> Option<u32> {
        let &[Interval { generation, ended, .. }] = self.candidates.as_slice() else { return None };
        ended.map(|_| generation)
    }

    /// The last generation whose write has begun.
    pub(super) fn begun(&self) -> u32 {
        self.begun
    }

    pub(super) fn seen(&self) -> Seen {
        let candidates = self.candidates.iter().map(|one| (one.generation, !one.delete)).collect();
        Seen::Contested { candidates, begun: self.begun }
    }
}

impl Seen {
    /// Whether a generation may be found, if it has begun by the read's end.
    pub(super) fn allows(&self, found: u32) -> bool {
        match self {
            Self::Settled { generation, held } => {
                found > *generation || (*held && found == *generation)
            }
            Self::Contested { candidates, begun } => {
                found > *begun || candidates.contains(&(found, true))
            }
        }
    }

    /// Whether nothing may be found, even if no delete begins before the read's end.
    pub(super) fn allows_absence(&self) -> bool {
        match self {
            Self::Settled { held, .. } => !held,
            Self::Contested { candidates, .. } => candidates.iter().any(|(_, held)| !held),
        }
    }

    /// Whether a generation was not among those known when the read began.
    pub(super) fn is_later(&self, generation: u32) -> bool {
        match self {
            Self::Settled { generation: known, .. } => generation > *known,
            Self::Contested { begun, .. } => generation > *begun,
        }
    }

    /// The least generation that may be found.
    pub(super) fn least(&self) -> u32 {
        match self {
            Self::Settled { generation, .. } => *generation,
            Self::Contested { candidates, begun } => {
                candidates.first().map_or(*begun, |(generation, _)| *generation)
            }
        }
    }
}
