//! [`settings_of`]: a hash of the settings that the value of a claim depends on.
//!
//! It covers the claim's quantity and the experiment's file without its texts, plots and claims,
//! without the list of its systems, and without the variants that the quantity does not name. So
//! a system, a variant or a claim that is added leaves the hashes of the other claims as they are.
//! It does not cover the engine.

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::{Claim, library};

/// Fields of the file that do not change the runs that a claim is about.
const OTHER_FIELDS: [&str; 6] = ["title", "source", "about", "plot", "claim", "systems"];

/// The hash, of a claim of an experiment that comes with the project; `None` for any other
/// experiment.
#[must_use]
pub fn settings_of(experiment: &str, claim: &Claim) -> Option<String> {
    Some(hash(library::text_of(experiment)?, claim))
}

fn hash(text: &str, claim: &Claim) -> String {
    let mut table: toml::Table = text.parse().expect("an experiment that was read");
    table.retain(|field, _| !OTHER_FIELDS.contains(&field));
    if let Some(variants) = table.get_mut("variant").and_then(toml::Value::as_array_mut) {
        variants.retain(|variant| {
            let name = variant.get("name").and_then(toml::Value::as_str);
            name.is_some_and(|name| claim.is_about(name))
        });
        for variant in variants {
            variant.as_table_mut().expect("a variant").remove("systems");
        }
    }
    let settings = Settings { quantity: claim.quantity.to_string(), table };
    let json = serde_json::to_string(&settings).expect("plain values");
    format!("{:016x}", xxh3_64(json.as_bytes()))
}

#[derive(Serialize)]
struct Settings {
    quantity: String,
    table: toml::Table,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    #[test]
    fn only_settings_that_a_claim_depends_on_change_its_hash() {
        let text = include_str!("test.toml");
        let claim =
            |text: &str| Experiment::parse("test", "test.toml", text).unwrap().claims.remove(0);
        let of = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            let text = text.replacen(from, to, 1);
            hash(&text, &claim(&text))
        };
        let before = hash(text, &claim(text));
        let other = "[[variant]]\nname = \"other\"\n\n[[variant]]\nname = \"small\"";
        for (from, to) in [
            ("title = \"Every", "title = \"Each"),
            ("\"bluefs:free_min=5\", ", "\"bluefs:free_min=5\", \"bluefs:free_min=9\", "),
            ("[[variant]]\nname = \"small\"", other),
            ("published = 0.5", "published = 0.6"),
            ("title = \"lines\"", "title = \"other lines\""),
        ] {
            assert_eq!(of(from, to), before, "{from} -> {to}");
        }
        for (from, to) in [
            ("operations = 1000", "operations = 1001"),
            ("\"4MiB\"", "\"8MiB\""),
            ("memory = \"1GiB\"", "memory = \"2GiB\""),
            ("reaches = 0.7", "reaches = 0.8"),
        ] {
            assert_ne!(of(from, to), before, "{from} -> {to}");
        }
    }
}
