//! [`ZoneCell`]: a zone, in the few numbers that its cell on the page is drawn from. Shares are in
//! thousandths of the zone's capacity, rounded up, so that a single byte is seen.

use terrace::device::ZoneState;
use terrace::fs::{ZoneUsage, ZoneUse};
use terrace_env::ByteCount;

/// The shares of a zone.
pub(crate) const WHOLE: u64 = 1000;

/// The kind of a zone's live bytes: a level up to 63, or one of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u8);

impl Kind {
    /// Bytes of write-ahead logs.
    pub const LOG: Self = Self(64);
    /// Bytes of other files without a level.
    pub const OTHER: Self = Self(65);
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneCell {
    /// The state, as a place in [`ZoneCell::STATES`].
    pub state: u8,
    /// The use, as a place in [`ZoneCell::USES`].
    pub used: u8,
    /// The share up to the write pointer.
    pub written: u16,
    /// The share of dead bytes.
    pub dead: u16,
    /// The share of deleted bytes that readers hold.
    pub pinned: u16,
    /// The shares of live bytes, by kind; the largest first.
    pub live: Vec<(Kind, u16)>,
}

impl ZoneCell {
    /// Names of states.
    pub const STATES: [&str; 7] =
        ["empty", "open", "closed", "full", "read-only", "offline", "conventional"];

    /// Names of uses.
    pub const USES: [&str; 7] =
        ["free", "data", "log", "journal", "superblock", "not used", "retired"];

    /// The cell of a zone.
    #[must_use]
    pub fn of(zone: &ZoneUsage) -> Self {
        let share = |bytes: ByteCount| {
            let whole = zone.capacity.0.max(1);
            (bytes.0.min(whole) * WHOLE).div_ceil(whole) as u16
        };
        let used = match zone.used_for {
            ZoneUse::Free => 0,
            ZoneUse::Data => 1,
            ZoneUse::Log => 2,
            ZoneUse::Journal => 3,
            ZoneUse::Superblock => 4,
            ZoneUse::Unused => 5,
            ZoneUse::Retired => 6,
        };
        let of_none = if zone.used_for == ZoneUse::Log { Kind::LOG } else { Kind::OTHER };
        let kind = |level: Option<u8>| level.map_or(of_none, |level| Kind(level.min(63)));
        let held = zone.levels.iter().filter(|(_, bytes)| bytes.0 > 0);
        let mut live: Vec<_> = held.map(|(level, bytes)| (kind(*level), share(*bytes))).collect();
        live.sort_by_key(|(kind, share)| (std::cmp::Reverse(*share), *kind));
        let counted = ByteCount(zone.live.0 + zone.dead.0 + zone.pinned.0);
        Self {
            state: state(zone),
            used,
            written: share(zone.pointer.unwrap_or(counted)),
            dead: share(zone.dead),
            pinned: share(zone.pinned),
            live,
        }
    }

    /// The share of live bytes.
    #[must_use]
    pub fn live_share(&self) -> u16 {
        let sum: u16 = self.live.iter().map(|(_, share)| *share).sum();
        sum.min(WHOLE as u16)
    }
}

fn state(zone: &ZoneUsage) -> u8 {
    match zone.state {
        ZoneState::Empty => 0,
        ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen => 1,
        ZoneState::Closed => 2,
        ZoneState::Full => 3,
        ZoneState::ReadOnly => 4,
        ZoneState::Offline => 5,
        ZoneState::NotWritePointer => 6,
    }
}
