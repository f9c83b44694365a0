//! `toy`: the tree is rewritten as a whole, as far as possible into zones of its level.
//!
//! 1. Compaction is that of [`Everything`].
//! 2. A zone holds tables of one level ([`LevelSeparated`]), so that a compaction empties zones.
//! 3. Zones are reclaimed only for a writer that waits for space ([`LastResort`]).

use std::sync::Arc;

use terrace_policy::{LastResort, LevelSeparated, Row, RowParts, System};

use super::everything::Everything;
use crate::rows;

static PARTS: RowParts = RowParts {
    name: "toy",
    summary: "all runs become one",
    suits: "tests",
    costs: "each compaction rewrites the whole store",
    live_max: 40,
    tables_together: 1,
    io_size: RowParts::IO_SIZE,
    own: System { row: Row::Custom(&PARTS), ..System::of(Row::Tiered) },
    parameters: &[],
    placement: |_| Arc::new(LevelSeparated),
    compaction: |system, store, _| Arc::new(Everything { table_size: system.table_size(store) }),
    reclaim: |_| Arc::new(LastResort),
    table_size: |_, store| store.memtable_size,
};

#[test]
fn a_row_of_one_folder_keeps_the_rules_of_all_rows() {
    let toy = System::of(Row::Custom(&PARTS));
    assert_eq!(toy.to_string(), "toy");
    assert!("toy".parse::<System>().is_err(), "no text is read as it");
    rows::check(&toy);
}
