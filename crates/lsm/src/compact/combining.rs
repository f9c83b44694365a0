//! [`Combining`]: combines the operands of a key, and the entry below them, into one entry, in a
//! flush or a subcompaction.
//!
//! The job gives it the operands of one key that the same readers see, newest first, and the
//! [`Base`] below them:
//! - Operands alone become one operand, because older entries may lie elsewhere.
//! - With the value below them, or with no older entry, they become a put.
//!
//! The result has the sequence of the newest operand, so no reader sees a change.
//!
//! - If the operator refuses, all entries stay as they are, and the job goes on. The same happens
//!   if the combination takes more bytes than the operands: a job writes no more than it has
//!   reserved space for.
//! - Operands of more than [`BYTES_MAX`] are combined in pieces, so that memory is bounded.
//!
//! No I/O; its memory is counted. The name of a key space is looked up once for consecutive keys of
//! it. One actor.

use std::sync::Arc;

use terrace_env::MemoryLease;

use crate::key::{self, KeySpaceId, Kind, SPACE_BYTES, TRAILER_BYTES, Trailer};
use crate::memory::Memory;
use crate::old_versions::HeldBy;
use crate::operands::{MergeKey, Operands, Operator};
use crate::tree::Tree;

/// The most bytes of operands that are held, unless a single one is larger.
const BYTES_MAX: usize = 1 << 20;

/// Looks up the name of a key space; `None`: it was dropped.
type Names = dyn Fn(KeySpaceId) -> Option<Arc<str>> + Send + Sync;

/// An entry that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Combined {
    pub(super) trailer: Trailer,
    pub(super) value: Vec<u8>,
    pub(super) held_by: Option<HeldBy>,
}

/// The oldest end of a row of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base<'a> {
    /// There may be older entries that the job does not have, or that other readers see.
    Unknown,
    /// No older entry counts.
    Nothing,
    /// The value of a put that stays.
    Value(&'a [u8]),
}

/// The operands of a key so far.
#[derive(Debug)]
struct Begun {
    full_key: Vec<u8>,
    /// Newest first.
    operands: Vec<Combined>,
    bytes: usize,
    /// Whether the newest is the newest entry of its key.
    is_first: bool,
}

/// Source of the operator.
struct Source {
    operator: Operator,
    names: Box<Names>,
    /// The key space whose name was looked up last.
    space: Option<(KeySpaceId, Option<Arc<str>>)>,
    memory: Option<MemoryLease>,
}

/// Entries that replace the operands of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) full_key: Vec<u8>,
    /// Newest first.
    pub(super) entries: Vec<Combined>,
    /// Number of given entries that are not among these.
    pub(super) dropped: u64,
    /// Whether the only entry is a put that contains the base.
    pub(super) is_put: bool,
    /// Whether the first is the newest entry of its key.
    pub(super) is_first: bool,
}

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Combining {
    source: Option<Source>,
    begun: Option<Begun>,
}

impl Combining {
    /// For a job that begins now.
    pub(crate) fn of(operands: &Operands, tree: &Arc<Tree>, memory: &Memory) -> Self {
        let Operands::With(operator) = operands else { return Self::default() };
        let tree = Arc::clone(tree);
        let names = move |space| tree.with_spaces(|list| list.name(space).map(Arc::from));
        let mut combining = Self::with(operator.clone(), names);
        if let Some(source) = &mut combining.source {
            source.memory = Some(memory.jobs.lease(0));
        }
        combining
    }

    fn with(
        operator: Operator,
        names: impl Fn(KeySpaceId) -> Option<Arc<str>> + Send + Sync + 'static,
    ) -> Self {
        let source = Source { operator, names: Box::new(names), space: None, memory: None };
        Self { source: Some(source), begun: None }
    }

    /// Whether there is an operator. Without one, operands are entries like others.
    pub(super) fn is_on(&self) -> bool {
        self.source.is_some()
    }

    /// Whether it holds operands.
    #[inline]
    pub(super) fn is_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// The full key of the operands that it holds.
    pub(super) fn full_key(&self) -> Option<&[u8]> {
        self.begun.as_ref().map(|begun| &begun.full_key[..])
    }

