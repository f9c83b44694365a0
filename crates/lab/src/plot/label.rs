//! [`Label`] and [`Unit`]: the names of metrics and series in words, and their values as people
//! read them.
//!
//! A name that is not in the tables of this file is shown as it is, with spaces for `_`, and its
//! values as plain numbers.

/// Name of a metric or a series, and its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// In words.
    pub text: String,
    /// Unit of its values.
    pub unit: Unit,
}

/// Unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share of one, shown in percent.
    Share,
    /// Seconds of device time.
    Seconds,
    /// Operations of clients per second.
    PerSecond,
    /// Bandwidth.
    MibPerSecond,
    /// How many.
    Count,
    /// How many jobs at once.
    Jobs,
    /// How many times.
    Factor,
}

/// Names whose words are not the name itself.
const NAMED: [(&str, &str, Unit); 55] = [
    ("offloaded", "use of the offload device", Unit::Factor),
    ("offloaded.share", "flushes that are offloaded", Unit::Share),
    ("offloaded.written", "written to the offload device", Unit::Factor),
    ("offloaded.held", "tables on the offload device", Unit::Share),
    ("offloaded.wear", "times the offload device is written over", Unit::Factor),
    ("cache_hit_share", "compaction reads found in the file cache", Unit::Share),
    // Families, as a whole.
    ("seconds_by_cause", "time that the drive works", Unit::Seconds),
    ("queued_by_cause", "time that requests queue", Unit::Seconds),
    ("service_by_cause", "time that requests are served", Unit::Seconds),
    ("positioning_by_cause", "time that the drive seeks", Unit::Seconds),
    ("reads_by_cause", "requests that read", Unit::Count),
    ("writes_by_cause", "requests that write", Unit::Count),
    ("written_by_level", "written into levels per byte", Unit::Factor),
    ("read_by_level", "read out of levels per byte", Unit::Factor),
    ("moved_by_level", "moved into levels per byte", Unit::Factor),
    ("held_by_level", "tables by level", Unit::Share),
    ("merges_by_level", "merges from levels", Unit::Count),
    ("tables_per_merge_by_level", "tables of a merge", Unit::Count),
    ("jobs_by_kind", "jobs", Unit::Count),
    ("merge_seconds", "time of merges", Unit::Seconds),
    ("merge_seconds.total", "time of all merges", Unit::Seconds),
    ("merge_seconds.mean", "time of a merge, on average", Unit::Seconds),
    ("merge_seconds.max", "time of the longest merge", Unit::Seconds),
    ("latency_seconds", "latency", Unit::Seconds),
    ("arrival_wait_seconds", "wait for a client", Unit::Seconds),
    ("space_efficiency", "space efficiency", Unit::Share),
    ("kv_per_second", "operations", Unit::PerSecond),
    ("read_mib_per_second", "read", Unit::MibPerSecond),
    ("write_mib_per_second", "written", Unit::MibPerSecond),
    ("valid_share", "valid data in the store's space", Unit::Share),
    ("used_share", "space in zones that hold anything", Unit::Share),
    ("valid_efficiency", "space efficiency, valid", Unit::Share),
    ("live_efficiency", "space efficiency, live", Unit::Share),
    ("space_efficiency.valid_end", "space efficiency, valid, at the end", Unit::Share),
    ("space_efficiency.valid_average", "space efficiency, valid, on average", Unit::Share),
    ("space_efficiency.live_end", "space efficiency, live, at the end", Unit::Share),
    ("space_efficiency.live_average", "space efficiency, live, on average", Unit::Share),
    ("space_efficiency.live_worst", "space efficiency, live, at the worst", Unit::Share),
    ("read_gib", "GiB read from the drive", Unit::Count),
    ("written_gib", "GiB written to the drive", Unit::Count),
    ("space.gib", "GiB of the store's space", Unit::Count),
    ("space.used_peak", "space in zones that hold anything, at most", Unit::Share),
    ("space.valid_peak", "valid data in the store's space, at most", Unit::Share),
    ("space.fragments", "fragments in the space that is in use, at the end", Unit::Share),
    ("space.span", "GiB of the device up to the last byte in use, at the end", Unit::Count),
    ("seconds", "time taken", Unit::Seconds),
    ("stall_worst_seconds", "longest operation", Unit::Seconds),
    ("zones", "zones that hold anything", Unit::Count),
    ("zones_peak", "most zones that held anything", Unit::Count),
    ("runs", "sorted runs", Unit::Count),
    ("runs_average", "sorted runs, on average", Unit::Count),
    ("flushes", "flushes under way", Unit::Jobs),
    ("compactions", "compactions under way", Unit::Jobs),
    ("tables_per_get", "tables searched per read", Unit::Count),
    ("tables_per_get_by_level", "tables searched per read, by level", Unit::Count),
];

