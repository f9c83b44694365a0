//! [`TableOptions`]: the options that shape tables, each of which a store remembers once it was
//! stated. [`TableShape`]: their values, with the default of each that was never stated.
//!
//! - An option is stated when a store is made, by an opening for writing, or by a change
//!   ([`Engine::set_table_options`](crate::Engine::set_table_options)). An opening that states a
//!   value other than the remembered one is refused: it would change the store in passing.
//! - The layout in the store's annotation is `docs/format/annotation.md`. A value on the medium
//!   that is out of its range is corruption.
//!
//! Plain values.

use std::fmt;

use serde::{Deserialize, Serialize};
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{ByteCount, Limit, OutOfRange};

use crate::compression::{Compression, LevelCompression};
use crate::limits;

/// Bits of the options that the store's annotation has.
const PART_BLOCK_SIZE: u8 = 1;
const PART_COMPRESSION: u8 = 2;
const PART_FILTER_BITS: u8 = 4;
const PART_FIRST_KEYS: u8 = 8;
const PARTS: u8 = PART_BLOCK_SIZE | PART_COMPRESSION | PART_FILTER_BITS | PART_FIRST_KEYS;

const REMEMBERED: &str = "the store remembers it: leave the option out, or change what the store \
                          remembers, by `set_table_options` or `terrace options`";

/// Options that shape tables; `None`: not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableOptions {
    /// The size of a data block.
    pub block_size: Option<ByteCount>,
    /// How the tables of each level are compressed.
    pub compression: Option<LevelCompression>,
    /// Bits per key of filters; 0 for none.
    pub filter_bits: Option<u8>,
    /// Whether indexes have the first key of each data block.
    pub first_keys: Option<bool>,
}

/// Values of the options that shape tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableShape {
    /// The size of a data block.
    pub block_size: ByteCount,
    /// How the tables of each level are compressed.
    pub compression: LevelCompression,
    /// Bits per key of filters; 0 for none.
    pub filter_bits: u8,
    /// Whether indexes have the first key of each data block.
    pub first_keys: bool,
}

impl Default for TableShape {
    fn default() -> Self {
        Self {
            block_size: ByteCount::kib(4),
            compression: LevelCompression::default(),
            filter_bits: 10,
            first_keys: false,
        }
    }
}

impl TableOptions {
    /// The values, with the default of each option that is not stated.
    #[must_use]
    pub fn shape(&self) -> TableShape {
        let default = TableShape::default();
        TableShape {
            block_size: self.block_size.unwrap_or(default.block_size),
            compression: self.compression.unwrap_or(default.compression),
            filter_bits: self.filter_bits.unwrap_or(default.filter_bits),
            first_keys: self.first_keys.unwrap_or(default.first_keys),
        }
    }

    /// The same, and `others` for options that are not stated here.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            block_size: self.block_size.or(others.block_size),
            compression: self.compression.or(others.compression),
            filter_bits: self.filter_bits.or(others.filter_bits),
            first_keys: self.first_keys.or(others.first_keys),
        }
    }

    /// Checks that every option is within its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.block_size.map_or(Ok(()), |size| limits::BLOCK_SIZE.check(size))?;
        self.filter_bits.map_or(Ok(()), |bits| limits::FILTER_BITS.check(bits))
    }

    /// Checks that an opening that states `asked` would not change a value remembered here.
    pub(crate) fn check_asked(&self, asked: &Self) -> Result<(), OutOfRange> {
        self.check_same(asked, REMEMBERED)
    }

    /// The same; `reason` says where the values here come from.
    pub(super) fn check_same(&self, asked: &Self, reason: &'static str) -> Result<(), OutOfRange> {
        same(limits::BLOCK_SIZE.option, self.block_size, asked.block_size, reason)?;
        same("compression", self.compression, asked.compression, reason)?;
        same(limits::FILTER_BITS.option, self.filter_bits, asked.filter_bits, reason)?;
        same("first_keys", self.first_keys.map(OnOff), asked.first_keys.map(OnOff), reason)
    }

    /// Whether none is stated.
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        let has = |there: bool, part: u8| if there { part } else { 0 };
        to.put_u8(
            has(self.block_size.is_some(), PART_BLOCK_SIZE)
                | has(self.compression.is_some(), PART_COMPRESSION)
                | has(self.filter_bits.is_some(), PART_FILTER_BITS)
                | has(self.first_keys.is_some(), PART_FIRST_KEYS),
        );
        if let Some(size) = self.block_size {
            to.put_u32(u32::try_from(size.0).expect("a block within its limit"));
        }
        if let Some(LevelCompression { upper, last }) = self.compression {
            to.put_u8(upper.number());
            to.put_u8(last.number());
        }
        if let Some(bits) = self.filter_bits {
            to.put_u8(bits);
        }
        if let Some(first_keys) = self.first_keys {
            to.put_u8(first_keys.into());
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let parts = reader.u8("table options")?;
        if parts == 0 || parts & !PARTS > 0 {
            return Err(reader.wrong("table options", 1, "bits 1, 2, 4 and 8", parts.into()));
        }
        let mut read = Self::default();
        if parts & PART_BLOCK_SIZE > 0 {
            read.block_size = Some(read_block_size(reader)?);
        }
        if parts & PART_COMPRESSION > 0 {
            read.compression = Some(read_level_compression(reader)?);
        }
        if parts & PART_FILTER_BITS > 0 {
            read.filter_bits = Some(read_filter_bits(reader)?);
        }
        if parts & PART_FIRST_KEYS > 0 {
            read.first_keys = match reader.u8("first keys")? {
                number @ 0..=1 => Some(number > 0),
                number => return Err(reader.wrong("first keys", 1, "0 or 1", number.into())),
            };
        }
        Ok(read)
    }
}

