//! Damaged bytes that the store keeps for deciders: histograms of tables, and states of systems.

use terrace_fuzz::{Target, fuzz};

use crate::histogram::Histogram;
use crate::pointers::Pointers;

#[test]
fn histograms() {
    let keys = [&b"\0\0\0\0a"[..], b"\0\0\0\0ab", b"\0\0\0\x01", &[0xff; 300]];
    let specimens =
        [&keys[..0], &keys[..1], &keys].map(|keys| Histogram::new(keys.iter().copied()));
    let specimens = specimens.map(|histogram| histogram.as_bytes().to_vec()).to_vec();
    fuzz!(Target::recoding("histogram", specimens, |input| {
        let histogram = Histogram::from_bytes(input)?;
        assert!(histogram.keys().is_sorted_by(|a, b| a < b));
        assert_eq!(Histogram::new(histogram.keys()), histogram);
        Some(histogram.as_bytes().to_vec())
    }));
}

/// A state that is not understood is none, whatever the number of levels.
#[test]
fn pointers_of_levels() {
    let pointers = (0..3).fold(Pointers::decode(b"", 4), |pointers, level| {
        pointers.moved(level, &[b'a'; 9][..3 * level])
    });
    fuzz!(Target::recoding("pointers of levels", vec![pointers.encode()], |input| {
        let all = Pointers::all(input);
        if all.is_empty() && input.get(1) != Some(&0) {
            assert_eq!(Pointers::decode(input, 3), Pointers::decode(b"", 3));
            return None;
        }
        Some(Pointers::decode(input, all.len()).encode())
    }));
}
