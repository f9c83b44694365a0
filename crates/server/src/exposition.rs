//! The metrics of the store in Prometheus' text format: every number of [`Stats`], by the name that
//! it has in the JSON of `terrace stats`.
//!
//! - The name is `terrace_` and the path of names that leads to the number.
//! - Numbers by cause of I/O, and waits, have the label `cause`; elements of lists have the label
//!   `level` if the list has that name, or else `index`.
//! - `true` is 1. Texts and missing values are left out.
//!
//! All are untyped: some begin at zero with the process, others with the store.

use std::fmt::Write;

use serde_json::Value;
use terrace::Stats;

/// Appends all numbers.
pub(crate) fn expose(stats: &Stats, text: &mut String) {
    // Numbers and texts always have a form in JSON.
    let value = serde_json::to_value(stats).unwrap_or_default();
    walk("terrace", &mut Vec::new(), &value, text);
}

fn walk(name: &str, labels: &mut Vec<(&'static str, String)>, value: &Value, text: &mut String) {
    let number = match value {
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => u8::from(*is).to_string(),
        Value::Object(fields) => {
            let causes = fields.contains_key("superblock") || name.ends_with("waits");
            let causes = causes && labels.iter().all(|(label, _)| *label != "cause");
            for (field, value) in fields {
                if causes {
                    labels.push(("cause", field.clone()));
                    walk(name, labels, value, text);
                    labels.pop();
                } else {
                    walk(&format!("{name}_{field}"), labels, value, text);
                }
            }
            return;
        }
        Value::Array(elements) => {
            let label =
                if name.ends_with("level") || name.ends_with("levels") { "level" } else { "index" };
            for (index, value) in elements.iter().enumerate() {
                labels.push((label, index.to_string()));
                walk(name, labels, value, text);
                labels.pop();
            }
            return;
        }
        Value::Null | Value::String(_) => return,
    };
    let labels: Vec<String> =
        labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
    let _ = match labels.is_empty() {
        true => writeln!(text, "{name} {number}"),
        false => writeln!(text, "{name}{{{}}} {number}", labels.join(",")),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_have_their_path_as_a_name_and_causes_and_levels_as_labels() {
        let value = json!({
            "io": { "reads": { "superblock": 1, "journal": 2 } },
            "levels": [{ "runs": 3 }],
            "waits": { "flush": { "count": 4 } },
            "failure": null, "stopped": true, "system": "sliced",
        });
        let mut text = String::new();
        walk("terrace", &mut Vec::new(), &value, &mut text);
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "terrace_io_reads{cause=\"journal\"} 2",
                "terrace_io_reads{cause=\"superblock\"} 1",
                "terrace_levels_runs{level=\"0\"} 3",
                "terrace_stopped 1",
                "terrace_waits_count{cause=\"flush\"} 4",
            ]
        );
    }
}