    /// Takes the next operand, of the same key as those that it holds. `is_first`: the newest entry
    /// of its key. Returns whether it holds enough to be combined.
    pub(super) fn push(&mut self, full_key: &[u8], is_first: bool, operand: Combined) -> bool {
        let begun = self.begun.get_or_insert_with(|| {
            let full_key = full_key.to_vec();
            Begun { full_key, operands: Vec::new(), bytes: 0, is_first }
        });
        debug_assert_eq!(begun.full_key, full_key, "operands of one key");
        debug_assert!(operand.trailer.is_operand(), "{:?} is an operand", operand.trailer);
        debug_assert!(
            begun.operands.last().is_none_or(|newer| newer.trailer < operand.trailer),
            "operands come from the newest to the oldest"
        );
        begun.bytes += operand.value.len() + size_of::<Combined>();
        begun.operands.push(operand);
        let bytes = begun.full_key.len() + begun.bytes;
        if let Some(memory) = self.source.as_mut().and_then(|source| source.memory.as_mut()) {
            memory.resize(bytes);
        }
        begun.bytes > BYTES_MAX && begun.operands.len() > 1
    }

    /// Ends the operands that it holds, with the base below them.
    ///
    /// # Panics
    /// If it holds none.
    pub(super) fn end(&mut self, base: Base<'_>) -> Ended {
        let begun = self.begun.take().expect("operands that were begun");
        let source = self.source.as_mut().expect("operands are taken with an operator");
        let combined = source.combine(&begun, base);
        if let Some(memory) = &mut source.memory {
            memory.resize(0);
        }
        let Begun { full_key, operands: entries, is_first, .. } = begun;
        let given = entries.len() as u64;
        match combined {
            Some((combined, is_put)) => {
                let dropped = given - 1 + u64::from(matches!(base, Base::Value(_)));
                Ended { full_key, entries: vec![combined], dropped, is_put, is_first }
            }
            None => Ended { full_key, entries, dropped: 0, is_put: false, is_first },
        }
    }
}

