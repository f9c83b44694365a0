//! [`TerraceCursor`]: walks the keys of a range in both directions.

use std::mem::MaybeUninit;

use terrace::{Bytes, Cursor, Error};

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::key_space::{TerraceKeySpace, space_of};
use crate::slice::TerraceSlice;
use crate::store::bounds;
use crate::value::{clear, hand_over};

/// Walks the keys of a range as they were when it was made; later writes do not change them. It
/// stands on a key, or on none: at first, beyond either end, and after an error. Kept for long, it
/// keeps space from being freed.
pub struct TerraceCursor {
    cursor: Cursor,
    /// Value of its key.
    value: Option<Bytes>,
}

impl TerraceCursor {
    /// A cursor that stands on no key.
    pub(crate) fn of(cursor: Cursor) -> Self {
        Self { cursor, value: None }
    }
}

/// Makes a cursor over the keys from `start` up to, and without, `end`. With `terrace_none()` as
/// `end`, the range is open. To be freed by `terrace_cursor_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_open(
    space: Option<&TerraceKeySpace>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
    cursor: Option<&mut MaybeUninit<*mut TerraceCursor>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(cursor, "cursor")?;
        let cursor = space_of(space, 0)?.cursor(bounds(start, end)?)?;
        hand_over(out, TerraceCursor::of(cursor));
        Ok(())
    })
}

fn step(
    cursor: Option<&mut TerraceCursor>,
    step: impl FnOnce(&mut Cursor) -> Result<bool, Error>,
) -> TerraceCode {
    guard(|| {
        let TerraceCursor { cursor, value } = given(cursor, "cursor")?;
        *value = None;
        if step(cursor)? {
            *value = Some(cursor.value());
        }
        Ok(())
    })
}

/// Moves to the first key of the range, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_first(cursor: Option<&mut TerraceCursor>) -> TerraceCode {
    step(cursor, Cursor::seek_to_first)
}

/// Moves to the last key of the range, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_last(cursor: Option<&mut TerraceCursor>) -> TerraceCode {
    step(cursor, Cursor::seek_to_last)
}

/// Moves to the first key of the range that is not before `key`, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_seek(
    cursor: Option<&mut TerraceCursor>,
    key: TerraceSlice<'_>,
) -> TerraceCode {
    match key.bytes("key") {
        Ok(key) => step(cursor, |cursor| cursor.seek(key)),
        Err(failure) => guard(|| Err(failure)),
    }
}

/// Moves to the last key of the range that is not after `key`, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_seek_back(
    cursor: Option<&mut TerraceCursor>,
    key: TerraceSlice<'_>,
) -> TerraceCode {
    match key.bytes("key") {
        Ok(key) => step(cursor, |cursor| cursor.seek_back(key)),
        Err(failure) => guard(|| Err(failure)),
    }
}

/// Moves to the next key; from no key, to the first.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_next(cursor: Option<&mut TerraceCursor>) -> TerraceCode {
    step(cursor, Cursor::next)
}

/// Moves to the key before; from no key, to the last.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_prev(cursor: Option<&mut TerraceCursor>) -> TerraceCode {
    step(cursor, Cursor::prev)
}

/// 1 if the cursor stands on a key, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_on_key(cursor: Option<&TerraceCursor>) -> u32 {
    cursor.is_some_and(|cursor| cursor.value.is_some()).into()
}

/// The key that the cursor stands on, valid until it moves or is freed; no slice if it stands on
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_key(cursor: Option<&TerraceCursor>) -> TerraceSlice<'_> {
    let standing = cursor.filter(|cursor| cursor.value.is_some() && cursor.cursor.is_on_key());
    standing.map_or(TerraceSlice::none(), |cursor| TerraceSlice::of(cursor.cursor.key()))
}

/// The value of the cursor's key, valid until it moves or is freed; no slice if it stands on none.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_value(cursor: Option<&TerraceCursor>) -> TerraceSlice<'_> {
    let value = cursor.and_then(|cursor| cursor.value.as_ref());
    value.map_or(TerraceSlice::none(), |value| TerraceSlice::of(value))
}

/// Frees a cursor. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_cursor_free(cursor: Option<Box<TerraceCursor>>) {
    guard(|| {
        drop(cursor);
        Ok(())
    });
}
