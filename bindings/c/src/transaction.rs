//! [`TerraceTransaction`] and [`TerraceTransactionScan`]: several reads and writes that take effect
//! as if they were done at once; and compare and swap of one key.

use std::mem::MaybeUninit;

use terrace::{Bytes, Swap, Transaction, TransactionScan};

use crate::TerraceCode;
use crate::failure::{Failure, given, guard};
use crate::key_space::{TerraceKeySpace, space_of};
use crate::slice::TerraceSlice;
use crate::store::{TerraceStore, bounds, durability};
use crate::value::{TerraceValue, clear, hand_over};

/// Reads at one moment, and writes that its commit applies together, if no key that was read has
/// been written since. Other threads do not wait for it.
pub struct TerraceTransaction(pub(crate) Transaction);

/// Walks the keys of a range from both ends, as a transaction sees them. It stands on the last
/// entry that it moved to, or on none. Kept for long, it keeps space from being freed.
pub struct TerraceTransactionScan {
    scan: TransactionScan,
    entry: Option<(Bytes, Bytes)>,
}

/// Puts `value` under a key if the key has the value `expected`. `terrace_none()` as `expected`
/// means no value, and `terrace_none()` as `value` deletes the key. No other write of the key comes
/// between the read and the write.
///
/// `*swapped` is 1 if it was written, else 0; then `*found` is the current value, to be freed by
/// `terrace_value_free`, or null if there is none. `found` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_compare_and_swap(
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    expected: TerraceSlice<'_>,
    value: TerraceSlice<'_>,
    durability: u32,
    swapped: Option<&mut MaybeUninit<u32>>,
    found: Option<&mut MaybeUninit<*mut TerraceValue>>,
) -> TerraceCode {
    guard(|| {
        let swapped = given(swapped, "swapped")?;
        swapped.write(0);
        let found = found.map(|found| clear(Some(found), "found")).transpose()?;
        let (expected, value) = (expected.optional("expected")?, value.optional("value")?);
        let space = space_of(space, durability)?;
        match space.compare_and_swap(key.bytes("key")?, expected, value)? {
            Swap::Swapped => drop(swapped.write(1)),
            Swap::Kept(Some(kept)) => {
                found.into_iter().for_each(|found| hand_over(found, TerraceValue(kept.clone())));
            }
            Swap::Kept(None) => {}
        }
        Ok(())
    })
}

/// Begins a transaction, which reads the current state. To be ended by `terrace_transaction_commit`
/// or `terrace_transaction_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_begin(
    store: Option<&TerraceStore>,
    transaction: Option<&mut MaybeUninit<*mut TerraceTransaction>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(transaction, "transaction")?;
        hand_over(out, TerraceTransaction(given(store, "store")?.db.transaction()?));
        Ok(())
    })
}

/// Reads the value under a key, as the transaction sees it. `TERRACE_CODE_NOT_FOUND`, with `*value`
/// null, if there is none; the key counts as read in either case. To be freed by
/// `terrace_value_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_get(
    transaction: Option<&TerraceTransaction>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: Option<&mut MaybeUninit<*mut TerraceValue>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(value, "value")?;
        let (transaction, space) = (given(transaction, "transaction")?, given(space, "space")?);
        let found = transaction.0.key_space(&space.0)?.get(key.bytes("key")?)?;
        let absent = || Failure::new(TerraceCode::NotFound, "expected a value, found none");
        hand_over(out, TerraceValue(found.ok_or_else(absent)?));
        Ok(())
    })
}

/// Writes a value under a key when the transaction is committed.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_put(
    transaction: Option<&TerraceTransaction>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (transaction, space) = (given(transaction, "transaction")?, given(space, "space")?);
        let (key, value) = (key.bytes("key")?, value.bytes("value")?);
        Ok(transaction.0.key_space(&space.0)?.put(key, value)?)
    })
}

/// Removes the value under a key when the transaction is committed.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_delete(
    transaction: Option<&TerraceTransaction>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (transaction, space) = (given(transaction, "transaction")?, given(space, "space")?);
        Ok(transaction.0.key_space(&space.0)?.delete(key.bytes("key")?)?)
    })
}

