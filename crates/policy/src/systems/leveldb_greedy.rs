//! `leveldb-greedy`: LevelDB over log-structured zones with a greedy collector (Yao et al.,
//! "GearDB", FAST '19, section 2.3, where it is the baseline "Ldb-Greedy").
//!
//! 1. Compaction is LevelDB's, see [`Leveled`](crate::Leveled): a pointer per level that goes
//!    round, trivial moves, outputs cut at ten overlapping tables of the level two below. Tables
//!    are as large as memtables, but 16 MiB at most; level 1 is as large as two and a half
//!    memtables, each further one ten times: at memtables of 4 MiB, the parameters that the papers
//!    use. Writers are slowed from eight runs in level 0 on and stopped at twelve, and by no other
//!    debt of compaction: under a load that the drive limits, levels grow beyond their targets, and
//!    compactions write less. See [`leveldb`] for what else is LevelDB's.
//! 2. Tables of all levels are written to the open zone, one behind the other (figure 2). See
//!    [`LogStructured`].
//! 3. When less than 20 % of the zones is free, few are spare
//!    ([`Supply::spare_min`](crate::Supply::spare_min)), or a writer waits, the zone with the
//!    fewest live bytes is emptied, its valid data going to other zones ("passive" collection). Of
//!    full zones that is the one with the most invalid data. See [`Greedy`].
//!
//! # Where the paper is silent
//! - Several jobs write at once here, a flush and the workers of a merge: then as many zones are
//!   open, each with tables of all levels.
//! - Moved data goes to zones of its own, and so do logs, as long as a zone is free or partly
//!   written for them; otherwise they go to any zone with room. The paper's implementation kept its
//!   log and manifest elsewhere.
//! - If zones were emptied while anything is invalid, then with more than 80 % valid the collector
//!   would copy without end and never have 20 % free. The paper reports that collecting takes 80 %
//!   of the time at 76 % valid. Unasked, a zone is emptied only if a tenth of it comes back
//!   (`gain_min`; 1 for the paper's). When a writer waits for space, whatever gives any is emptied,
//!   so that all that is dead comes back before a writer is told that the store is full.
//! - Opened on what another system wrote, it goes on in the zones that are partly written.

use std::sync::Arc;

use super::{Row, RowParts, leveldb, parameter};
use crate::{Greedy, LogStructured};

pub(super) const PARTS: RowParts = RowParts {
    name: "leveldb-greedy",
    summary: "leveled; tables of all levels in one log of zones, emptied by a greedy collector",
    live_max: 55,
    own: leveldb::row(Row::LeveldbGreedy),
    parameters: parameter::LEVELED,
    placement: |_| Arc::new(LogStructured),
    compaction: leveldb::compaction,
    reclaim: |system| Arc::new(Greedy::of(system)),
    table_size: leveldb::table_size,
};
