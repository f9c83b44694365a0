//! [`Layout`]: how the blocks of a device may be written, and [`Tracks`], the shape of shingled
//! tracks. Plain values, without I/O.
//!
//! Code outside this crate and outside the pools of the file system asks the methods, and does not
//! tell layouts apart itself; `cargo xtask tidy` checks it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How the blocks of a device may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// In zones, of which the sequential ones are written front to back and erased whole.
    #[default]
    Zoned,
    /// Anywhere, in any order, in place: an ordinary disk. Its geometry is that of a single
    /// conventional zone, which is the whole device.
    Plain,
    /// Anywhere, but on shingled tracks: a write destroys the tracks after it. The geometry is
    /// that of a plain device.
    Tracks(Tracks),
}

impl Layout {
    /// Whether the device has zones, of which some may have to be written front to back.
    #[must_use]
    pub fn is_zoned(self) -> bool {
        self == Self::Zoned
    }

    /// Whether any block may be written in place, and no write harms another block.
    #[must_use]
    pub fn is_plain(self) -> bool {
        self == Self::Plain
    }

    /// Name of the layout.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zoned => "zoned",
            Self::Plain => "plain",
            Self::Tracks(_) => "shingled tracks",
        }
    }

    /// A thing of this layout in words, with its article: "a zoned drive", for the noun "drive".
    #[must_use]
    pub fn phrase(self, noun: &str) -> String {
        match self {
            Self::Zoned | Self::Plain => format!("a {} {noun}", self.name()),
            Self::Tracks(_) => format!("a {noun} of {}", self.name()),
        }
    }

    /// The shingled tracks of a device, if it has them.
    #[must_use]
    pub fn tracks(self) -> Option<Tracks> {
        match self {
            Self::Tracks(tracks) => Some(tracks),
            Self::Zoned | Self::Plain => None,
        }
    }
}

/// Shingled tracks without bands: track `i` has the blocks from `i * blocks` on, and a write to it
/// destroys all of the tracks `i + 1` to `i + overlap`. Blocks of the same track are not harmed.
///
/// ```
/// use terrace_zone::Tracks;
///
/// let tracks = Tracks { blocks: 100, overlap: 2 };
/// // A write that ends in track 0 destroys tracks 1 and 2.
/// assert_eq!(tracks.harmed(10..50), 100..300);
/// // A write to tracks 0 and 1 destroys the rest of track 1, too, and tracks 2 and 3.
/// assert_eq!(tracks.harmed(90..110), 110..400);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tracks {
    /// Logical blocks of a track.
    pub blocks: u32,
    /// Number of tracks that a write destroys after the track that it writes.
    pub overlap: u32,
}

impl Tracks {
    /// The blocks after a write that the write destroys; they may reach beyond the device. A write
    /// of no blocks harms none.
    #[must_use]
    pub fn harmed(self, written: Range<u64>) -> Range<u64> {
        if written.is_empty() {
            return written.end..written.end;
        }
        let track = u64::from(self.blocks);
        let (first, last) = (written.start / track, (written.end - 1) / track);
        let behind = (last + 1) * track;
        let from = if first < last { written.end } else { behind };
        from..behind + u64::from(self.overlap) * track
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_is_told_by_its_methods() {
        let tracks = Tracks { blocks: 8, overlap: 1 };
        let told = [
            (Layout::Zoned, (true, false, None), "a zoned drive"),
            (Layout::Plain, (false, true, None), "a plain drive"),
            (Layout::Tracks(tracks), (false, false, Some(tracks)), "a drive of shingled tracks"),
        ];
        for (layout, expected, phrase) in told {
            assert_eq!((layout.is_zoned(), layout.is_plain(), layout.tracks()), expected);
            assert_eq!(layout.phrase("drive"), phrase);
        }
    }
}
