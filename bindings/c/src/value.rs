//! [`TerraceValue`]: a value that was read. It shares the memory of its block.

use std::mem::MaybeUninit;

use terrace::Bytes;

use crate::failure::Failure;
use crate::failure::{given, guard};
use crate::slice::TerraceSlice;

/// A value that was read, to be freed by `terrace_value_free`.
pub struct TerraceValue(pub(crate) Bytes);

/// Sets a pointer for a handle to null.
pub(crate) fn clear<'a, T>(
    out: Option<&'a mut MaybeUninit<*mut T>>,
    what: &str,
) -> Result<&'a mut MaybeUninit<*mut T>, Failure> {
    let out = given(out, what)?;
    out.write(std::ptr::null_mut());
    Ok(out)
}

/// Passes a handle to C.
pub(crate) fn hand_over<T>(out: &mut MaybeUninit<*mut T>, handle: T) {
    out.write(Box::into_raw(Box::new(handle)));
}

/// The bytes of a value, valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_value_bytes(value: Option<&TerraceValue>) -> TerraceSlice<'_> {
    value.map_or(TerraceSlice::none(), |value| TerraceSlice::of(&value.0))
}

/// Frees a value. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_value_free(value: Option<Box<TerraceValue>>) {
    guard(|| {
        drop(value);
        Ok(())
    });
}
