//! Values in the query of a target, and in headers that are encoded like one.

/// A value without its encoding: `+` is a space, and `%41` is `A`. A `%` without two digits stays.
/// `None` if the result is not UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        // A sign is no digit, but a number in Rust may have one.
        let hex = |bytes: &[u8]| {
            let digits = bytes.iter().all(u8::is_ascii_hexdigit).then_some(bytes)?;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        match (first, after.get(..2).and_then(hex)) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Names and encoded values of the parameters of a query.
pub(crate) fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        assert_eq!(decoded("a+b%20c%2B%").as_deref(), Some("a b c+%"));
        assert_eq!(decoded("%C3%bc%+1%4").as_deref(), Some("ü% 1%4"));
        assert_eq!(decoded("%FF"), None);
    }

    #[test]
    fn a_parameter_may_have_no_value() {
        let found: Vec<_> = parameters("a=1&&b&c==").collect();
        assert_eq!(found, [("a", "1"), ("b", ""), ("c", "=")]);
    }
}
