//! [`mutated`]: an input for a decoder, made from specimens as a script says.
//!
//! A script begins with its mode:
//!
//! - 0: the input is the rest of the script. Failing inputs are kept in this form, as it does not
//!   depend on the specimens ([`as_script`]).
//! - 1 to 31: a specimen is changed, and that is the input.
//! - 32 to 255: its checksums are mended afterwards.
//!
//! A changed specimen has one to eight changes. They know about fields (integers of both byte
//! orders, varints, numbers as text), about structure (a range is removed, doubled, exchanged, or
//! comes from another specimen) and about lines of text; they know no format.

use crate::script::Script;

/// Mode of a script whose rest is the input.
const RAW: u8 = 0;
/// The first mode in which checksums are mended.
const MENDED: u8 = 32;
/// The most bytes that an input has more than its specimen.
const GROWTH_MAX: usize = 16 << 10;

/// Numbers as text at which parsers change.
const TEXTS: [&str; 16] = [
    "0",
    "-1",
    "1e999",
    "-0",
    "nan",
    "inf",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "4294967296",
    "1e-320",
    "0x7f",
    "99999999999999999999999999",
    "1.5",
    "",
    "+7",
];

/// An input, as `script` says. `mend` corrects the checksums of an input.
///
/// # Panics
/// If there are no specimens.
#[must_use]
pub fn mutated(specimens: &[Vec<u8>], script: &[u8], mend: &dyn Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut script = Script::new(script);
    let mode = script.byte();
    if mode == RAW {
        return script.rest().to_vec();
    }
    let mut input = specimens[script.below(specimens.len())].clone();
    let limit = input.len() + GROWTH_MAX;
    for _ in 0..=script.byte() % 8 {
        let other = &specimens[script.below(specimens.len())];
        change(&mut input, other, &mut script);
        input.truncate(limit);
    }
    if mode >= MENDED {
        mend(&mut input);
    }
    input
}

/// The script that makes this input.
#[must_use]
pub fn as_script(input: &[u8]) -> Vec<u8> {
    [&[RAW], input].concat()
}

/// One change. `other`: a specimen, for parts of it.
fn change(input: &mut Vec<u8>, other: &[u8], script: &mut Script<'_>) {
    let (kind, at) = (script.byte(), script.below(input.len() + 1));
    // Many formats have their fields at multiples of four.
    let at = if kind < 128 { at & !3 } else { at };
    match kind % 16 {
        0 => flip(input, at, script),
        1 => overwrite(input, at, &[script.byte()]),
        2 => {
            let number = script.number(input.len()).to_le_bytes();
            overwrite(input, at, &number[..width(script)]);
        }
        3 => {
            let number = script.number(input.len()).to_be_bytes();
            overwrite(input, at, &number[8 - width(script)..]);
        }
        4 => add(input, at, script),
        5 => {
            let old = varint_len(&input[at..]);
            let number = varint(script.number(input.len()));
            input.splice(at..at + old, number);
        }
        6 => {
            let end = at + script.below((input.len() - at).min(64) + 1);
            input.drain(at..end);
        }
        7 => {
            let end = at + script.below((input.len() - at).min(256) + 1);
            input.extend_from_within(at..end);
            let doubled = input.len() - (end - at);
            input[at..].rotate_right(end - at);
            debug_assert!(doubled >= at, "the copy stands before what it is a copy of");
        }
        8 => {
            let len = 1 + usize::from(script.byte() % 8);
            input.splice(at..at, script.bytes(len).iter().copied());
        }
        9 => {
            let part = part_of(other, script);
            input.splice(at..at, part.iter().copied());
        }
        10 => overwrite(input, at, part_of(other, script)),
        11 => input.truncate(at),
        12 => {
            let (byte, len) = (script.byte(), 1 + usize::from(script.byte()));
            input.extend(std::iter::repeat_n(byte, len));
        }
        13 => swap(input, at, script),
        14 => change_number(input, at, script),
        _ => change_line(input, at, other, script),
    }
}

fn flip(input: &mut [u8], at: usize, script: &mut Script<'_>) {
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << (script.byte() % 8);
    }
}

fn width(script: &mut Script<'_>) -> usize {
    [1, 2, 4, 8][usize::from(script.byte() % 4)]
}

