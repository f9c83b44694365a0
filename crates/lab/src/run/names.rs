//! The names of metrics and series that an experiment can ask for, such as
//! `write_amplification.total`. They are the names in the JSON of an outcome; a dot stands between
//! the name of an object and that of a number in it.
//!
//! The JSON has more, such as waits, and levels deeper than 7 where a tree has them. They are not
//! among these names.
//!
//! [`Metrics::value`] finds a metric by its name. Of most metrics by cause or by level, a missing
//! one counts as zero.

use std::collections::BTreeMap;

use serde_json::Value;
use terrace_env::Cause;

use super::metrics::OFFLOADED;
use super::recorder::TOTAL;
use super::work::{JOB_KINDS, MERGE_MIB, MERGE_SECONDS, REWRITES};
use super::{Metrics, Sample};

/// Name of the idle time among metrics that go by cause.
const IDLE: &str = "idle";
/// The levels of the rows' trees: an experiment can ask for these.
const LEVELS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
/// The percentiles of latencies.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];
/// The series that do not go by cause.
const SERIES: [&str; 12] = [
    "kv_per_second",
    "read_mib_per_second",
    "write_mib_per_second",
    "valid_share",
    "used_share",
    "valid_efficiency",
    "live_efficiency",
    "zones",
    "runs",
    "flushes",
    "compactions",
    "write_amplification",
];

impl Metrics {
    /// The names of all metrics but waits and levels deeper than 7, sorted: `kv_per_second`,
    /// `write_amplification.total` and so on.
    #[must_use]
    pub fn names() -> Vec<String> {
        let causes = || Cause::ALL.map(|cause| (cause.name().to_owned(), 0.0));
        let levels = || LEVELS.map(|level| (level.to_owned(), 0.0));
        let all = Self {
            seconds_by_cause: causes().into_iter().chain([(IDLE.to_owned(), 0.0)]).collect(),
            queued_by_cause: causes().into(),
            service_by_cause: causes().into(),
            positioning_by_cause: causes().into(),
            reads_by_cause: causes().into(),
            read_size_by_cause: causes().into(),
            writes_by_cause: causes().into(),
            write_size_by_cause: causes().into(),
            syncs_by_cause: causes().into_iter().chain([(TOTAL.to_owned(), 0.0)]).collect(),
            written_by_level: levels().into(),
            read_by_level: levels().into(),
            moved_by_level: levels().into(),
            held_by_level: levels().into(),
            merges_by_level: levels().into(),
            tables_per_merge_by_level: levels().into(),
            merge_seconds: MERGE_SECONDS.map(|name| (name.to_owned(), 0.0)).into(),
            merge_mib: MERGE_MIB.map(|name| (name.to_owned(), 0.0)).into(),
            offloaded: OFFLOADED.map(|name| (name.to_owned(), 0.0)).into(),
            rewrites: REWRITES.map(|name| (name.to_owned(), 0.0)).into(),
            jobs_by_kind: JOB_KINDS.map(|kind| (kind.to_owned(), 0.0)).into(),
            log_device_seconds_by_cause: causes()
                .into_iter()
                .chain([(IDLE.to_owned(), 0.0)])
                .collect(),
            log_device_queued_by_cause: causes().into(),
            log_device_service_by_cause: causes().into(),
            log_device_positioning_by_cause: causes().into(),
            log_device_writes_by_cause: causes().into(),
            log_device_write_size_by_cause: causes().into(),
            read_amplification: Some(0.0),
            cache_hit_share: Some(0.0),
            tables_per_get: Some(0.0),
            tables_per_get_by_level: levels().into(),
            latency_seconds: PERCENTILES.map(|name| (name.to_owned(), 0.0)).into(),
            arrival_wait_seconds: PERCENTILES.map(|name| (name.to_owned(), 0.0)).into(),
            ..Self::default()
        };
        all.values().into_iter().map(|(name, _)| name).collect()
    }

