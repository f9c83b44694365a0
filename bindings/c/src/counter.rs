//! Counters: 64-bit numbers with additions that need no read, in a store that was opened with
//! `counters` in its options. Their values are 8 bytes, little-endian, in two's complement.

use std::mem::MaybeUninit;

use terrace::Counter;

use crate::TerraceCode;
use crate::batch::TerraceBatch;
use crate::failure::{Failure, given, guard};
use crate::key_space::{TerraceKeySpace, space_of};
use crate::slice::TerraceSlice;
use crate::transaction::TerraceTransaction;

/// Adds to the number under a key, without reading it; a key without a value counts from 0.
/// `TERRACE_CODE_OPTION` if the store was opened without `counters`. `durability` is a
/// `TerraceDurability`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_add(
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    amount: i64,
    durability: u32,
) -> TerraceCode {
    guard(|| {
        given(space, "space")?.check_counters()?;
        let space = space_of(space, durability)?;
        Ok(space.merge(key.bytes("key")?, &Counter::bytes(amount))?)
    })
}

/// Adds an addition to a batch; see `terrace_add`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_add(
    batch: Option<&mut TerraceBatch>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    amount: i64,
) -> TerraceCode {
    guard(|| {
        let key = key.bytes("key")?;
        let (batch, space) = (given(batch, "batch")?, given(space, "space")?);
        space.check_counters()?;
        batch.0.key_space(&space.0).merge(key, &Counter::bytes(amount));
        Ok(())
    })
}

/// Adds to the number under a key when the transaction is committed; see `terrace_add`. The key
/// does not count as read.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_add(
    transaction: Option<&TerraceTransaction>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    amount: i64,
) -> TerraceCode {
    guard(|| {
        let (transaction, space) = (given(transaction, "transaction")?, given(space, "space")?);
        space.check_counters()?;
        let key = key.bytes("key")?;
        transaction.0.key_space(&space.0)?.merge(key, &Counter::bytes(amount))?;
        Ok(())
    })
}

/// The number of a value. `TERRACE_CODE_INVALID` if the value does not have 8 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_number(
    value: TerraceSlice<'_>,
    number: Option<&mut MaybeUninit<i64>>,
) -> TerraceCode {
    guard(|| {
        let (value, out) = (value.bytes("value")?, given(number, "number")?);
        out.write(0);
        let found = Counter::number(value);
        let wrong = || {
            let len = value.len();
            Failure::invalid(format_args!("value: expected a number of 8 bytes, found {len}"))
        };
        out.write(found.ok_or_else(wrong)?);
        Ok(())
    })
}