/// Families of names: their common prefix and suffix, their label and unit; in the label, `…`
/// stands for the rest.
const FAMILIES: [(&str, &str, &str, Unit); 33] = [
    ("merge_mib.", "", "MiB of a merge, …", Unit::Count),
    ("rewrites.", "", "bands written again, …", Unit::Count),
    ("waits.", "", "waiting at once, …", Unit::Jobs),
    ("waits_by_cause.", "", "waits, …", Unit::Seconds),
    ("longest_waits.", "", "longest operation, …", Unit::Seconds),
    ("write_amplification.", "", "write amplification, …", Unit::Factor),
    ("log_device_amplification.", "", "written to the log device, …", Unit::Factor),
    ("log_device_seconds_by_cause.", "", "log device at work for …", Unit::Seconds),
    ("log_device_queued_by_cause.", "", "log device requests queued for …", Unit::Seconds),
    ("log_device_service_by_cause.", "", "log device requests served for …", Unit::Seconds),
    ("log_device_positioning_by_cause.", "", "log device seeking for …", Unit::Seconds),
    ("log_device_writes_by_cause.", "", "log device writes for …", Unit::Count),
    (
        "log_device_write_size_by_cause.",
        "",
        "bytes of a request that writes to the log device for …",
        Unit::Count,
    ),
    ("seconds_by_cause.", "", "drive at work for …", Unit::Seconds),
    ("queued_by_cause.", "", "requests queued for …", Unit::Seconds),
    ("service_by_cause.", "", "requests served for …", Unit::Seconds),
    ("positioning_by_cause.", "", "drive seeking for …", Unit::Seconds),
    ("reads_by_cause.", "", "requests that read for …", Unit::Count),
    ("read_size_by_cause.", "", "bytes of a request that reads for …", Unit::Count),
    ("writes_by_cause.", "", "requests that write for …", Unit::Count),
    ("syncs_by_cause.", "", "forced writes and flushes for …", Unit::Count),
    ("write_size_by_cause.", "", "bytes of a request that writes for …", Unit::Count),
    ("written_by_level.", "", "written into level … per byte", Unit::Factor),
    ("read_by_level.", "", "read out of level … per byte", Unit::Factor),
    ("moved_by_level.", "", "moved into level … per byte", Unit::Factor),
    ("held_by_level.", "", "tables in level …", Unit::Share),
    ("merges_by_level.", "", "merges from level …", Unit::Count),
    ("tables_per_get_by_level.", "", "tables of level … searched per read", Unit::Count),
    ("tables_per_merge_by_level.", "", "tables of a merge from level …", Unit::Count),
    ("jobs_by_kind.", "", "jobs, …", Unit::Count),
    ("latency_seconds.", "", "latency, …", Unit::Seconds),
    ("arrival_wait_seconds.", "", "wait for a client, …", Unit::Seconds),
    ("", "_share", "time that … takes", Unit::Share),
];

impl Label {
    /// Label of a metric or a series, by its name in the JSON.
    #[must_use]
    pub fn of(name: &str) -> Self {
        if let Some((_, text, unit)) = NAMED.iter().find(|(known, ..)| *known == name) {
            return Self { text: (*text).to_owned(), unit: *unit };
        }
        let family = FAMILIES.iter().find_map(|(prefix, suffix, text, unit)| {
            let rest = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            Some(Self { text: text.replace('…', &rest.replace('_', " ")), unit: *unit })
        });
        family.unwrap_or_else(|| Self { text: name.replace('_', " "), unit: Unit::Factor })
    }
}

