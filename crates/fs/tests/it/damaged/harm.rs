//! Ways to damage a file.

use terrace_env::random::{Random, Rng};

/// A damage. On zones, where files have no names, those that concern a name are not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harm {
    /// One bit reads wrong.
    Flip,
    /// All of it reads as zeros.
    Zero,
    /// The first half reads as zeros.
    ZeroFirst,
    /// The second half is cut off; on zones, it reads as zeros.
    Halve,
    /// It is there and has no bytes.
    Empty,
    /// It is not there.
    Remove,
    /// A directory has its name.
    Directory,
    /// It has a name of the store's that no record knows.
    Rename,
    /// It has a name that is not the store's.
    RenameAway,
}

const OF_BYTES: [Harm; 4] = [Harm::Flip, Harm::Zero, Harm::ZeroFirst, Harm::Halve];
const OF_NAMES: [Harm; 5] =
    [Harm::Empty, Harm::Remove, Harm::Directory, Harm::Rename, Harm::RenameAway];

impl Harm {
    /// Half of all damages are flips: they have most places to be at.
    pub(super) fn draw(names: bool, random: &mut Random) -> Self {
        let all = if names { OF_BYTES.len() + OF_NAMES.len() } else { OF_BYTES.len() };
        match random.random_range(0..2 * all) {
            at if at < OF_BYTES.len() => OF_BYTES[at],
            at if at < all => OF_NAMES[at - OF_BYTES.len()],
            _ => Self::Flip,
        }
    }

    /// Whether a power cut could never do this to bytes that were written, not even by chance.
    pub(super) fn is_flip(self) -> bool {
        self == Self::Flip
    }

    /// Whether the file is as long as before, and where it was.
    pub(super) fn keeps_length(self) -> bool {
        matches!(self, Self::Flip | Self::Zero | Self::ZeroFirst)
    }

    /// Damages bytes; of damages that concern the name, nothing is done.
    pub(super) fn spoil(self, bytes: &mut Vec<u8>, cut: bool, random: &mut Random) {
        let half = bytes.len() / 2;
        match self {
            Self::Flip if bytes.is_empty() => {}
            Self::Flip => {
                let bit = random.random_range(0..bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            Self::Zero => bytes.fill(0),
            Self::ZeroFirst => bytes[..half].fill(0),
            Self::Halve if cut => bytes.truncate(half),
            Self::Halve => bytes[half..].fill(0),
            Self::Empty => bytes.clear(),
            Self::Remove | Self::Directory | Self::Rename | Self::RenameAway => {}
        }
    }
}
