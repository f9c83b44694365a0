//! Ranked reserves: how many free zones a writer on a device with zones leaves to others, so that a
//! full store still takes deletes and gives their space back.
//!
//! A writer is leased a zone, so the reserves count free zones. A rank may take one if enough
//! others stay free: those that are kept for the ranks above it, and those that other jobs'
//! reservations hold. A writer under a reservation may also take the zones set aside for it,
//! whatever else is free.
//!
//! | rank | must leave free, in addition to reserved zones |
//! |---|---|
//! | journal | nothing, not even reserved zones |
//! | reclaim | `J`: zones that the journal may need in addition to its own until a roll ends |
//! | compaction | `J + R + min(P, U + F + D)` |
//! | urgent log | `J + R + max(C - P, 0)` |
//! | flush | `J + R + max(C - P, 0) + U` |
//! | log | `J + R + C + U + F + min(P, D)` |
//!
//! All in zones. `J` is 1 at least, for the ranks below the journal's. `R` = [`RECLAIM_RESERVE`],
//! `C` = [`COMPACTION_RESERVE`], `U` = [`URGENT_RESERVE`] (for the log of deletes), `F` =
//! [`FLUSH_RESERVE`] and `D` = [`PINNED_RESERVE`]. `P` is the number of zones that would be filled
//! by pinned blocks and by the dead blocks in the same zones.
//!
//! While files lie on an offload device, all ranks from the urgent log down also leave the zones
//! that a compaction of these files may write.
//!
//! The documentation of [`Reserves`] argues why this is enough, and where it is not.
//!
//! Pure. The [governor](super::governor) counts the zones of reservations.

use terrace_env::store::Rank;

use crate::BLOCK;

/// Bytes that the journal may take at least: a roll is due at half of them, and the rest is for the
/// snapshot and for commits while it is written.
const JOURNAL_BYTES: u64 = 512 << 10;
/// Zones that the journal takes in addition to those that its bytes fill: the head's, which holds
/// older frames too, the tail's, and one to go on in.
const JOURNAL_SPARE: u32 = 3;

/// Zones that the journal may come to take, with a snapshot of this many bytes: the chain before a
/// roll, at most two snapshots' worth, the new snapshot, and as much again for commits while it is
/// written.
pub(crate) fn journal_zones(snapshot: u64, zone_blocks: u32) -> u32 {
    let bytes = JOURNAL_BYTES.max(snapshot.saturating_mul(4));
    let zones = bytes.div_ceil(u64::from(zone_blocks.max(1)) * BLOCK as u64);
    u32::try_from(zones).unwrap_or(u32::MAX).saturating_add(JOURNAL_SPARE)
}

/// Zones kept for reclaim. A victim holds less than a zone of live blocks, so one is enough, and
/// emptying the victim gives it back.
pub(crate) const RECLAIM_RESERVE: u32 = 1;
/// Zones kept for compaction: those of the smallest reservation, and one for room that does not
/// make up a whole zone when it is gathered.
pub(crate) const COMPACTION_RESERVE: u32 = 3;
/// Zones kept for the log of deletes.
pub(crate) const URGENT_RESERVE: u32 = 1;
/// Zones kept for flushes: the same number as for compaction, for the same reasons.
pub(crate) const FLUSH_RESERVE: u32 = 3;
/// Zones that puts leave to deletes at most, one for each that readers pin: a flush of deletes
/// fills one, and compaction cannot give it back meanwhile.
pub(crate) const PINNED_RESERVE: u32 = 4;