impl Source {
    /// The entry that operands and their base make, and whether it is a put; `None` if they stay as
    /// they are.
    fn combine(&mut self, begun: &Begun, base: Base<'_>) -> Option<(Combined, bool)> {
        let older = match base {
            Base::Unknown if begun.operands.len() < 2 => return None,
            Base::Unknown | Base::Nothing => None,
            Base::Value(value) => Some(value),
        };
        let newest = begun.operands.first()?;
        let space = key::space_of(&begun.full_key);
        if self.space.as_ref().is_none_or(|(known, _)| *known != space) {
            self.space = Some((space, (self.names)(space)));
        }
        let (_, name) = self.space.as_ref()?;
        let key = MergeKey { key_space: name.as_deref()?, key: &begun.full_key[SPACE_BYTES..] };
        let operands = begun.operands.iter().rev().map(|operand| &operand.value[..]);
        let is_put = base != Base::Unknown;
        let value = match is_put {
            true => self.operator.fold(key, older.map(<[u8]>::to_vec), operands),
            false => {
                // The oldest operand stands for all older entries.
                let mut operands = operands;
                let oldest = operands.next()?.to_vec();
                self.operator.fold(key, Some(oldest), operands)
            }
        };
        let value = value.ok()?;
        let values: usize = begun.operands.iter().map(|operand| operand.value.len()).sum();
        let entries = begun.operands.len() + usize::from(older.is_some());
        let least = values + older.map_or(0, <[u8]>::len) + (entries - 1) * TRAILER_BYTES;
        if value.len() > least {
            return None;
        }
        let kind = if is_put { Kind::Put } else { Kind::Operand };
        let trailer = Trailer::new(newest.trailer.sequence(), kind);
        Some((Combined { trailer, value, held_by: newest.held_by }, is_put))
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::SeqNo;

    use super::*;
    use crate::operands::{Append, MergeOperator, MergeRefused};

    /// Appends, and refuses the operand `!`; `long` makes it longer than it was.
    struct Picky;

    impl MergeOperator for Picky {
        fn name(&self) -> &str {
            "picky"
        }

        fn merge(
            &self,
            key: MergeKey<'_>,
            older: Option<Vec<u8>>,
            newer: &[u8],
        ) -> Result<Vec<u8>, MergeRefused> {
            assert_eq!((key.key_space, key.key), ("space 7", &b"key"[..]));
            match newer {
                b"!" => Err("as asked".into()),
                b"long" => Ok(vec![b'l'; 100]),
                _ => Append::new(b"").merge(key, older, newer),
            }
        }
    }

    fn combining() -> Combining {
        let names = |space: KeySpaceId| (space.0 == 7).then(|| format!("space {}", space.0).into());
        Combining::with(Operator::new(Picky), names)
    }

    fn operand(sequence: u64, value: &str) -> Combined {
        let trailer = Trailer::new(SeqNo(sequence), Kind::Operand);
        Combined { trailer, value: value.into(), held_by: None }
    }

    /// Outcome for operands, given newest first.
    fn ended(space: u32, operands: &[(u64, &str)], base: Base<'_>) -> (Vec<String>, u64, bool) {
        let (mut combining, full_key) = (combining(), key::full_key(KeySpaceId(space), b"key"));
        assert!(combining.is_on() && !combining.is_begun());
        for (sequence, value) in operands {
            assert!(!combining.push(&full_key, true, operand(*sequence, value)));
        }
        assert_eq!(combining.full_key(), Some(&full_key[..]));
        let ended = combining.end(base);
        assert!(!combining.is_begun() && ended.full_key == full_key && ended.is_first);
        let text = |entry: &Combined| {
            let kind = entry.trailer.kind().unwrap();
            let value = String::from_utf8_lossy(&entry.value).into_owned();
            format!("{kind:?} {} {value}", entry.trailer.sequence())
        };
        (ended.entries.iter().map(text).collect(), ended.dropped, ended.is_put)
    }

    fn one(entry: &str) -> Vec<String> {
        vec![entry.to_owned()]
    }

    const THREE: [(u64, &str); 3] = [(9, "c"), (7, "b"), (4, "a")];

    #[test]
    fn operands_become_one_operand_or_with_their_base_a_put() {
        assert_eq!(ended(7, &THREE, Base::Unknown), (one("Operand 9 abc"), 2, false));
        assert_eq!(ended(7, &THREE, Base::Nothing), (one("Put 9 abc"), 2, true));
        assert_eq!(ended(7, &THREE, Base::Value(b"0")), (one("Put 9 0abc"), 3, true));
        assert_eq!(ended(7, &THREE[..1], Base::Unknown), (one("Operand 9 c"), 0, false));
        assert_eq!(ended(7, &THREE[..1], Base::Nothing), (one("Put 9 c"), 0, true));
    }

    #[test]
    fn operands_stay_if_the_operator_refuses_or_they_would_grow_or_their_space_is_gone() {
        let kept = |last: &str| vec![format!("Operand 9 {last}"), "Operand 4 a".into()];
        for last in ["!", "long"] {
            for base in [Base::Unknown, Base::Nothing, Base::Value(b"0")] {
                let found = ended(7, &[(9, last), (4, "a")], base);
                assert_eq!(found, (kept(last), 0, false), "{base:?}");
            }
        }
        assert_eq!(ended(8, &[(9, "b"), (4, "a")], Base::Nothing), (kept("b"), 0, false));
    }

    #[test]
    fn many_bytes_of_operands_are_to_be_combined_in_pieces() {
        let (mut combining, full_key) = (combining(), key::full_key(KeySpaceId(7), b"key"));
        let large = "x".repeat(BYTES_MAX / 3);
        let full: Vec<bool> =
            (0..4).map(|at| combining.push(&full_key, at == 0, operand(9 - at, &large))).collect();
        assert_eq!(full, [false, false, true, true]);
        let ended = combining.end(Base::Unknown);
        assert_eq!((ended.entries.len(), ended.dropped), (1, 3));
        let huge = "x".repeat(BYTES_MAX * 2);
        assert!(!combining.push(&full_key, true, operand(9, &huge)), "a single one stays");
    }
}
