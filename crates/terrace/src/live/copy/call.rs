//! [`Call`]: calls of the owner to the target of a checkpoint, and [`TargetInfo`], the answer to
//! the first one. `docs/live.md` has the bytes.

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{Annotation, Change, FileKind, PlacementHint, Transaction};
use terrace_env::{ByteCount, FileId};

/// A call. Those with an answer say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Asks for the target's files. Answer: a [`TargetInfo`].
    Describe,
    /// Makes a file. Answer: its number.
    Create { kind: FileKind, hint: PlacementHint, size: u64 },
    /// Appends to a file.
    Append { file: FileId, bytes: Vec<u8> },
    /// Ends a file. Answer: nothing.
    Finish { file: FileId },
    /// A piece of a transaction.
    CommitPart { bytes: Vec<u8> },
    /// Commits the pieces. Answer: nothing.
    Commit,
    /// Progress of the copy.
    Progress { done: ByteCount, all: ByteCount },
    /// Asks for a piece of a [`TargetInfo`] with the annotations of its files. Answer: its bytes
    /// from `offset` on, none at its end.
    DescribeWhole { offset: u64 },
    /// Reads from a file of the target. Answer: all `size` bytes.
    Read { file: FileId, offset: u64, size: u32 },
}

impl Call {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Self::Describe => to.put_u8(1),
            Self::Create { kind, hint, size } => {
                to.put_u8(2);
                to.put_u8(number_of(*kind));
                put_hint(&mut to, *hint);
                to.put_u64(*size);
            }
            Self::Append { file, bytes } => {
                to.put_u8(3);
                to.put_u64(file.0);
                to.put(bytes);
            }
            Self::Finish { file } => {
                to.put_u8(4);
                to.put_u64(file.0);
            }
            Self::CommitPart { bytes } => {
                to.put_u8(5);
                to.put(bytes);
            }
            Self::Commit => to.put_u8(6),
            Self::Progress { done, all } => {
                to.put_u8(7);
                to.put_u64(done.0);
                to.put_u64(all.0);
            }
            Self::DescribeWhole { offset } => {
                to.put_u8(8);
                to.put_u64(*offset);
            }
            Self::Read { file, offset, size } => {
                to.put_u8(9);
                to.put_u64(file.0);
                to.put_u64(*offset);
                to.put_u32(*size);
            }
        }
        to
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader::new(bytes);
        let call = match from.u8("call")? {
            1 => Self::Describe,
            2 => Self::Create {
                kind: kind(&mut from)?,
                hint: hint(&mut from)?,
                size: from.u64("size")?,
            },
            3 => {
                let file = FileId(from.u64("file")?);
                let bytes = from.bytes("bytes", from.remaining())?.to_vec();
                Self::Append { file, bytes }
            }
            4 => Self::Finish { file: FileId(from.u64("file")?) },
            5 => Self::CommitPart { bytes: from.bytes("bytes", from.remaining())?.to_vec() },
            6 => Self::Commit,
            7 => Self::Progress {
                done: ByteCount(from.u64("done")?),
                all: ByteCount(from.u64("all")?),
            },
            8 => Self::DescribeWhole { offset: from.u64("offset")? },
            9 => Self::Read {
                file: FileId(from.u64("file")?),
                offset: from.u64("offset")?,
                size: from.u32("size")?,
            },
            other => return Err(from.wrong("call", 1, "a number from 1 to 9", other.into())),
        };
        from.finish("call")?;
        Ok(call)
    }
}

/// The target's state for a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TargetInfo {
    pub(super) files: Vec<TargetFile>,
    /// The store's own annotation.
    pub(super) own: Annotation,
}

/// A file of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TargetFile {
    pub(super) id: FileId,
    pub(super) kind: FileKind,
    pub(super) size: u64,
    /// The rest is known to a backup alone.
    pub(super) facts: Option<FileFacts>,
}

/// Properties of a file that may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileFacts {
    pub(super) is_sealed: bool,
    pub(super) is_lost: bool,
    pub(super) annotation: Annotation,
}

impl TargetInfo {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        to.put_u32(self.files.len() as u32);
        for TargetFile { id, kind, size, facts } in &self.files {
            to.put_u64(id.0);
            to.put_u8(number_of(*kind));
            to.put_u64(*size);
            if let Some(FileFacts { is_sealed, is_lost, annotation }) = facts {
                to.put_u8((*is_sealed).into());
                to.put_u8((*is_lost).into());
                put_annotation(&mut to, annotation);
            }
        }
        put_annotation(&mut to, &self.own);
        to
    }

    /// `has_facts`: whether the target was described whole.
    pub(super) fn decode(bytes: &[u8], has_facts: bool) -> Result<Self, DecodeError> {
        let mut from = Reader::new(bytes);
        let count = from.u32("files")?;
        let mut files = Vec::new();
        for _ in 0..count {
            let (id, kind) = (FileId(from.u64("file")?), kind(&mut from)?);
            let size = from.u64("size")?;
            let facts = match has_facts {
                true => Some(FileFacts {
                    is_sealed: from.u8("sealed")? != 0,
                    is_lost: from.u8("lost")? != 0,
                    annotation: annotation(&mut from)?,
                }),
                false => None,
            };
            files.push(TargetFile { id, kind, size, facts });
        }
        let own = annotation(&mut from)?;
        from.finish("target")?;
        Ok(Self { files, own })
    }
}

