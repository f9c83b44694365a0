//! Damaged tags of objects, as a header has them.

use terrace_fuzz::{Target, fuzz};

use super::tags::of_header;

/// Accepted tags are written with every byte in digits, and read again.
#[test]
fn tags_of_a_header() {
    let specimens = vec![b"a=b%20c&d+e=%C3%BC&f&&g=%4".to_vec(), b"key=value".to_vec()];
    let digits = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    fuzz!(Target::recoding("tags of a header", specimens, move |input| {
        let pairs = of_header(std::str::from_utf8(input).ok()?).ok()?;
        let written = pairs.iter().map(|(name, value)| digits(name) + "=" + &digits(value));
        let written = written.collect::<Vec<_>>().join("&");
        assert_eq!(of_header(&written).ok()?, pairs);
        Some(written.into_bytes())
    }));
}
