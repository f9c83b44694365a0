//! Parses sizes of keys and values from the command line, and prints them. [`parse`] takes one size
//! below 4 GiB, such as `4KiB`, or a distribution in bytes, such as `16-64` or `16-64/1.5`.
//! [`of_keys`] and [`of_values`] check that the smallest and the largest size are within the limits
//! of keys, or of values.

use serde::Serializer;
use terrace::{ByteCount, KEY_BYTES_MAX};
use terrace_lab::workload::{KEY_SIZE_MIN, Sizes, VALUE_SIZE_MAX, VALUE_SIZE_MIN};

use super::command::within;
use crate::failure::Failure;

/// One size, as everywhere, or a distribution in bytes.
pub(super) fn parse(text: &str) -> Result<Sizes, String> {
    if let Ok(ByteCount(size)) = text.parse() {
        let size =
            u32::try_from(size).map_err(|_| format!("expected less than 4 GiB, found {text}"))?;
        return Ok(Sizes::Constant(size));
    }
    text.parse().map_err(|error: terrace_lab::workload::NoSizes| error.to_string())
}

/// Sizes that keys can have.
pub(super) fn of_keys(sizes: Sizes) -> Result<Sizes, Failure> {
    within_limits("key size", sizes, KEY_SIZE_MIN as u64, KEY_BYTES_MAX as u64)
}

/// Sizes that values can have.
pub(super) fn of_values(sizes: Sizes) -> Result<Sizes, Failure> {
    within_limits("value size", sizes, VALUE_SIZE_MIN as u64, VALUE_SIZE_MAX as u64)
}

fn within_limits(what: &str, sizes: Sizes, least: u64, most: u64) -> Result<Sizes, Failure> {
    within(what, u64::from(sizes.min()), least, most)?;
    within(what, u64::from(sizes.max()), least, most)?;
    Ok(sizes)
}

/// The sizes in words.
pub(super) fn describe(sizes: Sizes) -> String {
    match sizes {
        Sizes::Constant(size) => ByteCount(size.into()).to_string(),
        drawn => format!("{drawn} bytes"),
    }
}

/// The sizes for programs: a number, or a text where there are several.
pub(super) fn serialize<S: Serializer>(sizes: &Sizes, serializer: S) -> Result<S::Ok, S::Error> {
    match sizes {
        Sizes::Constant(size) => serializer.serialize_u32(*size),
        drawn => serializer.collect_str(drawn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_units_or_as_distributions() {
        assert_eq!(parse("4KiB"), Ok(Sizes::Constant(4096)));
        assert_eq!(parse("16-64"), Ok(Sizes::Uniform(16, 64)));
        assert_eq!(parse("16-64/1.5"), Ok(Sizes::Pareto(16, 64, 1.5)));
        assert!(parse("16-").unwrap_err().contains("found `16-`"));
        assert!(parse("4GiB").is_err());
        of_keys(Sizes::Uniform(8, 64)).unwrap_err();
        of_values(Sizes::Uniform(8, 1 << 25)).unwrap_err();
        of_values(Sizes::Uniform(8, 1 << 20)).unwrap();
    }
}
