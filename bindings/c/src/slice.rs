//! [`TerraceSlice`] and [`TerraceBuffer`]: bytes that C lends for one call, to be read or to be
//! filled.
//!
//! # Why it is sound
//! The fields are private to this module, so Rust code makes these values only from its own slices,
//! whose lifetime they keep. C makes them from a pointer and a length. By its part of the contract,
//! which the header states, they name memory of that length that stays there until the call
//! returns. No other code writes it meanwhile, or, for a buffer, uses it. A call takes them by
//! value with the lifetime of the call, so no Rust reference outlives it. The null pointer is never
//! dereferenced: it means that no bytes were given. A length beyond `isize::MAX` is refused,
//! because no memory has it.

use std::marker::PhantomData;

use crate::failure::{Failure, given};

/// Bytes that are lent to a call, which reads them; or, with `data` null, none.
///
/// `data` must point to `len` bytes that do not change until the call returns. A slice that a call
/// returns is valid as long as the call says. Names are slices of UTF-8.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TerraceSlice<'a> {
    /// The first byte, or null.
    data: *const u8,
    /// Number of bytes.
    len: usize,
    lender: PhantomData<&'a [u8]>,
}

impl Default for TerraceSlice<'_> {
    /// No bytes.
    fn default() -> Self {
        Self::none()
    }
}

/// Memory that is lent to a call, which fills it.
///
/// `data` must point to `len` bytes that no other code uses until the call returns.
#[repr(C)]
pub struct TerraceBuffer<'a> {
    /// The first byte, or null.
    data: *mut u8,
    /// Number of bytes.
    len: usize,
    lender: PhantomData<&'a mut [u8]>,
}

fn check_len(len: usize, what: &str) -> Result<(), Failure> {
    if isize::try_from(len).is_ok() {
        return Ok(());
    }
    let most = isize::MAX;
    Err(Failure::invalid(format_args!("{what}: expected at most {most} bytes, found {len}")))
}

impl<'a> TerraceSlice<'a> {
    /// The slice of these bytes.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { data: bytes.as_ptr(), len: bytes.len(), lender: PhantomData }
    }

    /// No bytes.
    pub(crate) fn none() -> Self {
        Self { data: std::ptr::null(), len: 0, lender: PhantomData }
    }

    /// The bytes, or `None` if none were given.
    pub(crate) fn optional(self, what: &str) -> Result<Option<&'a [u8]>, Failure> {
        if self.data.is_null() && self.len == 0 {
            return Ok(None);
        }
        given((!self.data.is_null()).then_some(()), what)?;
        check_len(self.len, what)?;
        // SAFETY: `data` is not null and `len` is in range. The maker of the value guarantees that
        // both name bytes that live and do not change for `'a`; see the module.
        Ok(Some(unsafe { std::slice::from_raw_parts(self.data, self.len) }))
    }

    /// The bytes; empty if none were given.
    pub(crate) fn bytes(self, what: &str) -> Result<&'a [u8], Failure> {
        Ok(self.optional(what)?.unwrap_or_default())
    }

    /// The bytes as a text.
    pub(crate) fn text(self, what: &str) -> Result<&'a str, Failure> {
        let bytes = given(self.optional(what)?, what)?;
        std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let byte = bytes[at];
            Failure::invalid(format_args!("{what}: expected UTF-8, found byte {byte:#x} at {at}"))
        })
    }
}

impl<'a> TerraceBuffer<'a> {
    /// The memory to fill.
    pub(crate) fn bytes(self, what: &str) -> Result<&'a mut [u8], Failure> {
        if self.len == 0 {
            return Ok(&mut []);
        }
        given((!self.data.is_null()).then_some(()), what)?;
        check_len(self.len, what)?;
        // SAFETY: `data` is not null and `len` is in range. The maker of the value guarantees that
        // both name bytes that live for `'a`, and that no other code reads or writes them; see the
        // module. The value is consumed, so there is no second reference.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.data, self.len) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_lengths_that_no_memory_has_are_told_from_bytes() {
        assert_eq!(TerraceSlice::of(b"ab").bytes("key").unwrap(), b"ab");
        assert_eq!(TerraceSlice::of(b"").optional("end").unwrap(), Some(&b""[..]));
        assert_eq!(TerraceSlice::none().optional("end").unwrap(), None);
        assert!(TerraceSlice::none().text("name").is_err());
        assert!(TerraceSlice::of(b"a\xff").text("name").is_err());
        let null = TerraceSlice { len: 3, ..TerraceSlice::none() };
        assert!(null.bytes("key").is_err());
        let endless = TerraceSlice { len: usize::MAX, ..TerraceSlice::of(b"a") };
        assert!(endless.bytes("key").is_err());
        let buffer = TerraceBuffer { data: std::ptr::null_mut(), len: 1, lender: PhantomData };
        assert!(buffer.bytes("buffer").is_err());
    }
}
