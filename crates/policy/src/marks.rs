//! [`Marks`]: the part of a compaction decider's state that a picture of a store can show: the
//! zones of compaction windows, and the keys at which sweeps and turns go on.
//!
//! - The state is read as its decider reads it. State that is not understood has no marks, nor has
//!   that of a decider without windows and pointers.
//! - A window is reported as the zones that its id ranges name. A zone that has been written anew
//!   since is among them, though its new tables are not in the window.
//!
//! Nothing is decided here.

use terrace_env::ZoneId;

use crate::geardb::windows_of;
use crate::pointers::Pointers;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Zones of compaction windows, with the level of the window.
    pub windows: Vec<(u8, ZoneId)>,
    /// Levels that have a pointer, with the full key at which their next compaction begins.
    pub pointers: Vec<(u8, Vec<u8>)>,
}

impl Marks {
    /// Marks in the state that a system's compaction decider has left, by the system's text form.
    #[must_use]
    pub fn of(system: &str, state: &[u8]) -> Self {
        match system.split(':').next().unwrap_or_default() {
            "geardb" => Self { windows: windows_of(state), pointers: Vec::new() },
            "lifetime"
            | "level-separated"
            | "bluefs"
            | "leveldb-greedy"
            | "leveldb-cost-benefit" => Self::at(Pointers::all(state).into_iter().enumerate()),
            // The levels above the deepest tier have begun merges there instead.
            "sliced" => {
                Self::at(Pointers::all(state).into_iter().enumerate().next_back().into_iter())
            }
            _ => Self::default(),
        }
    }

    /// Marks of a decider that has pointers alone.
    fn at(pointers: impl Iterator<Item = (usize, Vec<u8>)>) -> Self {
        let has_one = pointers.filter(|(_, key)| !key.is_empty());
        let pointers = has_one.map(|(level, key)| (level as u8, key)).collect();
        Self { windows: Vec::new(), pointers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_of_a_sweep_are_told_by_level_and_other_state_has_none() {
        let pointers = Pointers::decode(&[], 3).moved(1, b"k").moved(2, b"q").encode();
        let marks = Marks::of("lifetime:tzone=off", &pointers);
        assert_eq!(marks.pointers, [(1, b"k".to_vec()), (2, b"q".to_vec())]);
        assert!(marks.windows.is_empty());
        assert_eq!(Marks::of("sliced", &pointers).pointers, [(2, b"q".to_vec())]);
        assert_eq!(Marks::of("tiered", &pointers), Marks::default());
        assert_eq!(Marks::of("geardb", &pointers), Marks::default());
        assert_eq!(Marks::of("bluefs", b"other"), Marks::default());
    }
}
