//! Damaged annotations: of tables, logs and the store, and pages of key spaces.

use terrace_env::FileId;
use terrace_fuzz::{Target, fuzz};

use super::{LogRecord, SpacePage, StoreRecord, TableRecord};
use crate::golden;

const FILE: FileId = FileId(7);

#[test]
fn annotations_of_tables() {
    fuzz!(Target::recoding("annotation of a table", golden::kept("annotation-table"), |input| {
        let record = TableRecord::decode(FILE, input).ok()?;
        assert!(record.span().start <= record.span().end);
        Some(record.annotation(1).opaque)
    }));
}

#[test]
fn annotations_of_logs() {
    fuzz!(Target::recoding("annotation of a log", golden::kept("annotation-log"), |input| {
        Some(LogRecord::decode(FILE, input).ok()?.annotation().opaque)
    }));
}

#[test]
fn annotations_of_stores() {
    fuzz!(Target::recoding("annotation of a store", golden::kept("annotation-store"), |input| {
        Some(StoreRecord::decode_target(input).ok()?.annotation().opaque)
    }));
}

#[test]
fn pages_of_key_spaces() {
    fuzz!(Target::recoding("page of key spaces", golden::kept("annotation-key-spaces"), |input| {
        Some(SpacePage::decode(FILE, input).ok()?.annotation().opaque)
    }));
}
