//! [`TerraceSnapshot`]: a store as it was at one moment.

use std::mem::MaybeUninit;

use terrace::Snapshot;

use crate::TerraceCode;
use crate::cursor::TerraceCursor;
use crate::failure::{Failure, given, guard};
use crate::key_space::TerraceKeySpace;
use crate::slice::TerraceSlice;
use crate::store::{TerraceStore, bounds};
use crate::value::{TerraceValue, clear, hand_over};

/// A store as it was at one moment; later writes do not change it. Kept for long, it keeps space
/// from being freed.
pub struct TerraceSnapshot(Snapshot);

/// Takes a snapshot of a store. To be freed by `terrace_snapshot_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_snapshot_open(
    store: Option<&TerraceStore>,
    snapshot: Option<&mut MaybeUninit<*mut TerraceSnapshot>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(snapshot, "snapshot")?;
        hand_over(out, TerraceSnapshot(given(store, "store")?.db.snapshot()));
        Ok(())
    })
}

/// Reads the value that was under a key. `TERRACE_CODE_NOT_FOUND`, with `*value` null, if there was
/// none. To be freed by `terrace_value_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_snapshot_get(
    snapshot: Option<&TerraceSnapshot>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: Option<&mut MaybeUninit<*mut TerraceValue>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(value, "value")?;
        let (snapshot, space) = (given(snapshot, "snapshot")?, given(space, "space")?);
        let found = snapshot.0.key_space(&space.0)?.get(key.bytes("key")?)?;
        let absent = || Failure::new(TerraceCode::NotFound, "expected a value, found none");
        hand_over(out, TerraceValue(found.ok_or_else(absent)?));
        Ok(())
    })
}

/// Makes a cursor over the keys from `start` up to, and without, `end`, at that moment. With
/// `terrace_none()` as `end`, the range is open. To be freed by `terrace_cursor_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_snapshot_cursor(
    snapshot: Option<&TerraceSnapshot>,
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
    cursor: Option<&mut MaybeUninit<*mut TerraceCursor>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(cursor, "cursor")?;
        let (snapshot, space) = (given(snapshot, "snapshot")?, given(space, "space")?);
        let cursor = snapshot.0.key_space(&space.0)?.cursor(bounds(start, end)?)?;
        hand_over(out, TerraceCursor::of(cursor));
        Ok(())
    })
}

/// Frees a snapshot. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_snapshot_free(snapshot: Option<Box<TerraceSnapshot>>) {
    guard(|| {
        drop(snapshot);
        Ok(())
    });
}
