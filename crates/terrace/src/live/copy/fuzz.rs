//! Damaged calls of an owner to the target of a checkpoint, and descriptions of targets.

use terrace_env::store::{Annotation, FileKind, PlacementHint, Transaction};
use terrace_env::{ByteCount, FileId};
use terrace_fuzz::{Target, fuzz};

use super::call::{
    Call, FileFacts, TargetFile, TargetInfo, decode_transaction, encode_transaction,
};

#[test]
fn calls() {
    let hint = PlacementHint { level: Some(3), stream: 7 };
    let calls = [
        Call::Describe,
        Call::Create { kind: FileKind::Table, hint, size: 9 },
        Call::Append { file: FileId(4), bytes: b"bytes".to_vec() },
        Call::Finish { file: FileId(4) },
        Call::CommitPart { bytes: b"part".to_vec() },
        Call::Progress { done: ByteCount(1), all: ByteCount(2) },
        Call::DescribeWhole { offset: 5 },
        Call::Read { file: FileId(4), offset: 1 << 40, size: 77 },
    ];
    let specimens = calls.iter().map(Call::encode).collect();
    fuzz!(Target::recoding("call of a checkpoint", specimens, |input| {
        Some(Call::decode(input).ok()?.encode())
    }));
}

fn annotation() -> Annotation {
    Annotation { hint: PlacementHint { level: None, stream: 2 }, opaque: b"own".to_vec() }
}

/// A target that is described with the facts about its files, or without.
fn target(has_facts: bool) -> Target {
    let facts = FileFacts { is_sealed: true, is_lost: false, annotation: annotation() };
    let file = |id, facts| TargetFile { id: FileId(id), kind: FileKind::Log, size: 0, facts };
    let files = [1, 2].map(|id| file(id, has_facts.then(|| facts.clone()))).to_vec();
    let specimens = vec![TargetInfo { files, own: annotation() }.encode()];
    Target::recoding("target of a checkpoint", specimens, move |input| {
        Some(TargetInfo::decode(input, has_facts).ok()?.encode())
    })
}

#[test]
fn targets() {
    fuzz!(target(false));
}

#[test]
fn targets_with_facts() {
    fuzz!(target(true));
}

#[test]
fn transactions() {
    let mut transaction = Transaction::new();
    transaction.seal(FileId(3), annotation()).trim(FileId(3), 0, 4096);
    transaction.delete(FileId(1)).annotate(FileId::STORE, annotation());
    let specimens = vec![encode_transaction(&transaction).unwrap()];
    fuzz!(Target::recoding("transaction of a checkpoint", specimens, |input| {
        encode_transaction(&decode_transaction(input).ok()?)
    }));
}
