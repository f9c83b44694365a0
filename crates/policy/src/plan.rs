//! [`Plan`]: a compaction as it is decided, before the first byte is read.
//!
//! - A *merge* takes parts (tables, or ranges of tables) out of the tree. Its *routes* divide the
//!   merged keys into consecutive ranges, each with its destination.
//! - A *move* takes a part to another place in the tree, or out of it, by metadata alone. Moves
//!   stand alone or go along with a merge.
//!
//! Parts may come from several levels and runs, and go to several. A plan must keep the order of
//! age: of two entries of one key, the newer one must be found first afterwards, too.
//! [`Plan::check`](Plan::check) refuses a plan that breaks this; it takes dropped entries to be
//! invisible.
//!
//! The *destination* of a route is its level, run and stream. One table at a time is written to
//! each destination. The table goes on from a route to the next route of the same destination,
//! until a [`Cut`] ends it. Two destinations of one run end each other's tables, because tables of
//! a run must not overlap. The engine may end tables earlier, and may carry out a large merge in
//! *instalments*, in key order, each with its own commit.
//!
//! A plan may ask that the tables of a merge be a *set*: written one after the other, in key order,
//! where there is enough free space. Each table remembers its set ([`SetView`]).

use std::cmp::Reverse;
use std::fmt;

use terrace_env::{ByteCount, FileId};

#[cfg(doc)]
use crate::tree::SetView;
use crate::tree::{Key, RunId, Span};

/// A range of a table that a plan takes: out of the tree, or to another place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The table.
    pub file: FileId,
    /// Range of keys taken: the segment's own, or a part of it.
    pub span: Span,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {} {:?}", self.file, self.span)
    }
}

/// A place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The level.
    pub level: u8,
    /// The run; if the level has none of this id, a new one of this age rank.
    pub run: RunId,
}

impl Place {
    /// Grows from the newest place of a tree to the oldest.
    #[must_use]
    pub fn age(&self) -> (u8, Reverse<RunId>) {
        (self.level, Reverse(self.run))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level {} run {}", self.level, self.run)
    }
}

/// Parts that a merge takes out of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The run.
    pub place: Place,
    /// In key order, without overlap.
    pub parts: Vec<Part>,
}

/// Grandparent: a table of the level below the one that a compaction writes to. A later compaction
/// of an output reads every grandparent that the output overlaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grandparent {
    /// The first key after it.
    pub end: Key,
    /// Bytes that reading the parts costs.
    pub size: ByteCount,
}

/// Where outputs end. Always between two user keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Size at which outputs end.
    pub size: ByteCount,
    /// Keys before which outputs end, in order: no output has keys on both sides of one. Outputs
    /// also end where they would reach over something else in their run. A key that lies before the
    /// route ends the table that an earlier route of the same destination has left open.
    pub keys: Vec<Key>,
    /// Tables of the next level that outputs may overlap, in key order; also those between the last
    /// route of the same destination and this one.
    pub grandparents: Vec<Grandparent>,
    /// Grandparent cut: when they overlap grandparents of more bytes than this.
    pub overlap_max: ByteCount,
    /// Whether grandparents that an output of the route overlaps count towards the next one where
    /// the output ends for another reason than its grandparents. LevelDB counts so: its outputs are
    /// a little smaller.
    pub carry_overlap: bool,
    /// Size from which on outputs end at the next end of a grandparent. A later compaction of such
    /// an output reads no grandparent of which the output overlaps only a small part.
    pub aligned_from: ByteCount,
}

impl Cut {
    /// Outputs that end at a size, and nowhere before.
    #[must_use]
    pub fn at(size: ByteCount) -> Self {
        let never = ByteCount(u64::MAX);
        let (keys, grandparents) = (Vec::new(), Vec::new());
        let (overlap_max, carry_overlap, aligned_from) = (never, false, never);
        Self { size, keys, grandparents, overlap_max, carry_overlap, aligned_from }
    }
}

/// Where a range of the merged keys goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first key after the range; `None`: to the end. Routes are in key order.
    pub end: Option<Key>,
    /// The run that gets it.
    pub to: Place,
    /// The stream its tables are written to. With the place, the destination.
    pub stream: u16,
    /// Where the tables of the route end. From here on, a table that comes from an earlier route of
    /// the same destination ends by this cut, too.
    pub cut: Cut,
}

/// Parts read, merged and written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// Inputs, newest first.
    pub inputs: Vec<Input>,
    /// Where it goes; the last route has no end.
    pub routes: Vec<Route>,
    /// Segments that change their place with the merge, unread.
    pub moves: Vec<Move>,
    /// Whether its tables are a [set](SetView). All routes have one destination then.
    pub set: bool,
}

/// A part that moves by metadata alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The part that moves.
    pub part: Part,
    /// Where it is.
    pub from: Place,
    /// Where it goes. `None`: nowhere, because no reader can see anything of it any more.
    pub to: Option<Place>,
}

/// A compaction: a merge, or trivial moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Parts are read, merged and written anew.
    Merge(Merge),
    /// Parts move by metadata alone.
    TrivialMove(Vec<Move>),
}
