//! Damaged lists of backups.

use terrace_env::store::FileKind;
use terrace_fuzz::{Target, fuzz};
use xxhash_rust::xxh3::xxh3_128;

use super::manifest::{Entry, Manifest, digits};

fn manifest() -> Manifest {
    let entry = |names: &[&str], path: Option<&str>, size| Entry {
        names: names.iter().map(|name| (*name).into()).collect(),
        path: path.map(Into::into),
        size,
        kind: FileKind::Client,
        sealed: true,
        level: Some(3),
        stream: 7,
        modified: 99,
        xxh3_128: digits(5),
    };
    let entries = vec![
        entry(&["a/b", "\u{e4} \"c\""], Some("files/1"), 700),
        entry(&["empty"], None, 0),
        entry(&["d"], Some("files/2"), u64::from(u32::MAX)),
    ];
    Manifest { entries }
}

/// Writes the checksum of all lines before the last one into that.
fn mend(input: &mut Vec<u8>) {
    let text = input.strip_suffix(b"\n").unwrap_or(input);
    let last = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    input.truncate(last);
    let sum = digits(xxh3_128(input));
    input.extend_from_slice(format!("{{\"xxh3_128\":\"{sum}\"}}\n").as_bytes());
}

#[test]
fn lists_of_backups() {
    let specimens = vec![manifest().text().unwrap().into_bytes()];
    let target = Target::recoding("list of a backup", specimens, |input| {
        let manifest = Manifest::parse(input).ok()?;
        let outside = |entry: &Entry| {
            let path = entry.path.as_deref().unwrap_or_default();
            path.starts_with('/') || path.split('/').any(|part| part == "..")
        };
        assert!(!manifest.entries.iter().any(outside));
        Some(manifest.text().unwrap().into_bytes())
    });
    fuzz!(target.mending(mend).with_seeds(10_000));
}
