//! [`Metrics`]: counts of requests by operation and status, their latencies, and bytes of bodies.
//!
//! The latency of a request ends with the head of its answer: the bytes of an object come after
//! it. An operation that was not recognised is counted as `none`. Counters begin at zero with the
//! process. Any thread may count.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::sync::Mutex;

/// Upper ends of the buckets of latencies, in microseconds.
const ENDS: [u64; 13] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 10_000_000,
];

#[derive(Default)]
struct Latencies {
    /// Requests of each bucket; the last one has no end.
    counts: [u64; ENDS.len() + 1],
    sum: Duration,
}

/// See the [module](self).
#[derive(Default)]
pub struct Metrics {
    /// By operation and status.
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    latencies: Mutex<BTreeMap<String, Latencies>>,
    received: AtomicU64,
    sent: AtomicU64,
    connections: AtomicI64,
    refused: AtomicU64,
}

impl Metrics {
    /// Counts a request.
    pub fn answered(&self, operation: &str, status: u16, latency: Duration) {
        *self.requests.lock().entry((operation.to_owned(), status)).or_default() += 1;
        let mut latencies = self.latencies.lock();
        let of = latencies.entry(operation.to_owned()).or_default();
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        of.counts[ENDS.partition_point(|end| *end < micros)] += 1;
        of.sum += latency;
    }

    /// Counts bytes of request bodies.
    pub fn received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes of objects that were handed to connections.
    pub fn sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a connection that was opened.
    pub fn opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that was closed.
    pub fn closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a connection that ended by an error: of its TLS, of its syntax, or by a time limit.
    pub fn failed(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Appends all counts in Prometheus' text format.
    pub fn expose(&self, text: &mut String) {
        let requests = "terrace_server_requests_total";
        let _ = writeln!(text, "# TYPE {requests} counter");
        for ((operation, status), count) in &*self.requests.lock() {
            let of = format!("{{operation=\"{operation}\",status=\"{status}\"}}");
            let _ = writeln!(text, "{requests}{of} {count}");
        }
        let latency = "terrace_server_request_seconds";
        let _ = writeln!(text, "# TYPE {latency} histogram");
        for (operation, of) in &*self.latencies.lock() {
            let mut sum = 0;
            let ends = ENDS.map(|end| format!("{}", end as f64 / 1e6)).into_iter();
            for (end, count) in ends.chain(["+Inf".to_owned()]).zip(of.counts) {
                sum += count;
                let labels = format!("{{operation=\"{operation}\",le=\"{end}\"}}");
                let _ = writeln!(text, "{latency}_bucket{labels} {sum}");
            }
            let labels = format!("{{operation=\"{operation}\"}}");
            let _ = writeln!(text, "{latency}_sum{labels} {}", of.sum.as_secs_f64());
            let _ = writeln!(text, "{latency}_count{labels} {sum}");
        }
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        for (name, value) in [
            ("received_bytes_total", number(&self.received)),
            ("sent_bytes_total", number(&self.sent)),
            ("connections_failed_total", number(&self.refused)),
        ] {
            let _ = writeln!(text, "# TYPE terrace_server_{name} counter");
            let _ = writeln!(text, "terrace_server_{name} {value}");
        }
        let connections = self.connections.load(Ordering::Relaxed);
        let _ = writeln!(text, "# TYPE terrace_server_connections gauge");
        let _ = writeln!(text, "terrace_server_connections {connections}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_operation_status_and_latency() {
        let metrics = Metrics::default();
        metrics.answered("GetObject", 200, Duration::from_micros(500));
        metrics.answered("GetObject", 404, Duration::from_secs(20));
        let mut text = String::new();
        metrics.expose(&mut text);
        for line in [
            "terrace_server_requests_total{operation=\"GetObject\",status=\"404\"} 1",
            "terrace_server_request_seconds_bucket{operation=\"GetObject\",le=\"0.0005\"} 1",
            "terrace_server_request_seconds_bucket{operation=\"GetObject\",le=\"10\"} 1",
            "terrace_server_request_seconds_bucket{operation=\"GetObject\",le=\"+Inf\"} 2",
            "terrace_server_request_seconds_count{operation=\"GetObject\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
