//! [`KeyScale`]: the place of a full key between the smallest and the largest one, from 0 to
//! [`KeyScale::END`].
//!
//! 1. Keys are added. The bytes that all of them begin with are skipped.
//! 2. Each of the next [`DIGITS`] bytes is a digit, whose base is the range of the bytes that keys
//!    have there. So decimal numbers, which use ten bytes of 256, are spread evenly.
//! 3. The place of a key is that of its number between the numbers of the smallest and the largest
//!    key.
//!
//! Places keep the order of the keys that were added. Keys that differ after the digits have one
//! place.

/// Bytes of a key that its place depends on.
const DIGITS: usize = 12;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyScale {
    /// The smallest and the largest key; the common begin is a part of both.
    ends: Option<(Vec<u8>, Vec<u8>)>,
    common: usize,
    /// The smallest and the largest byte at each place, for the whole of the key.
    bytes: Vec<(u8, u8)>,
}

impl KeyScale {
    /// The place of the largest key.
    pub const END: u16 = u16::MAX;

    /// Adds a key; whether places of keys may have changed.
    pub fn add(&mut self, key: &[u8]) -> bool {
        let mut changed = false;
        match &mut self.ends {
            None => {
                (self.ends, self.common) = (Some((key.to_vec(), key.to_vec())), key.len());
                changed = true;
            }
            Some((least, most)) => {
                let same = least.iter().zip(key).take_while(|(one, other)| one == other).count();
                if same < self.common {
                    (self.common, changed) = (same, true);
                }
                if key < &least[..] {
                    (*least, changed) = (key.to_vec(), true);
                }
                if key > &most[..] {
                    (*most, changed) = (key.to_vec(), true);
                }
            }
        }
        for (at, byte) in key.iter().enumerate().take(self.common + DIGITS) {
            match self.bytes.get_mut(at) {
                None => {
                    self.bytes.push((*byte, *byte));
                    changed = true;
                }
                Some((least, most)) if byte < least || byte > most => {
                    (*least, *most) = ((*least).min(*byte), (*most).max(*byte));
                    changed = true;
                }
                Some(_) => {}
            }
        }
        changed
    }

    /// The place of a key.
    #[must_use]
    pub fn place(&self, key: &[u8]) -> u16 {
        let Some((least, most)) = &self.ends else { return 0 };
        let (least, most) = (self.number(least), self.number(most));
        if most <= least {
            return 0;
        }
        let share = (self.number(key) - least) / (most - least);
        (share.clamp(0.0, 1.0) * f64::from(Self::END)).round() as u16
    }

    /// The number of a key, from 0 to 1.
    fn number(&self, key: &[u8]) -> f64 {
        let (mut share, mut unit) = (0.0_f64, 1.0_f64);
        for at in self.common..(self.common + DIGITS).min(self.bytes.len()) {
            let (least, most) = self.bytes[at];
            let base = f64::from(most - least) + 1.0;
            unit /= base;
            let Some(byte) = key.get(at) else { break };
            if *byte > most {
                return share + unit * base;
            }
            if *byte < least {
                break;
            }
            share += unit * f64::from(byte - least);
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_keys_are_spread_evenly_and_keep_their_order() {
        let key = |number: u32| format!("space/{number:08}").into_bytes();
        let mut scale = KeyScale::default();
        assert!(scale.add(&key(0)));
        for number in 0..100 {
            scale.add(&key(number * 1_010_101));
        }
        assert!(!scale.add(&key(5_000_000)));
        let places: Vec<u16> = (0..=10).map(|n| scale.place(&key(n * 9_999_999))).collect();
        let half = f64::from(scale.place(&key(50_000_000))) / f64::from(KeyScale::END);
        assert!((half - 0.5).abs() < 0.001, "{half}");
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!((places[0], scale.place(b"space/999999")), (0, KeyScale::END));
    }

    #[test]
    fn a_key_out_of_the_range_is_at_an_end_and_one_key_has_a_place() {
        let mut scale = KeyScale::default();
        assert_eq!(scale.place(b"any"), 0);
        scale.add(b"b");
        assert_eq!(scale.place(b"b"), 0);
        scale.add(b"d");
        assert_eq!((scale.place(b"a"), scale.place(b"zz")), (0, KeyScale::END));
        assert!(scale.place(b"c") > scale.place(b"b"));
    }
}
