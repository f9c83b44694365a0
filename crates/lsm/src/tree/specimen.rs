//! Trees for the tests of their owners, without a store.

use std::sync::Arc;

use terrace_env::SeqNo;

use super::closed::Closed;
use super::space_list::SpaceList;
use super::spaces::Spaces;
use super::store_record::StoreRecord;
use super::tree::Tree;
use super::version::Version;
use super::view::View;
use crate::memory::Memory;
use crate::memtable::Memtable;
use crate::options::EngineOptions;

/// A tree without tables, whose newest visible sequence is 7.
pub(crate) fn empty_tree() -> Tree {
    let record = StoreRecord::new();
    let spaces = SpaceList::of(&record, Vec::new()).unwrap();
    let memory = Memory::new(&EngineOptions::default());
    let view = View {
        active: Arc::new(Memtable::new(&memory.chunks)),
        immutable: Vec::new(),
        version: Arc::new(Version::new(Vec::new()).unwrap()),
        spaces: Spaces::of(&spaces, record.next_space),
        closed: Closed::default(),
    };
    Tree::new(view, SeqNo(7), record, spaces)
}
