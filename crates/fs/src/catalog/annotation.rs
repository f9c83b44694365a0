//! Codec of annotations, which a store keeps with a file for its owner. In order: flags, the level
//! and the stream, which placement understands; then the length of the owner's opaque bytes, and
//! these bytes. Decoding refuses unknown flags, a level other than 0 where the flags say that there
//! is none, and bytes that end before the annotation does.

use std::sync::{Arc, LazyLock};

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{Annotation, PlacementHint};

const HAS_LEVEL: u8 = 1;

/// Appends an annotation's bytes.
pub(super) fn encode_annotation(annotation: &Annotation, to: &mut impl Writer) {
    let PlacementHint { level, stream } = annotation.hint;
    to.put_u8(if level.is_some() { HAS_LEVEL } else { 0 });
    to.put_u8(level.unwrap_or(0));
    to.put_u16(stream);
    to.put_prefixed(&annotation.opaque);
}

/// Reads an annotation. Empty ones share one allocation: a million files often have nothing to say.
pub(super) fn decode_annotation(from: &mut Reader<'_>) -> Result<Arc<Annotation>, DecodeError> {
    static EMPTY: LazyLock<Arc<Annotation>> = LazyLock::new(Arc::default);
    let flags = from.u8("annotation flags")?;
    if flags & !HAS_LEVEL != 0 {
        return Err(from.wrong("annotation flags", 1, "bit 0 only", flags.into()));
    }
    let level = from.u8("level")?;
    if flags & HAS_LEVEL == 0 && level != 0 {
        return Err(from.wrong("level", 1, "0 where there is none", level.into()));
    }
    let level = (flags & HAS_LEVEL != 0).then_some(level);
    let stream = from.u16("stream")?;
    let opaque = from.prefixed("opaque annotation")?.to_vec();
    let annotation = Annotation { hint: PlacementHint { level, stream }, opaque };
    Ok(if annotation == **EMPTY { Arc::clone(&EMPTY) } else { Arc::new(annotation) })
}
