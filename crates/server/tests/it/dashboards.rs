//! The dashboard for Grafana, the alerts for Prometheus and the table of the guide name series
//! that the server really has: each name, and each label with its value.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::rig::{Medium, Rig, Store, bytes};

fn guide(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The metrics of a server that has answered requests.
fn metrics() -> String {
    let store = Store::new(Medium::Image, 64);
    let rig = Rig::start(&store);
    let client = rig.client();
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/a", &bytes(1, 200_000)).expect(200);
    client.get("/bucket/a").expect(200);
    let text = client.get("/-/metrics").expect(200).text();
    assert_eq!(rig.stop(), 0);
    text
}

/// Series in a query: the name, and the labels that must have a value.
fn series(query: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = query;
    while let Some(at) = rest.find("terrace_") {
        let name: String = rest[at..]
            .chars()
            .take_while(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || *char == '_')
            .collect();
        rest = &rest[at + name.len()..];
        let selector = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let labels = selector.map_or("", |(labels, _)| labels).split(',');
        // Other comparisons than that for equality are about values that may come.
        let labels = labels.filter(|label| label.contains("=\"")).map(str::to_owned);
        found.push((name, labels.collect()));
    }
    found
}

fn check(metrics: &str, place: &str, query: &str) -> usize {
    let all = series(query);
    for (name, labels) in &all {
        let has = |line: &&str| {
            let named = line.strip_prefix(name.as_str());
            named.is_some_and(|rest| rest.starts_with(['{', ' ']))
        };
        let lines: Vec<&str> = metrics.lines().filter(has).collect();
        assert!(!lines.is_empty(), "{place}: no series {name} in {query}");
        // Statuses of failures are not there on a good day.
        for label in labels.iter().filter(|label| !label.starts_with("status=")) {
            assert!(lines.iter().any(|line| line.contains(label)), "{place}: {name}, {label}");
        }
    }
    all.len()
}

/// All expressions of a value of JSON.
fn expressions(value: &serde_json::Value, into: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Array(all) => all.iter().for_each(|one| expressions(one, into)),
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "expr" || name == "query" => {
                        into.insert(text.to_owned());
                    }
                    _ => expressions(value, into),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn dashboard_alerts_and_guide_name_series_of_the_server() {
    let metrics = metrics();
    let dashboard = serde_json::from_str(&guide("terrace-grafana.json")).expect("JSON");
    let mut queries = BTreeSet::new();
    expressions(&dashboard, &mut queries);
    let of_dashboard: usize = queries.iter().map(|query| check(&metrics, "dashboard", query)).sum();
    assert!(of_dashboard > 25, "{of_dashboard} series");
    let alerts = guide("terrace-alerts.yml");
    let rules = alerts.split("- alert: ").skip(1).map(|rule| {
        let (_, query) = rule.split_once("expr:").expect("an expression");
        query.split("annotations:").next().unwrap_or_default().to_owned()
    });
    let of_alerts: Vec<usize> = rules.map(|query| check(&metrics, "alerts", &query)).collect();
    assert_eq!(of_alerts.iter().filter(|count| **count == 0).count(), 1, "`up` alone has none");
    let guide = guide("server.md");
    let of_guide: usize = guide
        .split('`')
        .filter(|word| word.starts_with("terrace_") && !word.contains(' '))
        .map(|word| match word {
            // The histogram has no series of its own name.
            "terrace_server_request_seconds" => 1,
            _ => check(&metrics, "guide", word),
        })
        .sum();
    assert!(of_guide > 8, "{of_guide} series");
    let unknown = std::panic::catch_unwind(|| check(&metrics, "none", "rate(terrace_none[5m])"));
    assert!(unknown.is_err(), "a name that no series has is found");
}