/// Writes over the bytes at a place, up to the end of the input.
fn overwrite(input: &mut [u8], at: usize, bytes: &[u8]) {
    let len = bytes.len().min(input.len() - at);
    input[at..at + len].copy_from_slice(&bytes[..len]);
}

/// Adds a small number, or takes it away, in a little-endian field.
fn add(input: &mut [u8], at: usize, script: &mut Script<'_>) {
    let width = width(script).min(input.len() - at);
    let mut field = [0; 8];
    field[..width].copy_from_slice(&input[at..at + width]);
    let step = u64::from(script.byte() % 33).wrapping_sub(16);
    let sum = u64::from_le_bytes(field).wrapping_add(step);
    input[at..at + width].copy_from_slice(&sum.to_le_bytes()[..width]);
}

/// Bytes of the varint at the front.
fn varint_len(bytes: &[u8]) -> usize {
    let last = bytes.iter().position(|byte| byte & 0x80 == 0);
    last.map_or(0, |last| last + 1).min(10)
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn part_of<'a>(other: &'a [u8], script: &mut Script<'_>) -> &'a [u8] {
    let from = script.below(other.len());
    &other[from..from + script.below((other.len() - from).min(256) + 1)]
}

/// Exchanges two ranges of equal length.
fn swap(input: &mut [u8], at: usize, script: &mut Script<'_>) {
    let other = script.below(input.len() + 1);
    let (low, high) = (at.min(other), at.max(other));
    let room = (high - low).min(input.len() - high);
    let len = script.below(room.min(64) + 1);
    let (front, back) = input.split_at_mut(high);
    front[low..low + len].swap_with_slice(&mut back[..len]);
}

/// Puts another number in place of the next digits.
fn change_number(input: &mut Vec<u8>, at: usize, script: &mut Script<'_>) {
    let Some(start) = input[at..].iter().position(u8::is_ascii_digit).map(|start| at + start)
    else {
        return;
    };
    let digits = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = TEXTS[script.below(TEXTS.len())];
    input.splice(start..start + digits, text.bytes());
}

/// Removes the line at a place, doubles it, or puts a line of the other specimen before it.
fn change_line(input: &mut Vec<u8>, at: usize, other: &[u8], script: &mut Script<'_>) {
    let line = line_at(input, at);
    match script.byte() % 3 {
        0 => drop(input.drain(line)),
        1 => {
            let copy = input[line.clone()].to_vec();
            input.splice(line.start..line.start, copy);
        }
        _ => {
            let from = line_at(other, script.below(other.len()));
            input.splice(line.start..line.start, other[from].iter().copied());
        }
    }
}

/// The line that a place lies in, with its end.
fn line_at(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let len = text[start..].iter().position(|byte| *byte == b'\n');
    start..len.map_or(text.len(), |len| start + len + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::random::{Random, Rng};
    use terrace_env::test_seeds;

    #[test]
    fn an_input_is_its_own_script() {
        let input = b"any bytes".to_vec();
        assert_eq!(mutated(&[], &as_script(&input), &|_| {}), input);
    }

    #[test]
    fn checksums_are_mended_in_the_modes_that_say_so() {
        let mend = |input: &mut Vec<u8>| input.push(b'!');
        for mode in 1..=u8::MAX {
            let input = mutated(&[b"text".to_vec()], &[mode], &mend);
            assert_eq!(input.ends_with(b"!"), mode >= MENDED);
        }
    }

    #[test]
    fn every_kind_of_change_happens_and_no_script_panics() {
        let specimens =
            [b"length = 17\nname = \"one\"\n".to_vec(), vec![0x80, 1, 2, 3], Vec::new()];
        let mut made = std::collections::BTreeSet::new();
        for seed in test_seeds(20_000) {
            let mut random = Random::seeded(seed);
            let mut script = vec![0; random.random_range(0..100)];
            random.fill(&mut script[..]);
            made.insert(mutated(&specimens, &script, &|_| {}));
        }
        assert!(made.len() > 10_000, "{}", made.len());
        let has = |text: &[u8]| made.iter().any(|input| input == text);
        assert!(has(b"length = 18446744073709551616\nname = \"one\"\n"), "a number");
        assert!(has(b"name = \"one\"\n"), "a line less");
        assert!(has(b"length = 17\nlength = 17\nname = \"one\"\n"), "a line twice");
        assert!(has(&[0x80, 1, 2]) && has(&[0x80, 1, 2, 2]), "a byte less, or by one less");
    }
}
