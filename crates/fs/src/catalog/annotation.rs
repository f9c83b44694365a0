//! The codec of annotations.

use std::sync::{Arc, LazyLock};

use terrace_env::ByteCount;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{Annotation, KeyRange, Lifetime, PlacementHint};

const HAS_LEVEL: u8 = 1;
const HAS_KEYS: u8 = 2;

/// Appends an annotation's bytes.
pub(super) fn encode_annotation(annotation: &Annotation, to: &mut impl Writer) {
    let PlacementHint { level, stream, lifetime, keys } = &annotation.hint;
    let flags = if level.is_some() { HAS_LEVEL } else { 0 };
    to.put_u8(flags | if keys.is_some() { HAS_KEYS } else { 0 });
    to.put_u8(level.unwrap_or(0));
    to.put_u16(*stream);
    to.put_u8(match lifetime {
        Lifetime::Unknown => 0,
        Lifetime::Short => 1,
        Lifetime::Medium => 2,
        Lifetime::Long => 3,
        Lifetime::Extreme => 4,
    });
    to.put_u64(annotation.dead.0);
    if let Some(keys) = keys {
        to.put_prefixed(&keys.first);
        to.put_prefixed(&keys.last);
    }
    to.put_prefixed(&annotation.opaque);
}

/// Reads an annotation. Empty ones share one allocation: a million files often have nothing to say.
pub(super) fn decode_annotation(from: &mut Reader<'_>) -> Result<Arc<Annotation>, DecodeError> {
    static EMPTY: LazyLock<Arc<Annotation>> = LazyLock::new(Arc::default);
    let flags = from.u8("annotation flags")?;
    if flags & !(HAS_LEVEL | HAS_KEYS) != 0 {
        return Err(from.wrong("annotation flags", 1, "bits 0 and 1 only", flags.into()));
    }
    let level = from.u8("level")?;
    if flags & HAS_LEVEL == 0 && level != 0 {
        return Err(from.wrong("level", 1, "0 where there is none", level.into()));
    }
    let level = (flags & HAS_LEVEL != 0).then_some(level);
    let stream = from.u16("stream")?;
    let lifetime = match from.u8("lifetime")? {
        0 => Lifetime::Unknown,
        1 => Lifetime::Short,
        2 => Lifetime::Medium,
        3 => Lifetime::Long,
        4 => Lifetime::Extreme,
        other => return Err(from.wrong("lifetime", 1, "0 to 4", other.into())),
    };
    let dead = ByteCount(from.u64("dead bytes")?);
    let keys = if flags & HAS_KEYS == 0 {
        None
    } else {
        let first = from.prefixed("first key")?.to_vec();
        Some(KeyRange { first, last: from.prefixed("last key")?.to_vec() })
    };
    let opaque = from.prefixed("opaque annotation")?.to_vec();
    let hint = PlacementHint { level, stream, lifetime, keys };
    let annotation = Annotation { hint, dead, opaque };
    Ok(if annotation == **EMPTY { Arc::clone(&EMPTY) } else { Arc::new(annotation) })
}
