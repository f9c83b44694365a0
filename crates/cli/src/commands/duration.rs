//! A time as one types it: a number with a unit of `ns` to `d`, or of seconds without one.

use std::time::Duration;

use terrace_lab::arrivals::parse_time;

/// Reads a time, for an option.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    // Clap says which option it was.
    parse_time("", text).map_err(|error| error.to_string().trim_start_matches(": ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_up_to_days_and_an_error_tells_of_examples() {
        for (text, expected) in [
            ("90min", Duration::from_secs(5400)),
            ("30d", Duration::from_secs(30 * 86_400)),
            ("1.5h", Duration::from_secs(5400)),
            ("250ms", Duration::from_millis(250)),
            ("60", Duration::from_secs(60)),
        ] {
            assert_eq!(duration(text), Ok(expected), "{text}");
        }
        for text in ["", "soon", "-1s", "0", "3 weeks"] {
            assert!(duration(text).unwrap_err().contains("30d"), "{text}");
        }
    }
}
