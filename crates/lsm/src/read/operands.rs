//! Point reads of keys that have operands: collects the entries that make the value, from the
//! newest place to the oldest, and has them combined ([`Chain`]).
//!
//! - It belongs to a read that has found an operand, and uses the view and the sequence of that
//!   read.
//! - A memtable is walked. Tables are looked up once for each operand, with their filters: mostly a
//!   job has left only one operand of a key in a table.
//!
//! Any thread; it may wait for the device, so the caller holds no lock.

use std::sync::Arc;

use terrace_env::{Date, SeqNo};

use super::reader::Reader;
use super::search::Search;
use crate::expiry::{self, Shown};
use crate::key::{self, KeySpaceId, Kind};
use crate::memtable::{Found, MemoryCursor, Memtable};
use crate::operands::{Chain, Combiner};
use crate::table::PointReads;
use crate::tree::View;
use crate::{Error, ReadOptions};

impl Reader {
    /// The merge operator, for the keys of a key space.
    pub(crate) fn combiner(&self, space: KeySpaceId) -> Combiner {
        let operands = self.operands.clone();
        let name = || self.tree.with_spaces(|list| list.name(space).map(Arc::from));
        let key_space = operands.operator().ok().and_then(|_| name());
        Combiner { operands, key_space }
    }

    /// The value of a key whose newest visible entry is an operand, at a date.
    #[cold]
    pub(super) fn combined(
        &self,
        view: &View,
        (space, user_key): (KeySpaceId, &[u8]),
        mut sequence: SeqNo,
        (options, date): (ReadOptions, Date),
    ) -> Result<Shown, Error> {
        let combiner = self.combiner(space);
        combiner.operands.operator()?;
        let mut chain = Chain::default();
        for memtable in view.memtables() {
            walk(memtable, &key::seek_key(space, user_key, sequence), date, &mut chain);
            if chain.is_ended() {
                return combiner.combine(user_key, chain);
            }
        }
        let mut search = Search::new(self);
        while !chain.is_ended() {
            let seek_key = key::seek_key(space, user_key, sequence);
            let searched = |level, table: &_| search.searched(level, table);
            let found = view.version.get(&seek_key, &mut PointReads::one(options), searched);
            match found.map_err(|error| view.closed.explain(error))? {
                Some(Found::Operand(at, operand)) => {
                    chain.push(operand);
                    let Some(older) = at.0.checked_sub(1) else { break };
                    sequence = SeqNo(older);
                }
                Some(Found::Deleted) => chain.end_deleted(),
                Some(Found::Value(value)) => chain.end_with(Shown { value, expiry: None }, date),
                Some(Found::Expiring(expiry, value)) => {
                    chain.end_with(Shown { value, expiry: Some(expiry) }, date);
                }
                None => break,
            }
        }
        combiner.combine(user_key, chain)
    }
}

/// Adds the entries of a memtable, from the first at or after `seek_key` on.
fn walk(memtable: &Arc<Memtable>, seek_key: &[u8], date: Date, chain: &mut Chain) {
    let (full_key, at) = key::split(seek_key);
    let cover = memtable.ranges().cover(full_key, at.sequence());
    let mut cursor = MemoryCursor::new(Arc::clone(memtable));
    cursor.seek(seek_key);
    while let Some((found, trailer)) = cursor.key().map(key::split) {
        if found != full_key || cover.is_some_and(|cover| trailer.sequence() < cover) {
            break;
        }
        let value = cursor.value();
        match trailer.kind() {
            Some(Kind::Operand) => chain.push(value),
            Some(Kind::Put) => return chain.end_with(Shown { value, expiry: None }, date),
            Some(Kind::PutWithExpiry) => {
                let (expiry, value) = expiry::split_bytes(value).expect("a batch that was checked");
                return chain.end_with(Shown { value, expiry: Some(expiry) }, date);
            }
            Some(Kind::Delete | Kind::RangeDelete) | None => return chain.end_deleted(),
        }
        cursor.next();
    }
    if cover.is_some() {
        chain.end_deleted();
    }
}
