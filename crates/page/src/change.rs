//! [`Change`]: the difference between two pictures: the zones and the tables that differ, and the
//! parts that are small enough to be in every frame.
//!
//! A change applied to the earlier picture gives the later one. Two changes in a row
//! [join](Change::join) to one.

use std::collections::BTreeMap;

use crate::gauges::Gauges;
use crate::picture::Picture;
use crate::table_row::{TableKey, TableRow};
use crate::zone_cell::ZoneCell;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Zones that differ.
    pub zones: BTreeMap<u32, ZoneCell>,
    /// Tables that differ or are new; `None` for those that are gone.
    pub tables: BTreeMap<TableKey, Option<TableRow>>,
    /// All windows.
    pub windows: Vec<(u8, u32)>,
    /// All pointers.
    pub pointers: Vec<(u8, Vec<u8>)>,
    /// All gauges.
    pub gauges: Gauges,
}

impl Change {
    /// The change from one picture to another one with as many zones or more.
    #[must_use]
    pub fn between(before: &Picture, now: &Picture) -> Self {
        let zones = now.zones.iter().enumerate();
        let zones = zones.filter(|(at, zone)| before.zones.get(*at) != Some(*zone));
        let differ = now.tables.iter().filter(|(key, row)| before.tables.get(*key) != Some(*row));
        let gone = before.tables.keys().filter(|key| !now.tables.contains_key(*key));
        let mut tables: BTreeMap<_, _> =
            differ.map(|(key, row)| (*key, Some(row.clone()))).collect();
        tables.extend(gone.map(|key| (*key, None)));
        Self {
            zones: zones.map(|(at, zone)| (at as u32, zone.clone())).collect(),
            tables,
            windows: now.windows.clone(),
            pointers: now.pointers.clone(),
            gauges: now.gauges.clone(),
        }
    }

    /// This change and the one after it, as one.
    pub fn join(&mut self, later: Self) {
        self.zones.extend(later.zones);
        self.tables.extend(later.tables);
        self.windows = later.windows;
        self.pointers = later.pointers;
        self.gauges = later.gauges;
    }

    /// Makes the change; returns the part of it that makes a difference.
    pub fn apply(self, to: &mut Picture) -> Self {
        let mut made = Self { zones: BTreeMap::new(), tables: BTreeMap::new(), ..self };
        for (at, zone) in self.zones {
            let index = at as usize;
            if to.zones.len() <= index {
                to.zones.resize(index + 1, ZoneCell::default());
                made.zones.insert(at, zone.clone());
            } else if to.zones[index] != zone {
                made.zones.insert(at, zone.clone());
            }
            to.zones[index] = zone;
        }
        for (key, row) in self.tables {
            let before = match &row {
                Some(row) => to.tables.insert(key, row.clone()),
                None => to.tables.remove(&key),
            };
            if before != row {
                made.tables.insert(key, row);
            }
        }
        to.windows.clone_from(&made.windows);
        to.pointers.clone_from(&made.pointers);
        to.gauges.clone_from(&made.gauges);
        made
    }
}
