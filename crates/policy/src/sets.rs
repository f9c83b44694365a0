//! Sets in a tree: the remainder of each, its first table in a level, and the end of the keys of
//! the next set. A set is the tables of one merge that were written one after the other
//! ([`SetView`]).
//!
//! [`rests`] finds the sets by the tables that are left of them, in any level. A set belongs to the
//! uppermost level that has a table of it. Each table remembers the size and the number of tables
//! that its set had when it was written. The deleted part of a set follows from them. A set without
//! tables is not found.

use terrace_env::ByteCount;

use crate::plan::Place;
use crate::tree::{Key, SegmentView, SetView, TreeView};

/// Rest of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetRest {
    pub(crate) set: SetView,
    /// The uppermost level that has a table of it.
    pub(crate) level: usize,
    /// Tables that are left, and bytes that count.
    tables: u32,
    live: ByteCount,
}

impl SetRest {
    /// The bytes that count. Sizes are estimates.
    pub(crate) fn live(&self) -> ByteCount {
        self.live
    }

    /// How many of its tables are gone.
    pub(crate) fn dead_tables(&self) -> u32 {
        self.set.tables.saturating_sub(self.tables)
    }
}

/// The sets of a tree, by level and then by name.
pub(crate) fn rests(tree: &TreeView) -> Vec<SetRest> {
    let mut parts: Vec<SetRest> = Vec::new();
    for (level, of_level) in tree.levels.iter().enumerate() {
        for segment in of_level.runs.iter().flat_map(|run| &run.segments) {
            let Some(set) = segment.set else { continue };
            match parts.last_mut() {
                // Most tables of a set are neighbours.
                Some(last) if (last.set, last.level) == (set, level) => {
                    last.tables += 1;
                    last.live.0 += segment.size.0;
                }
                _ => parts.push(SetRest { set, level, tables: 1, live: segment.size }),
            }
        }
    }
    parts.sort_by_key(|part| (part.set, part.level));
    let mut rests: Vec<SetRest> = Vec::new();
    for part in parts {
        match rests.last_mut() {
            Some(last) if last.set == part.set => {
                last.tables += part.tables;
                last.live.0 += part.live.0;
            }
            _ => rests.push(part),
        }
    }
    rests.sort_by_key(|rest| (rest.level, rest.set));
    debug_assert!(rests.iter().all(|rest| rest.tables > 0), "{rests:?}");
    rests
}

/// The first table of a set in a level that has one run.
pub(crate) fn first_of(tree: &TreeView, level: usize, set: SetView) -> Option<&SegmentView> {
    tree.runs(level).first()?.segments.iter().find(|segment| segment.set == Some(set))
}

/// The first key of the table after these in their run, in which they are neighbours: a merge of
/// them writes a set that ends there.
pub(crate) fn end_of_set(tree: &TreeView, from: Place, tables: &[&SegmentView]) -> Option<Key> {
    let run = tree.runs(from.level.into()).iter().find(|run| run.id == from.run)?;
    let end = &tables.last()?.span.end;
    let behind = run.segments.partition_point(|segment| segment.span.start < *end);
    Some(run.segments.get(behind)?.span.start.clone())
}

#[cfg(test)]
mod tests {
    use terrace_env::FileId;

    use super::*;
    use crate::histogram::Histogram;
    use crate::tree::{LevelView, RunId, RunView, Span};

    fn table(file: u64, set: Option<SetView>, size: u64) -> SegmentView {
        SegmentView {
            file: FileId(file),
            span: Span::new([file as u8], [file as u8 + 1]),
            size: ByteCount(size),
            entries: 1,
            tombstones: 0,
            set,
            histogram: Histogram::default(),
        }
    }

    #[test]
    fn a_set_is_counted_once_wherever_its_tables_are() {
        let set = |id, tables, size| SetView { id: FileId(id), tables, size: ByteCount(size) };
        let (apart, gone, whole) = (set(1, 4, 40), set(3, 2, 20), set(6, 1, 5));
        let level = |tables: Vec<SegmentView>| LevelView {
            runs: vec![RunView { id: RunId(1), segments: tables.into_iter().collect() }],
        };
        let upper = vec![table(1, Some(apart), 10), table(4, Some(gone), 7), table(5, None, 9)];
        let lower =
            vec![table(2, Some(apart), 10), table(6, Some(whole), 6), table(7, Some(apart), 3)];
        let tree = TreeView { levels: vec![LevelView::default(), level(upper), level(lower)] };
        let found = rests(&tree);
        let found: Vec<_> = found
            .iter()
            .map(|rest| (rest.set, rest.level, rest.live().0, rest.dead_tables()))
            .collect();
        assert_eq!(found, [(apart, 1, 23, 1), (gone, 1, 7, 1), (whole, 2, 6, 0)]);
        let first = first_of(&tree, 2, apart).map(|table| table.file);
        assert_eq!(first, Some(FileId(2)));
        assert_eq!(first_of(&tree, 2, gone), None);
    }

    #[test]
    fn a_set_ends_where_the_next_table_of_the_run_begins() {
        let tables = [1, 2, 5].map(|file| table(file, None, 10));
        let runs = vec![RunView { id: RunId(1), segments: tables.iter().cloned().collect() }];
        let tree = TreeView { levels: vec![LevelView::default(), LevelView { runs }] };
        let place = Place { level: 1, run: RunId(1) };
        let end = |at: std::ops::Range<usize>| {
            end_of_set(&tree, place, &tables[at].iter().collect::<Vec<_>>())
        };
        assert_eq!(end(0..1).as_deref(), Some(&[2][..]), "the next table begins at its end");
        assert_eq!(end(0..2).as_deref(), Some(&[5][..]));
        assert_eq!(end(1..3), None);
    }
}
