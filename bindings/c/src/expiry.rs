//! Puts that expire: at a date, in milliseconds since the beginning of 1970 (UTC). From then on
//! the key has no value.

use std::time::Duration;

use terrace::Date;

use crate::TerraceCode;
use crate::batch::TerraceBatch;
use crate::failure::{given, guard};
use crate::key_space::{TerraceKeySpace, space_of};
use crate::slice::TerraceSlice;
use crate::transaction::TerraceTransaction;

/// The date `milliseconds` from now, in milliseconds since the beginning of 1970 (UTC), by the
/// clock of the machine: the expiry of an entry that is to live for that time.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_date_after(milliseconds: u64) -> u64 {
    Date::from_now(Duration::from_millis(milliseconds)).0
}

/// Writes a value under a key until `expiry`, a date in milliseconds since the beginning of 1970
/// (UTC). From then on, no call finds it. `durability` is a `TerraceDurability`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_put_with_expiry(
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: TerraceSlice<'_>,
    expiry: u64,
    durability: u32,
) -> TerraceCode {
    guard(|| {
        let space = space_of(space, durability)?;
        let (key, value) = (key.bytes("key")?, value.bytes("value")?);
        Ok(space.put_with_expiry(key, value, Date(expiry))?)
    })
}

/// Adds a write of a value that expires; see `terrace_put_with_expiry`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_put_with_expiry(
    batch: Option<&mut TerraceBatch>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: TerraceSlice<'_>,
    expiry: u64,
) -> TerraceCode {
    guard(|| {
        let (key, value) = (key.bytes("key")?, value.bytes("value")?);
        let (batch, space) = (given(batch, "batch")?, given(space, "space")?);
        batch.0.key_space(&space.0).put_with_expiry(key, value, Date(expiry));
        Ok(())
    })
}

/// Writes a value that expires when the transaction is committed; see `terrace_put_with_expiry`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_put_with_expiry(
    transaction: Option<&TerraceTransaction>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: TerraceSlice<'_>,
    expiry: u64,
) -> TerraceCode {
    guard(|| {
        let (transaction, space) = (given(transaction, "transaction")?, given(space, "space")?);
        let (key, value) = (key.bytes("key")?, value.bytes("value")?);
        transaction.0.key_space(&space.0)?.put_with_expiry(key, value, Date(expiry))?;
        Ok(())
    })
}
