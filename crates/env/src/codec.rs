//! The byte codec: [`Reader`] decodes fields from bytes, [`Writer`] appends encoded fields. Fields
//! are little-endian integers of 8 to 64 bits, UUIDs, varints, raw bytes, and bytes after a `u32`
//! length.
//!
//! A [`Reader`] checks each length before it uses it: bytes that do not decode give a
//! [`DecodeError`], not a panic. Damage that leaves a field well-formed is not noticed. After an
//! error its offset is not specified. It accepts varints that are longer than needed.
//!
//! A [`Writer`] panics at a length-prefixed field of 4 GiB or more.

/// Reason why bytes did not decode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end before the field does.
    #[error("{field}: expected {expected} bytes at offset {offset}, found {got}")]
    Short {
        /// The field that was being read.
        field: &'static str,
        /// Where it starts.
        offset: usize,
        /// The bytes it needs.
        expected: usize,
        /// The bytes there are.
        got: usize,
    },
    /// The field holds a value it must not hold.
    #[error("{field}: expected {expected} at offset {offset}, found {got}")]
    Value {
        /// The field that was being read.
        field: &'static str,
        /// Where it starts.
        offset: usize,
        /// Values that the format allows there, in words.
        expected: &'static str,
        /// Value found there.
        got: u64,
    },
}

/// Reads fields off the front of a byte slice.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// How many bytes have been read.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many bytes are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// Whether all bytes have been read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Takes `len` bytes.
    pub fn bytes(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], DecodeError> {
        if len > self.remaining() {
            let (offset, got) = (self.offset, self.remaining());
            return Err(DecodeError::Short { field, offset, expected: len, got });
        }
        let taken = &self.bytes[self.offset..self.offset + len];
        self.offset += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(field, N)?);
        Ok(array)
    }

    /// Reads a `u8`.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        Ok(self.array::<1>(field)?[0])
    }

    /// Reads a little-endian `u16`.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// Reads a little-endian `u32`.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// Reads a little-endian `u64`.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// Reads 16 bytes.
    pub fn uuid(&mut self, field: &'static str) -> Result<crate::Uuid, DecodeError> {
        self.array(field).map(crate::Uuid)
    }

    /// Reads a varint: seven bits a byte, low bits first, at most ten bytes.
    pub fn varint(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        let start = self.offset;
        let mut value = 0u64;
        for shift in (0..).step_by(7).take(10) {
            let byte = self.u8(field)?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        let expected = "a varint of at most 64 bits";
        Err(DecodeError::Value { field, offset: start, expected, got: value })
    }

    /// Reads a `u32` length and as many bytes.
    pub fn prefixed(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.u32(field)? as usize;
        self.bytes(field, len)
    }

    /// The error for a value that must not stand where the last field of `width` bytes was read.
    #[must_use]
    pub fn wrong(
        &self,
        field: &'static str,
        width: usize,
        expected: &'static str,
        got: u64,
    ) -> DecodeError {
        DecodeError::Value { field, offset: self.offset.saturating_sub(width), expected, got }
    }

    /// Checks that nothing is left.
    pub fn finish(&self, field: &'static str) -> Result<(), DecodeError> {
        if self.is_empty() {
            return Ok(());
        }
        let (expected, got) = ("no further bytes", self.remaining() as u64);
        Err(DecodeError::Value { field, offset: self.offset, expected, got })
    }
}

/// Appends fields to a byte vector; the mirror of [`Reader`].
pub trait Writer {
    /// Appends bytes as they are.
    fn put(&mut self, bytes: &[u8]);

    /// Appends a `u8`.
    fn put_u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    /// Appends a little-endian `u16`.
    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a little-endian `u32`.
    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a little-endian `u64`.
    fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a varint.
    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put_u8((value as u8 & 0x7f) | 0x80);
            value >>= 7;
        }
        self.put_u8(value as u8);
    }

    /// Appends a `u32` length and the bytes.
    ///
    /// # Panics
    /// When there are more than `u32::MAX` bytes: callers bound their fields.
    fn put_prefixed(&mut self, bytes: &[u8]) {
        self.put_u32(u32::try_from(bytes.len()).expect("a field of at most 4 GiB"));
        self.put(bytes);
    }
}

impl Writer for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Writer for crate::IoBuf {
    fn put(&mut self, bytes: &[u8]) {
        self.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_read_back_at_every_width() {
        for value in (0..64).flat_map(|s| [1u64 << s, (1 << s) - 1, u64::MAX >> s]) {
            let mut bytes = Vec::new();
            bytes.put_varint(value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.varint("v"), Ok(value));
            assert!(reader.finish("v").is_ok());
        }
    }

    #[test]
    fn an_endless_varint_is_an_error() {
        assert!(Reader::new(&[0xff; 11]).varint("v").is_err());
        assert!(Reader::new(&[0x80]).varint("v").is_err());
    }

    #[test]
    fn a_length_beyond_the_end_is_an_error() {
        let mut bytes = Vec::new();
        bytes.put_prefixed(b"abc");
        bytes[0] = 200;
        let error = Reader::new(&bytes).prefixed("name").unwrap_err();
        assert_eq!(error, DecodeError::Short { field: "name", offset: 4, expected: 200, got: 3 });
    }
}