impl Unit {
    /// The name of the unit, where it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Share => Some("%"),
            Self::Seconds => Some("s"),
            Self::PerSecond => Some("per second"),
            Self::MibPerSecond => Some("MiB/s"),
            Self::Count | Self::Jobs | Self::Factor => None,
        }
    }

    /// Common name of values that have this unit.
    #[must_use]
    pub(super) fn together(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Seconds => "time",
            Self::PerSecond => "operations",
            Self::MibPerSecond => "bandwidth",
            Self::Count => "number",
            Self::Jobs => "jobs",
            Self::Factor => "factor",
        }
    }

    /// Factor from a value to the unit of [`Self::name`].
    #[must_use]
    pub fn factor(self) -> f64 {
        if self == Self::Share { 100.0 } else { 1.0 }
    }

    /// A value with its unit, rounded as [`number`] does; a whole number of things is exact.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        let digits = number(value * self.factor());
        match self {
            Self::Count | Self::Jobs if value.fract() == 0.0 => grouped(&format!("{value:.0}")),
            Self::Seconds => duration(value),
            Self::Share => format!("{digits} %"),
            Self::PerSecond => format!("{digits}/s"),
            Self::MibPerSecond => format!("{digits} MiB/s"),
            Self::Count | Self::Jobs | Self::Factor => digits,
        }
    }
}

/// A number with the decimals that matter and with separators between thousands.
#[must_use]
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    let decimals = match size {
        0.0 => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.0995 => 2,
        size if size >= 0.00995 => 3,
        _ => return format!("{value:.1e}"),
    };
    let text = format!("{size:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}{fraction}", grouped(whole))
}

/// Digits with separators between thousands.
fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time, in seconds unless it is short: papers give hours in seconds too.
fn duration(seconds: f64) -> String {
    match seconds.abs() {
        0.0 => "0 s".to_owned(),
        size if size < 0.9995e-3 => format!("{} µs", number(seconds * 1e6)),
        size if size < 0.9995 => format!("{} ms", number(seconds * 1e3)),
        _ => format!("{} s", number(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Metrics, Sample};

    #[test]
    fn every_metric_and_series_has_words() {
        for name in Metrics::names().into_iter().chain(Sample::names()) {
            let label = Label::of(&name);
            assert!(!label.text.contains(['_', '.', '…']) || name.contains("p99.9"), "{label:?}");
        }
        let label = |name| (Label::of(name).text, Label::of(name).unit);
        assert_eq!(label("reclaim_share"), ("time that reclaim takes".into(), Unit::Share));
        assert_eq!(label("valid_share").1, Unit::Share);
        assert_eq!(label("valid_share").0, "valid data in the store's space");
        assert_eq!(label("write_amplification.log").0, "write amplification, log");
        assert_eq!(label("write_amplification").0, "write amplification");
        assert_eq!(label("latency_seconds.p99.9"), ("latency, p99.9".into(), Unit::Seconds));
    }

    #[test]
    fn values_are_as_people_read_them() {
        for (unit, value, shown) in [
            (Unit::Share, 0.899, "89.9 %"),
            (Unit::Share, 1.0, "100 %"),
            (Unit::PerSecond, 1489.4, "1,489/s"),
            (Unit::PerSecond, 1_234_567.0, "1,234,567/s"),
            (Unit::Factor, 13.14, "13.1"),
            (Unit::Factor, 1.706, "1.71"),
            (Unit::Factor, 0.0, "0"),
            (Unit::Factor, -2.5, "−2.50"),
            (Unit::Factor, 0.0612, "0.061"),
            (Unit::Factor, 0.00012, "1.2e-4"),
            (Unit::Factor, f64::NAN, "–"),
            (Unit::Count, 280.0, "280"),
            (Unit::Count, 48.0, "48"),
            (Unit::Count, 20e6, "20,000,000"),
            (Unit::Count, 5.5, "5.50"),
            (Unit::Seconds, 0.0052, "5.20 ms"),
            (Unit::Seconds, 12e-6, "12.0 µs"),
            (Unit::Seconds, 16.04, "16.0 s"),
            (Unit::Seconds, 24_156.0, "24,156 s"),
            (Unit::MibPerSecond, 152.3, "152 MiB/s"),
        ] {
            assert_eq!(unit.show(value), shown, "{unit:?} {value}");
        }
    }
}
