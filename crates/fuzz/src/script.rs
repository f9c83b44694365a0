//! [`Script`]: the bytes that direct a mutation, read one choice after the other.
//!
//! A script never ends: after its last byte it reads zeros. So every sequence of bytes is a script,
//! and a script that is cut off still means the same up to there.

/// Numbers at which formats and their checks change.
const BORDERS: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// A reader of choices.
pub(crate) struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// All bytes that have not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Up to `len` bytes; fewer at the end.
    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A number below `end`; 0 if that is 0. Takes as few bytes as can hold `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let mut number = 0;
        let mut range = end.saturating_sub(1);
        while range > 0 {
            number = number << 8 | usize::from(self.byte());
            range >>= 8;
        }
        number % end.max(1)
    }

    /// A number for a field: a border, a value near a border, near `near`, or any.
    pub(crate) fn number(&mut self, near: usize) -> u64 {
        let choice = self.byte();
        match choice % 4 {
            0 => BORDERS[self.below(BORDERS.len())],
            1 => {
                let border = BORDERS[self.below(BORDERS.len())];
                border.wrapping_add(u64::from(self.byte() % 9)).wrapping_sub(4)
            }
            2 => (near as u64).wrapping_add(u64::from(self.byte() % 33)).wrapping_sub(16),
            _ => {
                let mut number = [0; 8];
                let bytes = self.bytes(1 + usize::from(choice >> 2) % 8);
                number[..bytes.len()].copy_from_slice(bytes);
                u64::from_le_bytes(number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_lie_in_their_range_and_a_script_never_ends() {
        let bytes: Vec<u8> = (0..=255).collect();
        for end in [0, 1, 2, 255, 256, 257, 65_536, 65_537] {
            let mut script = Script::new(&bytes);
            for _ in 0..300 {
                assert!(script.below(end) < end.max(1));
            }
            script.bytes(bytes.len());
            assert_eq!((script.byte(), script.bytes(3)), (0, &[][..]));
        }
    }

    #[test]
    fn every_place_of_a_range_can_be_chosen() {
        let mut seen = [false; 300];
        for number in 0..=u16::MAX {
            seen[Script::new(&number.to_be_bytes()).below(300)] = true;
        }
        assert!(seen.iter().all(|seen| *seen));
    }
}
