//! [`GearState`]: the memory of gear compaction between two choices: the windows, which zones have
//! had their turn, and the other fields that are listed below.
//!
//! A window is stored as *id ranges*: the tables of one zone whose file ids lie between two bounds.
//! A later table has a larger id. So an id range of a zone that was emptied holds none of the
//! tables that are written to the zone later. A table that reclaim has moved has left its window,
//! unless an id range of its new zone happens to hold its id.
//!
//! Encoded, with the bytes of each field, integers little-endian:
//! - version (1), the largest table id when the last merge of level 0 was chosen (8; only the
//!   variant `repaired` sets it), number of levels (1);
//! - per level: the turn (8), the end of the round (8), misses (1), number of id ranges (4), and
//!   per id range its zone (4), first id (8) and last id (8);
//! - the pointers of leveled compaction, with their length (4) before them; empty unless the
//!   variant `code` has set them.
//!
//! Zone 2^32 - 1 means no zone. State that is not understood counts as none: windows are chosen
//! anew.

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{FileId, ZoneId};

const STATE_VERSION: u8 = 1;

/// Stands for the zone of tables whose zones are not known.
pub(super) const NOWHERE: ZoneId = ZoneId(u32::MAX);

/// The tables of a level in one zone whose ids lie between two ids, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdRange {
    pub(super) zone: ZoneId,
    pub(super) first: FileId,
    pub(super) last: FileId,
}

impl IdRange {
    pub(super) fn holds(&self, zone: ZoneId, file: FileId) -> bool {
        self.zone == zone && self.first <= file && file <= self.last
    }
}

/// The compaction window of a level, and where the next one begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// Zones up to this age have had their turn in this round,
    pub(super) passed: FileId,
    /// and those that are younger than this wait for the next one.
    pub(super) round: FileId,
    /// How many gear compactions in a row came to the window and met nothing of it.
    pub(super) misses: u8,
    pub(super) window: Vec<IdRange>,
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GearState {
    /// Tables up to here were there when the last merge of level 0 was chosen; only `repaired` sets
    /// it.
    pub(super) settled: FileId,
    /// Turns of windows, by level.
    pub(super) turns: Vec<Turn>,
    /// Pointers of the compactions that begin deeper than level 0 in the authors' code.
    pub(super) pointers: Vec<u8>,
}

impl GearState {
    /// The state of `levels` levels.
    pub(super) fn decode(bytes: &[u8], levels: usize) -> Self {
        let mut state = Self::all(bytes);
        state.turns.resize(levels, Turn::default());
        state
    }

    /// The state of all levels that it has.
    pub(super) fn all(bytes: &[u8]) -> Self {
        Self::try_decode(bytes).unwrap_or_default()
    }

    fn try_decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8("state version")?;
        if version != STATE_VERSION {
            return Err(reader.wrong("state version", 1, "1", u64::from(version)));
        }
        let settled = FileId(reader.u64("settled tables")?);
        let levels = reader.u8("levels")?;
        let turns = (0..levels).map(|_| turn(&mut reader)).collect::<Result<_, _>>()?;
        let pointers = reader.prefixed("pointers")?.to_vec();
        Ok(Self { settled, turns, pointers })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        debug_assert!(self.turns.len() <= usize::from(u8::MAX), "{} levels", self.turns.len());
        let mut bytes = Vec::new();
        bytes.put_u8(STATE_VERSION);
        bytes.put_u64(self.settled.0);
        bytes.put_u8(self.turns.len() as u8);
        for turn in &self.turns {
            bytes.put_u64(turn.passed.0);
            bytes.put_u64(turn.round.0);
            bytes.put_u8(turn.misses);
            bytes.put_u32(turn.window.len() as u32);
            for range in &turn.window {
                bytes.put_u32(range.zone.0);
                bytes.put_u64(range.first.0);
                bytes.put_u64(range.last.0);
            }
        }
        bytes.put_prefixed(&self.pointers);
        bytes
    }
}

fn turn(reader: &mut Reader<'_>) -> Result<Turn, DecodeError> {
    let passed = FileId(reader.u64("turn")?);
    let round = FileId(reader.u64("round")?);
    let misses = reader.u8("misses")?;
    let mut window = Vec::new();
    for _ in 0..reader.u32("id ranges")? {
        let zone = ZoneId(reader.u32("zone")?);
        let (first, last) = (FileId(reader.u64("first table")?), FileId(reader.u64("last table")?));
        window.push(IdRange { zone, first, last });
    }
    Ok(Turn { passed, round, misses, window })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_read_back_and_garbage_is_no_state() {
        let range = IdRange { zone: ZoneId(7), first: FileId(3), last: FileId(1 << 40) };
        let turn =
            Turn { passed: FileId(12), round: FileId(40), misses: 2, window: vec![range, range] };
        let state = GearState {
            settled: FileId(99),
            turns: vec![Turn::default(), turn],
            pointers: b"p".to_vec(),
        };
        let bytes = state.encode();
        assert_eq!(GearState::decode(&bytes, 2), state);
        assert_eq!(GearState::decode(&bytes, 5).turns.len(), 5);
        for len in 0..bytes.len() {
            assert_eq!(
                GearState::decode(&bytes[..len], 2).turns,
                [(); 2].map(|()| Turn::default())
            );
        }
        let of_another = GearState::decode(b"another decider's state", 1);
        assert_eq!(of_another, GearState { turns: vec![Turn::default()], ..GearState::default() });
    }

    #[test]
    fn a_zone_that_was_written_anew_holds_nothing_of_the_window_before() {
        let range = IdRange { zone: ZoneId(7), first: FileId(3), last: FileId(9) };
        assert!(range.holds(ZoneId(7), FileId(3)) && range.holds(ZoneId(7), FileId(9)));
        assert!(!range.holds(ZoneId(7), FileId(10)), "a table that was written later");
        assert!(!range.holds(ZoneId(8), FileId(3)), "a table that was moved elsewhere");
    }
}
