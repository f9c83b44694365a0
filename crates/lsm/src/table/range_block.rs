//! Codec of the range block: a table's range tombstones, as fragments. The layout is
//! `docs/format/table.md`.
//!
//! - The encoder must get at least one fragment, in key order and without overlap; it does not
//!   check that.
//! - The decoder takes contents whose frame was verified. It checks that there is a fragment, the
//!   lengths of bounds, that fragments are in order and not empty, and that the sequence numbers of
//!   each one descend.
//!
//! No locks and no I/O.

use terrace_env::SeqNo;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_policy::{Key, Span};

use crate::key::{BOUND_BYTES_MAX, SPACE_BYTES};
use crate::ranges::{Fragment, Fragments};

/// The contents of the block. There is at least one fragment.
pub(crate) fn encode(fragments: &Fragments) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = fragments.iter().count();
    bytes.put_u32(u32::try_from(count).expect("fragments of one table"));
    let mut last: Option<&Key> = None;
    for Fragment { span, sequences } in fragments.iter() {
        let start = if last == Some(&span.start) { &[][..] } else { &span.start[..] };
        for bound in [start, &span.end[..]] {
            bytes.put_varint(bound.len() as u64);
            bytes.put(bound);
        }
        bytes.put_varint(sequences.len() as u64);
        let mut newer = 0;
        for (nth, sequence) in sequences.iter().enumerate() {
            bytes.put_varint(if nth == 0 { sequence.0 } else { newer - sequence.0 });
            newer = sequence.0;
        }
        last = Some(&span.end);
    }
    bytes
}

pub(crate) fn decode(contents: &[u8]) -> Result<Fragments, DecodeError> {
    let mut reader = Reader::new(contents);
    let count = reader.u32("fragments")?;
    if count == 0 {
        return Err(reader.wrong("fragments", 4, "at least 1", 0));
    }
    let mut fragments: Vec<Fragment> = Vec::new();
    for _ in 0..count {
        let last = fragments.last().map(|fragment| &fragment.span.end);
        let start = match read_bound(&mut reader, "fragment start")? {
            None => last.cloned(),
            Some(start) => Some(start.into()),
        };
        let end = read_bound(&mut reader, "fragment end")?;
        let (Some(start), Some(end)) = (start, end) else {
            return Err(reader.wrong("fragment", 0, "a start and an end", u64::from(count)));
        };
        let span = Span::new(start, end);
        if span.is_empty() || last.is_some_and(|last| *last > span.start) {
            return Err(reader.wrong("fragment", 0, "fragments in order", u64::from(count)));
        }
        let sequences = read_sequences(&mut reader)?;
        fragments.push(Fragment { span, sequences });
    }
    reader.finish("range block")?;
    Ok(Fragments::new(fragments))
}

fn read_bound<'a>(
    reader: &mut Reader<'a>,
    field: &'static str,
) -> Result<Option<&'a [u8]>, DecodeError> {
    let length = reader.varint(field)?;
    match usize::try_from(length) {
        Ok(0) => Ok(None),
        Ok(length) if (SPACE_BYTES..=SPACE_BYTES + BOUND_BYTES_MAX).contains(&length) => {
            reader.bytes(field, length).map(Some)
        }
        _ => Err(reader.wrong(field, 1, "4 to 65,540 bytes", length)),
    }
}

fn read_sequences(reader: &mut Reader<'_>) -> Result<Vec<SeqNo>, DecodeError> {
    let count = reader.varint("sequences")?;
    if count == 0 || count > reader.remaining() as u64 {
        return Err(reader.wrong("sequences", 1, "1 or more that fit the block", count));
    }
    let newest = reader.varint("newest sequence")?;
    if newest > SeqNo::MAX.0 {
        return Err(reader.wrong("newest sequence", 1, "at most 56 bits", newest));
    }
    let mut sequences = vec![SeqNo(newest)];
    let mut older = newest;
    for _ in 1..count {
        let step = reader.varint("sequence")?;
        older = match older.checked_sub(step).filter(|_| step > 0) {
            Some(older) => older,
            None => return Err(reader.wrong("sequence", 1, "a smaller one", step)),
        };
        sequences.push(SeqNo(older));
    }
    Ok(sequences)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::damaged;

    #[test]
    fn fragments_read_back_and_no_damage_makes_them_panic() {
        let fragment = |start: &str, end: &str, sequences: &[u64]| Fragment {
            span: Span::new(start.as_bytes(), end.as_bytes()),
            sequences: sequences.iter().copied().map(SeqNo).collect(),
        };
        let fragments = Fragments::new(vec![
            fragment("\0\0\0\0", "\0\0\0\0b", &[SeqNo::MAX.0, 7, 1]),
            fragment("\0\0\0\0b", "\0\0\0\0c", &[200]),
            fragment("\0\0\0\0d", "\0\0\0\u{1}", &[300, 0]),
        ]);
        let bytes = encode(&fragments);
        assert_eq!(decode(&bytes).as_ref(), Ok(&fragments));
        for (what, specimen) in damaged(&bytes) {
            if let Ok(other) = decode(&specimen) {
                assert!(what.starts_with("bit"), "{what}");
                assert_ne!(other, fragments, "{what}");
            }
        }
        assert!(decode(&[&bytes[..], &[0]].concat()).is_err());
        assert!(decode(&[0; 4]).is_err());
    }
}
