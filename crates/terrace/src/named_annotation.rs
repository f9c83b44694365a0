//! The annotation of a file with names: its time of modification and, if the file was cut, its
//! length. `docs/format/annotation.md` has the bytes.
//!
//! A sealed file is cut by this length and a trim, without a copy of its bytes. The store still
//! reports the sealed length; [`as_named`] replaces it. A file without names belongs to an engine,
//! and its annotation is not read here.

use terrace_env::store::{Annotation, FileInfo, PlacementHint};

/// Bytes of the time of modification.
const TIME: usize = 8;

/// The time of modification in an annotation; 0 if there is none.
pub fn modified(annotation: &Annotation) -> u64 {
    number(annotation.opaque.get(..TIME)).unwrap_or(0)
}

/// The annotation of a file that was not cut.
pub(crate) fn annotation(hint: PlacementHint, modified: u64) -> Annotation {
    Annotation { hint, opaque: modified.to_le_bytes().to_vec() }
}

/// The annotation of a file that is cut to its first `size` bytes.
pub(crate) fn cut_annotation(of: &Annotation, size: u64) -> Annotation {
    let opaque = [modified(of).to_le_bytes(), size.to_le_bytes()].concat();
    Annotation { hint: of.hint, opaque }
}

/// A file for users of names: with the length of its cut.
pub(crate) fn as_named(mut info: FileInfo) -> FileInfo {
    if info.sealed && !info.names.is_empty() {
        let cut = number(info.annotation.opaque.get(TIME..));
        info.size = cut.map_or(info.size, |cut| cut.min(info.size));
    }
    info
}

/// The number in exactly eight bytes.
fn number(bytes: Option<&[u8]>) -> Option<u64> {
    bytes?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use terrace_env::FileId;
    use terrace_env::store::FileKind;

    use super::*;

    fn info(annotation: Annotation, sealed: bool, name: &str) -> FileInfo {
        let names = (!name.is_empty()).then(|| name.to_owned()).into_iter().collect();
        let annotation = Arc::new(annotation);
        FileInfo { id: FileId(1), kind: FileKind::Table, size: 100, sealed, annotation, names }
    }

    #[test]
    fn a_length_counts_only_for_sealed_files_with_names_and_never_makes_them_longer() {
        let whole = annotation(PlacementHint::default(), 7);
        let cut = cut_annotation(&whole, 30);
        assert_eq!((modified(&whole), modified(&cut)), (7, 7));
        // The bytes of the format's page, for ever.
        assert_eq!(whole.opaque, [7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(cut.opaque, [7, 0, 0, 0, 0, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(modified(&Annotation::default()), 0);
        assert_eq!(as_named(info(whole.clone(), true, "a")).size, 100);
        assert_eq!(as_named(info(cut.clone(), true, "a")).size, 30);
        assert_eq!(as_named(info(cut.clone(), false, "a")).size, 100, "is written again");
        assert_eq!(as_named(info(cut.clone(), true, "")).size, 100, "of an engine");
        assert_eq!(as_named(info(cut_annotation(&cut, u64::MAX), true, "a")).size, 100);
        // Other lengths are those of an engine, or of damage.
        let odd = Annotation { opaque: vec![1; 15], ..whole };
        assert_eq!(as_named(info(odd, true, "a")).size, 100);
    }
}