fn is_within<T: PartialOrd>(limit: &Limit<T>, value: T) -> bool {
    (&limit.least..=&limit.most).contains(&&value)
}

pub(super) fn read_block_size(reader: &mut Reader<'_>) -> Result<ByteCount, DecodeError> {
    let size = ByteCount(reader.u32("block size")?.into());
    if is_within(&limits::BLOCK_SIZE, size) {
        return Ok(size);
    }
    Err(reader.wrong("block size", 4, "1 byte to 1 MiB", size.0))
}

pub(super) fn read_filter_bits(reader: &mut Reader<'_>) -> Result<u8, DecodeError> {
    let bits = reader.u8("filter bits")?;
    if is_within(&limits::FILTER_BITS, bits) {
        return Ok(bits);
    }
    Err(reader.wrong("filter bits", 1, "0 to 32", bits.into()))
}

pub(super) fn read_level_compression(
    reader: &mut Reader<'_>,
) -> Result<LevelCompression, DecodeError> {
    let (upper, last) = (read_compression(reader)?, read_compression(reader)?);
    Ok(LevelCompression { upper, last })
}

fn read_compression(reader: &mut Reader<'_>) -> Result<Compression, DecodeError> {
    let number = reader.u8("compression")?;
    let known = Compression::of_number(number);
    known.ok_or_else(|| reader.wrong("compression", 1, "0 to 2", number.into()))
}

/// A switch, in the words in which it is typed.
#[derive(Clone, Copy, PartialEq)]
struct OnOff(bool);

impl fmt::Display for OnOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "on" } else { "off" })
    }
}

/// An option that is asked for has the remembered value, or none is remembered.
pub(super) fn same<T: Copy + PartialEq + ToString>(
    option: &'static str,
    remembered: Option<T>,
    asked: Option<T>,
    reason: &'static str,
) -> Result<(), OutOfRange> {
    match (remembered, asked) {
        (Some(remembered), Some(asked)) if remembered != asked => Err(OutOfRange {
            option: option.into(),
            got: asked.to_string().into(),
            expected: remembered.to_string().into(),
            reason,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_out_of_its_range_is_no_option_of_a_store() {
        let bytes = |options: TableOptions| {
            let mut bytes = Vec::new();
            options.encode(&mut bytes);
            bytes
        };
        let read = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            TableOptions::read(&mut reader).and_then(|read| reader.finish("").map(|()| read))
        };
        let compression = LevelCompression { upper: Compression::Lz4, last: Compression::Zstd };
        let all = TableOptions {
            block_size: Some(ByteCount::mib(1)),
            compression: Some(compression),
            filter_bits: Some(32),
            first_keys: Some(true),
        };
        let some = TableOptions { filter_bits: Some(0), ..TableOptions::default() };
        let switch = TableOptions { first_keys: Some(false), ..TableOptions::default() };
        for options in [all, some, switch] {
            assert_eq!(read(&bytes(options)).unwrap(), options);
        }
        let whole = bytes(all);
        for (at, wrong) in [(0, 0), (0, 31), (3, 17), (5, 3), (6, 9), (7, 33), (8, 2)] {
            let mut damaged = whole.clone();
            damaged[at] = wrong;
            assert!(read(&damaged).is_err(), "{wrong} at {at}");
        }
    }

    #[test]
    fn an_opening_may_state_what_is_remembered_or_was_never_stated() {
        let remembered = TableOptions { filter_bits: Some(15), ..TableOptions::default() };
        let block_size = Some(ByteCount::kib(16));
        let asked = TableOptions { block_size, ..remembered };
        remembered.check_asked(&asked).unwrap();
        remembered.check_asked(&TableOptions::default()).unwrap();
        let other = TableOptions { filter_bits: Some(10), ..asked };
        let text = remembered.check_asked(&other).unwrap_err().to_string();
        assert!(text.starts_with("filter_bits is 10: expected 15; the store remembers"), "{text}");
        let remembered = TableOptions { first_keys: Some(true), ..remembered };
        let other = TableOptions { first_keys: Some(false), ..remembered };
        let text = remembered.check_asked(&other).unwrap_err().to_string();
        assert!(text.starts_with("first_keys is off: expected on; the store remembers"), "{text}");
    }
}
