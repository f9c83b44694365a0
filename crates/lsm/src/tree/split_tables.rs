//! [`SplitTables`]: the tables that have segments in several runs, and these runs. A change that
//! takes a segment of such a table finds the table's other segments with it, without a search of
//! every run.
//!
//! A table whose segments are all in one run is not listed. If a change concerns no table that is
//! listed before or after it, the new version shares the list with the old one. For each table that
//! a change concerns, the caller must name all runs in which the table has segments after it.
//!
//! A value that does not change: any number of threads read it without a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::FileId;
use terrace_policy::Place;

/// Tables, with the runs in which they have segments.
pub(crate) type Places = BTreeMap<FileId, BTreeSet<Place>>;

/// The tables that have segments in several runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitTables(Arc<Places>);

impl SplitTables {
    /// The split tables among all tables of a tree.
    pub(crate) fn among(segments: impl Iterator<Item = (Place, FileId)>) -> Self {
        let mut places = Places::new();
        for (place, file) in segments {
            places.entry(file).or_default().insert(place);
        }
        Self::default().changed(places)
    }

    /// The list after a change. `touched`: the new places of the tables that the change concerns.
    pub(crate) fn changed(mut self, touched: Places) -> Self {
        for (file, places) in touched {
            if places.len() > 1 {
                Arc::make_mut(&mut self.0).insert(file, places);
            } else if self.0.contains_key(&file) {
                Arc::make_mut(&mut self.0).remove(&file);
            }
        }
        debug_assert!(self.0.values().all(|places| places.len() > 1), "{:?}", self.0);
        self
    }

    /// Places of a table's segments, if these are in several runs.
    pub(crate) fn places(&self, file: FileId) -> Option<&BTreeSet<Place>> {
        self.0.get(&file)
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::random::{Random, Rng};
    use terrace_policy::RunId;

    use super::*;

    /// Places of all tables.
    fn all(tables: &Places) -> impl Iterator<Item = (Place, FileId)> {
        tables.iter().flat_map(|(file, places)| places.iter().map(|place| (*place, *file)))
    }

    #[test]
    fn the_list_is_after_any_changes_what_a_count_of_all_tables_gives() {
        let mut random = Random::seeded(5);
        let (mut tables, mut split) = (Places::new(), SplitTables::default());
        let (mut most, mut shared) = (0, 0);
        for _ in 0..2_000 {
            let mut touched = Places::new();
            for _ in 0..random.random_range(1..4) {
                let runs = [0, 1, 1, 1, 2, 3][random.random_range(0..6)];
                let mut place = || Place {
                    level: random.random_range(0..3),
                    run: RunId(random.random_range(0..2)),
                };
                let places = (0..runs).map(|_| place()).collect();
                touched.insert(FileId(random.random_range(0..20)), places);
            }
            tables.extend(touched.clone());
            let before = split.clone();
            split = split.changed(touched);
            assert_eq!(split, SplitTables::among(all(&tables)));
            assert!(split.0.values().all(|places| places.len() > 1), "{split:?}");
            most = most.max(split.0.len());
            shared += u32::from(Arc::ptr_eq(&before.0, &split.0));
        }
        assert!(most > 5 && shared > 100, "at most {most} were split, {shared} lists were shared");
    }
}
