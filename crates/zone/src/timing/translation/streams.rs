//! [`Streams`]: tells how long the sequential stream is that a write belongs to, so that long
//! streams can go past the persistent cache of a drive.
//!
//! It remembers the [`STREAMS_MAX`] streams that were written last. A write that begins where one
//! of them ends goes on with it. Any other write begins a stream.

use std::collections::VecDeque;
use std::ops::Range;

/// Streams that the drive remembers.
const STREAMS_MAX: usize = 8;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    /// The end and the length of each; the last written one is last.
    recent: VecDeque<(u64, u64)>,
}

impl Streams {
    /// Takes in a write; gives the bytes of its stream up to its end.
    pub(super) fn write(&mut self, range: &Range<u64>) -> u64 {
        let goes_on = self.recent.iter().position(|(end, _)| *end == range.start);
        let before = goes_on.and_then(|index| self.recent.remove(index)).map_or(0, |(_, len)| len);
        let len = before + range.end - range.start;
        if self.recent.len() == STREAMS_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((range.end, len));
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_beside_each_other_grow_and_random_writes_do_not() {
        let mut streams = Streams::default();
        for round in 1..=10 {
            for stream in [0, 1000, 2000] {
                let at = stream + (round - 1) * 10;
                assert_eq!(streams.write(&(at..at + 10)), round * 10);
            }
            assert_eq!(streams.write(&(5000 + 37 * round..5001 + 37 * round)), 1);
        }
    }
}
