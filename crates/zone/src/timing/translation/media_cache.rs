//! [`MediaCache`]: the persistent cache of a drive with a translation layer: a log on the disk,
//! with a map of its entries. It keeps places, no bytes and no times.
//!
//! Entries follow one another; at its end the log begins again at the start. There is room as long
//! as the valid bytes fit, wherever they lie: bytes that are overwritten or cleaned are free again.
//! (Real logs can reuse only their oldest end. That is not modelled.) An empty cache has room for
//! any entry.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

/// Everything that the cache holds of a band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cached {
    pub(super) band: u64,
    /// Ranges of the drive, with their places in the log.
    pub(super) entries: Vec<(Range<u64>, u64)>,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct MediaCache {
    size: u64,
    band: u64,
    /// Where the next entry goes.
    head: u64,
    used: u64,
    /// Entries by their first byte on the drive: the end, and the place in the log.
    entries: BTreeMap<u64, (u64, u64)>,
    /// Bands with entries, by the number of their first.
    by_age: BTreeMap<u64, u64>,
    /// The same, from a band to the number of its first entry.
    since: BTreeMap<u64, u64>,
    next: u64,
}

impl MediaCache {
    pub(super) fn new(size: u64, band: u64) -> Self {
        let (entries, by_age, since) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { size, band, head: 0, used: 0, entries, by_age, since, next: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.used + bytes <= self.size || self.is_empty()
    }

    /// Puts a range of one band into the log; gives its place there.
    pub(super) fn put(&mut self, range: Range<u64>) -> u64 {
        self.drop_range(range.clone());
        let len = range.end - range.start;
        let at = if self.head + len > self.size { 0 } else { self.head };
        self.head = at + len;
        self.used += len;
        let band = range.start / self.band;
        if let Entry::Vacant(first) = self.since.entry(band) {
            first.insert(self.next);
            self.by_age.insert(self.next, band);
            self.next += 1;
        }
        self.entries.insert(range.start, (range.end, at));
        at
    }

    /// Where a range lies in the log, if one entry holds all of it.
    pub(super) fn find(&self, range: &Range<u64>) -> Option<u64> {
        let (start, (end, at)) = self.entries.range(..=range.start).next_back()?;
        (range.end <= *end).then(|| at + range.start - start)
    }

    /// Forgets its entries of a range: newer bytes are elsewhere.
    pub(super) fn drop_range(&mut self, range: Range<u64>) {
        let first =
            self.entries.range(..range.start).next_back().map_or(range.start, |(at, _)| *at);
        let hit: Vec<(u64, (u64, u64))> = self
            .entries
            .range(first..range.end)
            .filter(|(_, (end, _))| *end > range.start)
            .map(|(start, entry)| (*start, *entry))
            .collect();
        for (start, (end, at)) in hit {
            self.entries.remove(&start);
            self.used -= end - start;
            for part in [start..range.start.min(end), range.end.max(start)..end] {
                if !part.is_empty() {
                    self.used += part.end - part.start;
                    self.entries.insert(part.start, (part.end, at + part.start - start));
                }
            }
        }
    }

    /// Takes out everything of the band that has had entries for longest.
    pub(super) fn take_oldest(&mut self) -> Option<Cached> {
        while let Some((_, band)) = self.by_age.pop_first() {
            self.since.remove(&band);
            let range = band * self.band..(band + 1) * self.band;
            let entries: Vec<(Range<u64>, u64)> = self
                .entries
                .range(range.clone())
                .map(|(start, (end, at))| (*start..*end, *at))
                .collect();
            if !entries.is_empty() {
                self.drop_range(range);
                return Some(Cached { band, entries });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entry_counts_and_the_oldest_band_is_cleaned_first() {
        let mut cache = MediaCache::new(100, 50);
        assert_eq!([cache.put(60..80), cache.put(10..20), cache.put(70..75)], [0, 20, 30]);
        assert_eq!(cache.find(&(71..74)), Some(31));
        assert_eq!(cache.find(&(76..80)), Some(16));
        assert_eq!((cache.find(&(69..71)), cache.used), (None, 30));
        assert!(cache.has_room(70) && !cache.has_room(71));
        let entries = vec![(60..70, 0), (70..75, 30), (75..80, 15)];
        assert_eq!(cache.take_oldest(), Some(Cached { band: 1, entries }));
        cache.drop_range(0..15);
        let entries = vec![(15..20, 25)];
        assert_eq!(cache.take_oldest(), Some(Cached { band: 0, entries }));
        assert!(cache.is_empty() && cache.take_oldest().is_none());
        // The end of the log is too short for this entry.
        assert_eq!(cache.put(0..70), 0);
    }
}
