//! [`ZonesView`]: where the tables of a tree lie, and how full their zones are.
//!
//! A decider that looks at zones gets a [`ZonesSource`] when it is made, and asks it during a
//! choice. Files that lie in no zone, or are gone, are not in the view.
//!
//! Reclaim may move data during a choice. So a view may be out of date, and may mix several
//! moments. A view may influence which tables a plan takes, but not whether the plan is legal.
//!
//! A source may take locks of the file system: call it with no lock held.

use std::fmt::Debug;

use terrace_env::{ByteCount, FileId, ZoneId};

use crate::reclaim::Supply;

/// A zone that holds something of the files that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneView {
    /// The zone.
    pub zone: ZoneId,
    /// Bytes that can be written to it between two resets.
    pub capacity: ByteCount,
    /// Bytes written to it, dead or not. More may come if they are fewer than the capacity.
    pub written: ByteCount,
}

impl ZoneView {
    /// Whether more may be written to it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.written < self.capacity
    }
}

/// A file's data in one zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExtentView {
    /// The file.
    pub file: FileId,
    /// The zone.
    pub zone: ZoneId,
    /// Bytes of the extent.
    pub size: ByteCount,
}

/// Where files lie. Empty over a plain directory, which has no zones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZonesView {
    /// Zones, by number.
    zones: Vec<ZoneView>,
    /// Extents by file; those of one file in its order.
    extents: Vec<ExtentView>,
}

impl ZonesView {
    /// A view of these zones and extents, which may come in any order, but for those of one file.
    #[must_use]
    pub fn new(mut zones: Vec<ZoneView>, mut extents: Vec<ExtentView>) -> Self {
        zones.sort_unstable_by_key(|zone| zone.zone);
        zones.dedup_by_key(|zone| zone.zone);
        extents.sort_by_key(|extent| extent.file);
        debug_assert!(zones.is_sorted_by(|a, b| a.zone < b.zone), "a zone is there twice");
        Self { zones, extents }
    }

    /// A zone, if something of the files lies in it.
    #[must_use]
    pub fn zone(&self, zone: ZoneId) -> Option<&ZoneView> {
        let at = self.zones.binary_search_by_key(&zone, |zone| zone.zone).ok()?;
        self.zones.get(at)
    }

    /// The zones that hold anything of the files, by id.
    #[must_use]
    pub fn zones(&self) -> &[ZoneView] {
        &self.zones
    }

    /// Where a file lies, from its beginning to its end; empty if that is not known.
    #[must_use]
    pub fn extents(&self, file: FileId) -> &[ExtentView] {
        let first = self.extents.partition_point(|extent| extent.file < file);
        let rest = &self.extents[first..];
        &rest[..rest.partition_point(|extent| extent.file == file)]
    }
}

/// Source of the zones that files lie in, and of how many zones are free.
pub trait ZonesSource: Send + Sync + Debug {
    /// Where these files lie now. The view omits files that the source does not know.
    fn placed(&self, files: &[FileId]) -> ZonesView;

    /// How many zones are free now; `None` where there are no zones.
    fn supply(&self) -> Option<Supply> {
        None
    }
}

/// A source for stores without zones, or with unknown ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoZones;

impl ZonesSource for NoZones {
    fn placed(&self, _: &[FileId]) -> ZonesView {
        ZonesView::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extents_of_a_file_are_found_in_their_order() {
        let extent = |file, zone, size| ExtentView {
            file: FileId(file),
            zone: ZoneId(zone),
            size: ByteCount(size),
        };
        let zone = |zone, written| ZoneView {
            zone: ZoneId(zone),
            capacity: ByteCount(10),
            written: ByteCount(written),
        };
        let extents = vec![extent(7, 2, 4), extent(7, 1, 1), extent(3, 2, 6), extent(9, 1, 2)];
        let view = ZonesView::new(vec![zone(2, 10), zone(1, 3), zone(2, 10)], extents);
        assert_eq!(view.extents(FileId(7)), [extent(7, 2, 4), extent(7, 1, 1)]);
        assert_eq!(view.extents(FileId(3)), [extent(3, 2, 6)]);
        assert_eq!(view.extents(FileId(8)), []);
        assert_eq!(view.zones().len(), 2);
        assert!(view.zone(ZoneId(1)).is_some_and(ZoneView::is_open));
        assert!(view.zone(ZoneId(2)).is_some_and(|zone| !zone.is_open()));
        assert_eq!(view.zone(ZoneId(3)), None);
    }
}
