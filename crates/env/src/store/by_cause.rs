//! Serialises counts by [`Cause`] with serde: an array in the program, a map in the text. In JSON
//! it is an object with a field for each cause, by name. Use it as `#[serde(with = "by_cause")]`.
//!
//! When a map is read, a cause that is missing counts as 0, and an unknown name is an error.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use crate::Cause;

type Counts = [u64; Cause::ALL.len()];

pub(super) fn serialize<S: Serializer>(counts: &Counts, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(Cause::ALL.iter().map(|cause| (cause.name(), counts[*cause as usize])))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Counts, D::Error> {
    let mut counts = Counts::default();
    for (name, count) in BTreeMap::<String, u64>::deserialize(from)? {
        let cause = Cause::ALL.into_iter().find(|cause| cause.name() == name);
        let cause = cause.ok_or_else(|| {
            D::Error::custom(format!("expected counts by cause, found one of `{name}`"))
        })?;
        counts[cause as usize] = count;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::super::IoCounts;
    use super::*;

    #[test]
    fn counts_by_cause_have_names_and_read_back() {
        let mut counts = IoCounts::default();
        counts.written_bytes[Cause::Log as usize] = 7;
        let text = serde_json::to_string(&counts).unwrap();
        assert!(text.contains(r#""log":7"#) && !text.contains('['), "{text}");
        assert_eq!(serde_json::from_str::<IoCounts>(&text).unwrap(), counts);
        let wrong = text.replace("\"log\"", "\"lgo\"");
        assert!(serde_json::from_str::<IoCounts>(&wrong).is_err());
    }
}
