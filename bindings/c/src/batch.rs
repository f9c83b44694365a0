//! [`TerraceBatch`]: writes that are applied together or not at all.

use std::mem::MaybeUninit;

use terrace::Batch;

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::key_space::TerraceKeySpace;
use crate::slice::TerraceSlice;
use crate::store::bounds;
use crate::value::{clear, hand_over};

/// Writes that are applied together or not at all, in order. Each names its key space; one batch
/// may write to several of one store.
pub struct TerraceBatch(pub(crate) Batch);

/// Makes an empty batch. To be freed by `terrace_batch_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_new(
    batch: Option<&mut MaybeUninit<*mut TerraceBatch>>,
) -> TerraceCode {
    guard(|| {
        hand_over(clear(batch, "batch")?, TerraceBatch(Batch::new()));
        Ok(())
    })
}

/// Adds a write of a value. A key or value that is too long fails `terrace_write`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_put(
    batch: Option<&mut TerraceBatch>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (key, value) = (key.bytes("key")?, value.bytes("value")?);
        given(batch, "batch")?.0.key_space(&given(space, "space")?.0).put(key, value);
        Ok(())
    })
}

/// Adds the removal of a key.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_delete(
    batch: Option<&mut TerraceBatch>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let key = key.bytes("key")?;
        given(batch, "batch")?.0.key_space(&given(space, "space")?.0).delete(key);
        Ok(())
    })
}

/// Adds the removal of all keys from `start` up to, and without, `end`. With `terrace_none()` as
/// `end`, the range is open.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_delete_range(
    batch: Option<&mut TerraceBatch>,
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let bounds = bounds(start, end)?;
        given(batch, "batch")?.0.key_space(&given(space, "space")?.0).delete_range(bounds);
        Ok(())
    })
}

/// Forgets all writes of a batch and keeps its memory.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_clear(batch: Option<&mut TerraceBatch>) -> TerraceCode {
    guard(|| {
        given(batch, "batch")?.0.clear();
        Ok(())
    })
}

/// Frees a batch. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_free(batch: Option<Box<TerraceBatch>>) {
    guard(|| {
        drop(batch);
        Ok(())
    });
}