/// Zones kept for each rank.
///
/// # Why a full store does not stay full
/// A store is full when puts find no space. It must still let deletes in, and must be able to flush
/// and compact them, as that gives space back. *Slack* is the space that no file refers to: free
/// zones, dead blocks, and room in partly written zones. The letters are those of the
/// [module](self).
///
/// 1. Reclaim turns slack into free zones, all but less than a zone of it, unless blocks are
///    pinned, set aside or damaged. It empties zones with dead blocks and, while writers wait,
///    zones with room. Only the room of the zone that reclaim writes to is left. One zone to copy
///    to, `R`, is enough, because each victim gives back at least the blocks that it takes.
/// 2. When a put is let in, at least `J + R + C + U + F` zones are free, in addition to the space
///    for its flush. If fewer are, room in partly written zones stands in for them, up to `C + U +
///    F`. So there is that much slack whenever no job runs, whatever jobs do later. The log takes
///    free zones under the same rule. A flush takes the zones set aside for it. An instalment of a
///    compaction gives back the blocks that it has read once it is committed. By 1, at most one
///    zone of the slack is not free when it is wanted.
/// 3. Deletes fill `F` by their flush and `U` by their log, and leave `C`. A flush gives `U` back.
///    `F` and `C` are the smallest reservation, which is two zones, and one more for the zone that
///    1 loses. So a small memtable of deletes can be flushed, and an instalment of a zone can be
///    made. Compaction goes on until the deletes have met the entries that they delete. Then there
///    is more slack than before them.
/// 4. While readers pin deleted blocks, a compaction gives nothing back. The zones that it takes
///    then, `P`, do not come out of `U + F`. Nor do flushes leave `C` to it once more, as far as it
///    has been taken. So deletes have the zones of `U + F` that were free when the readers came.
///    When the readers go, all of it is slack.
/// 5. For each zone that readers pin, puts leave one more to deletes, up to `D`. Compaction leaves
///    it, too. So for any pins of readers, the first delete after a put is let in and can be
///    flushed; it may be a delete of everything. While readers pin `D` zones, this holds for four
///    deletes whose tombstones fill half a zone each.
///
/// A power cut keeps all of this: uncommitted blocks are dead, and nothing is pinned any more. The
/// test `world` tries these jobs in every order in a store of a few zones.
///
/// # Limits
/// - Deletes without end while readers pin are not promised. Each has to be kept in addition to the
///   data that it deletes, and no merge of the two gives anything back before the readers go. When
///   the kept zones are used up, deletes are refused, as *busy* if readers pin enough for them.
/// - Nor is more promised for parts of tables that were trimmed since a reader opened them: if
///   reclaim moves such a table, its old place stays pinned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserves {
    pub(super) reclaim: u32,
    pub(super) compaction: u32,
    pub(super) urgent: u32,
    pub(super) flush: u32,
    /// The most zones kept while readers pin.
    pub(super) pinned: u32,
}

impl Reserves {
    pub(super) const KEPT: Self = Self {
        reclaim: RECLAIM_RESERVE,
        compaction: COMPACTION_RESERVE,
        urgent: URGENT_RESERVE,
        flush: FLUSH_RESERVE,
        pinned: PINNED_RESERVE,
    };

    /// Free zones that `rank` must leave to the ranks above it, where the journal may still need
    /// `journal` of them and readers hold `pinned` zones up.
    pub(super) fn floor(&self, rank: Rank, journal: u32, pinned: u32) -> u32 {
        let above = journal + self.reclaim;
        let urgent = above + self.compaction.saturating_sub(pinned);
        match rank {
            Rank::Journal => 0,
            Rank::Reclaim => journal,
            Rank::Compaction => above + pinned.min(self.urgent + self.flush + self.pinned),
            Rank::UrgentLog => urgent,
            Rank::Flush => urgent + self.urgent,
            Rank::Log => {
                above + self.compaction + self.urgent + self.flush + pinned.min(self.pinned)
            }
        }
    }

    /// The part of the zones that `rank` must leave for which room in partly written zones can
    /// stand in. No room is kept for reclaim and the journal.
    pub(super) fn in_room(&self, rank: Rank) -> u32 {
        match rank {
            Rank::Journal | Rank::Reclaim | Rank::Compaction => 0,
            Rank::UrgentLog => self.compaction,
            Rank::Flush => self.compaction + self.urgent,
            Rank::Log => self.compaction + self.urgent + self.flush,
        }
    }
}