/// The changes of a checkpoint's transaction; `None` if it has other ones.
pub(super) fn encode_transaction(transaction: &Transaction) -> Option<Vec<u8>> {
    let mut to = Vec::new();
    for change in transaction.changes() {
        match change {
            Change::Seal { id, annotation } => {
                to.put_u8(1);
                to.put_u64(id.0);
                put_annotation(&mut to, annotation);
            }
            Change::Trim { id, start, end } => {
                to.put_u8(2);
                to.put_u64(id.0);
                to.put_u64(*start);
                to.put_u64(*end);
            }
            Change::Delete { id } => {
                to.put_u8(3);
                to.put_u64(id.0);
            }
            Change::Annotate { id, annotation } => {
                to.put_u8(4);
                to.put_u64(id.0);
                put_annotation(&mut to, annotation);
            }
            _ => return None,
        }
    }
    Some(to)
}

pub(super) fn decode_transaction(bytes: &[u8]) -> Result<Transaction, DecodeError> {
    let mut from = Reader::new(bytes);
    let mut transaction = Transaction::new();
    while !from.is_empty() {
        let change = from.u8("change")?;
        let id = FileId(from.u64("file")?);
        match change {
            1 => transaction.seal(id, annotation(&mut from)?),
            2 => transaction.trim(id, from.u64("start")?, from.u64("end")?),
            3 => transaction.delete(id),
            4 => transaction.annotate(id, annotation(&mut from)?),
            other => return Err(from.wrong("change", 9, "a number from 1 to 4", other.into())),
        };
    }
    Ok(transaction)
}

fn number_of(kind: FileKind) -> u8 {
    match kind {
        FileKind::Table => 0,
        FileKind::Log => 1,
        FileKind::Client => 2,
    }
}

fn kind(from: &mut Reader<'_>) -> Result<FileKind, DecodeError> {
    match from.u8("kind")? {
        0 => Ok(FileKind::Table),
        1 => Ok(FileKind::Log),
        2 => Ok(FileKind::Client),
        other => Err(from.wrong("kind", 1, "a number from 0 to 2", other.into())),
    }
}

fn put_hint(to: &mut Vec<u8>, hint: PlacementHint) {
    to.put_u8(hint.level.is_some().into());
    to.put_u8(hint.level.unwrap_or(0));
    to.put_u16(hint.stream);
}

fn hint(from: &mut Reader<'_>) -> Result<PlacementHint, DecodeError> {
    let (has_level, level) = (from.u8("has a level")? != 0, from.u8("level")?);
    Ok(PlacementHint { level: has_level.then_some(level), stream: from.u16("stream")? })
}

fn put_annotation(to: &mut Vec<u8>, annotation: &Annotation) {
    put_hint(to, annotation.hint);
    to.put_prefixed(&annotation.opaque);
}

fn annotation(from: &mut Reader<'_>) -> Result<Annotation, DecodeError> {
    Ok(Annotation { hint: hint(from)?, opaque: from.prefixed("annotation")?.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> Vec<Call> {
        let hint = PlacementHint { level: Some(3), stream: 7 };
        vec![
            Call::Describe,
            Call::Create { kind: FileKind::Table, hint, size: 9 },
            Call::Create { kind: FileKind::Log, hint: PlacementHint::default(), size: 0 },
            Call::Append { file: FileId(4), bytes: b"bytes".to_vec() },
            Call::Finish { file: FileId(4) },
            Call::CommitPart { bytes: b"part".to_vec() },
            Call::Commit,
            Call::Progress { done: ByteCount(1), all: ByteCount(2) },
            Call::DescribeWhole { offset: 5 },
            Call::Read { file: FileId(4), offset: 1 << 40, size: 77 },
        ]
    }

    #[test]
    fn calls_read_back_and_a_wrong_number_is_refused() {
        for call in calls() {
            assert_eq!(Call::decode(&call.encode()), Ok(call));
        }
        for wrong in [&b""[..], b"\0", b"\x0a", b"\x06x", b"\x04\x01"] {
            assert!(Call::decode(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn transactions_and_targets_read_back_and_their_parts_do_not() {
        let annotation = Annotation { hint: PlacementHint::default(), opaque: b"own".to_vec() };
        let mut transaction = Transaction::new();
        transaction.seal(FileId(3), annotation.clone()).trim(FileId(3), 0, 4096);
        transaction.delete(FileId(1)).annotate(FileId::STORE, annotation.clone());
        let bytes = encode_transaction(&transaction).unwrap();
        assert_eq!(decode_transaction(&bytes), Ok(transaction.clone()));
        assert!(decode_transaction(&bytes[..bytes.len() - 1]).is_err());
        transaction.link("name", FileId(3));
        assert_eq!(encode_transaction(&transaction), None);
        let facts = FileFacts { is_sealed: true, is_lost: false, annotation: annotation.clone() };
        for facts in [None, Some(facts)] {
            let has_facts = facts.is_some();
            let file = TargetFile { id: FileId(1), kind: FileKind::Log, size: 0, facts };
            let target = TargetInfo { files: vec![file], own: annotation.clone() };
            let bytes = target.encode();
            assert_eq!(TargetInfo::decode(&bytes, has_facts), Ok(target));
            for len in 0..bytes.len() {
                assert!(TargetInfo::decode(&bytes[..len], has_facts).is_err());
            }
        }
        // A too large count of files takes no memory.
        assert!(TargetInfo::decode(&[0xff; 4], true).is_err());
    }
}
