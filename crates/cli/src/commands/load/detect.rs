//! [`detect`]: the format of an input, by its name or by its first line.
//!
//! The name decides if it ends with a known suffix. Without one, a line that begins with `{` is
//! JSON, and a line with a tab is tab-separated text. Nothing else is guessed: a line with commas
//! may be text that lacks its tab, so comma-separated values need their suffix or `--format csv`.

use std::path::Path;

use super::format::Format;

/// The format of an input of this name that begins with this line; [`Format::Tsv`] if nothing
/// tells; its reader then names the expected form.
pub(super) fn detect(name: &Path, first_line: &[u8]) -> Format {
    let suffix = name.extension().and_then(|suffix| suffix.to_str());
    match suffix.map(str::to_ascii_lowercase).as_deref() {
        Some("csv") => Format::Csv,
        Some("json" | "jsonl" | "ndjson") => Format::Json,
        Some("tsv") => Format::Tsv,
        _ => {
            let text = first_line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first_line);
            let text = text.trim_ascii_start();
            if text.starts_with(b"{") && !text.contains(&b'\t') {
                Format::Json
            } else {
                Format::Tsv
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_before_the_first_line() {
        for (name, line, format) in [
            ("a.csv", &b"{\"key\":1}"[..], Format::Csv),
            ("A.CSV", b"a\tb", Format::Csv),
            ("a.jsonl", b"a\tb", Format::Json),
            ("a.json", b"", Format::Json),
            ("a.tsv", b"{", Format::Tsv),
            ("standard input", b"{\"key\":\"a\"}", Format::Json),
            ("a.txt", b"\xef\xbb\xbf {\"key\":\"a\"}", Format::Json),
            ("a.txt", b"{a}\tv", Format::Tsv),
            ("a.txt", b"a,b", Format::Tsv),
            ("a", b"", Format::Tsv),
        ] {
            assert!(detect(Path::new(name), line) == format, "{name}");
        }
    }
}