/// Removes all keys from `start` up to, and without, `end` when the transaction is committed. With
/// `terrace_none()` as `end`, the range is open.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_delete_range(
    transaction: Option<&TerraceTransaction>,
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (transaction, space) = (given(transaction, "transaction")?, given(space, "space")?);
        Ok(transaction.0.key_space(&space.0)?.delete_range(bounds(start, end)?)?)
    })
}

/// Makes a scan of the keys from `start` up to, and without, `end`, as the transaction sees them.
/// With `terrace_none()` as `end`, the range is open. The part of the range that the scan has
/// passed counts as read; while the scan is open, all of it does. To be freed by
/// `terrace_transaction_scan_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_scan(
    transaction: Option<&TerraceTransaction>,
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
    scan: Option<&mut MaybeUninit<*mut TerraceTransactionScan>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(scan, "scan")?;
        let (transaction, space) = (given(transaction, "transaction")?, given(space, "space")?);
        let scan = transaction.0.key_space(&space.0)?.scan(bounds(start, end)?)?;
        hand_over(out, TerraceTransactionScan { scan, entry: None });
        Ok(())
    })
}

/// Applies the writes of a transaction, if no key that it has read has been written since it began.
/// Otherwise applies none of them and returns `TERRACE_CODE_CONFLICT`: begin the transaction again.
/// Frees the handle in any case. `durability` is a `TerraceDurability`. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_commit(
    transaction: Option<Box<TerraceTransaction>>,
    durability: u32,
) -> TerraceCode {
    guard(|| {
        let durability = self::durability(durability)?;
        let Some(transaction) = transaction else { return Ok(()) };
        let result = match durability {
            Some(durability) => transaction.0.commit_with(durability),
            None => transaction.0.commit(),
        };
        Ok(result?)
    })
}

/// Ends a transaction without a write. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_free(transaction: Option<Box<TerraceTransaction>>) {
    guard(|| {
        drop(transaction);
        Ok(())
    });
}

fn step(
    scan: Option<&mut TerraceTransactionScan>,
    step: impl FnOnce(&mut TransactionScan) -> Option<Result<(Bytes, Bytes), terrace::Error>>,
) -> TerraceCode {
    guard(|| {
        let TerraceTransactionScan { scan, entry } = given(scan, "scan")?;
        *entry = None;
        *entry = step(scan).transpose()?;
        Ok(())
    })
}

/// Moves to the next key from the front that neither end has reached, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_scan_next(
    scan: Option<&mut TerraceTransactionScan>,
) -> TerraceCode {
    step(scan, Iterator::next)
}

/// Moves to the next key from the back that neither end has reached, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_scan_prev(
    scan: Option<&mut TerraceTransactionScan>,
) -> TerraceCode {
    step(scan, DoubleEndedIterator::next_back)
}

/// 1 if the scan stands on a key, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_scan_on_key(scan: Option<&TerraceTransactionScan>) -> u32 {
    scan.is_some_and(|scan| scan.entry.is_some()).into()
}

/// The key that the scan stands on, valid until it moves or is freed; no slice if it stands on
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_scan_key(
    scan: Option<&TerraceTransactionScan>,
) -> TerraceSlice<'_> {
    let entry = scan.and_then(|scan| scan.entry.as_ref());
    entry.map_or(TerraceSlice::none(), |(key, _)| TerraceSlice::of(key))
}

/// The value of the scan's key, valid until it moves or is freed; no slice if it stands on none.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_scan_value(
    scan: Option<&TerraceTransactionScan>,
) -> TerraceSlice<'_> {
    let entry = scan.and_then(|scan| scan.entry.as_ref());
    entry.map_or(TerraceSlice::none(), |(_, value)| TerraceSlice::of(value))
}

/// Frees a scan of a transaction. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_scan_free(scan: Option<Box<TerraceTransactionScan>>) {
    guard(|| {
        drop(scan);
        Ok(())
    });
}