    /// All metrics that the run has, sorted by name.
    #[must_use]
    pub fn values(&self) -> Vec<(String, f64)> {
        let mut values = Vec::new();
        for (name, value) in self.json() {
            match value {
                Value::Object(parts) => values.extend(
                    parts
                        .into_iter()
                        .filter_map(|(part, it)| Some((format!("{name}.{part}"), it.as_f64()?))),
                ),
                value => values.extend(value.as_f64().map(|it| (name, it))),
            }
        }
        values
    }

    /// A metric by its name; `None` where the run does not have it, or nothing is called so.
    /// Nothing was done for a cause, or on a level, that does not appear.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        let zero_where_absent: [(&str, &BTreeMap<String, f64>); 18] = [
            ("seconds_by_cause", &self.seconds_by_cause),
            ("queued_by_cause", &self.queued_by_cause),
            ("service_by_cause", &self.service_by_cause),
            ("positioning_by_cause", &self.positioning_by_cause),
            ("reads_by_cause", &self.reads_by_cause),
            ("writes_by_cause", &self.writes_by_cause),
            ("syncs_by_cause", &self.syncs_by_cause),
            ("written_by_level", &self.written_by_level),
            ("read_by_level", &self.read_by_level),
            ("moved_by_level", &self.moved_by_level),
            ("held_by_level", &self.held_by_level),
            ("merges_by_level", &self.merges_by_level),
            ("tables_per_get_by_level", &self.tables_per_get_by_level),
            ("log_device_seconds_by_cause", &self.log_device_seconds_by_cause),
            ("log_device_queued_by_cause", &self.log_device_queued_by_cause),
            ("log_device_service_by_cause", &self.log_device_service_by_cause),
            ("log_device_positioning_by_cause", &self.log_device_positioning_by_cause),
            ("log_device_writes_by_cause", &self.log_device_writes_by_cause),
        ];
        if let Some((map, cause)) = name.split_once('.')
            && let Some((_, values)) = zero_where_absent.iter().find(|(known, _)| *known == map)
        {
            let known = || {
                let deep_level = map.ends_with("_by_level") && cause.parse::<u8>().is_ok();
                deep_level || Self::names().iter().any(|known| known == name)
            };
            return values.get(cause).copied().or_else(|| known().then_some(0.0));
        }
        self.values().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn json(&self) -> serde_json::Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            other => unreachable!("metrics are an object: {other:?}"),
        }
    }
}

impl Sample {
    /// The names of all series but waits.
    #[must_use]
    pub fn names() -> Vec<String> {
        let causes = Cause::ALL.map(|cause| format!("{cause}_share"));
        SERIES.map(str::to_owned).into_iter().chain(causes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_by_their_names_in_the_json() {
        let names = Metrics::names();
        for name in [
            "kv_per_second",
            "write_amplification.total",
            "seconds_by_cause.idle",
            "latency_seconds.p99.9",
            "read_amplification",
        ] {
            assert!(names.iter().any(|known| known == name), "{name} of {names:?}");
        }
        assert!(!names.iter().any(|name| name == "trace_hash"));
        let mut metrics = Metrics::default();
        metrics.write_amplification.total = 4.0;
        metrics.latency_seconds.insert("p99.9".into(), 7.0);
        assert_eq!(metrics.value("write_amplification.total"), Some(4.0));
        assert_eq!(metrics.value("latency_seconds.p99.9"), Some(7.0));
        assert_eq!(metrics.value("latency_seconds.p50"), None);
        assert_eq!(metrics.value("seconds_by_cause.reclaim"), Some(0.0));
        assert_eq!(metrics.value("read_amplification"), None);
        assert_eq!(metrics.value("written_by_level.9"), Some(0.0));
        for unknown in ["seconds_by_cause.reclaims", "written_by_level.top", "no_metric.total"] {
            assert_eq!(metrics.value(unknown), None, "{unknown}");
        }
        assert!(Sample::names().iter().any(|name| name == "reclaim_share"));
    }
}
