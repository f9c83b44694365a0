//! [`KeySpaceOptions`]: the options that a key space can have of its own, each of which the store
//! remembers once it was stated.
//!
//! - An option is stated when the key space is made, when it is opened with options, or by a change
//!   ([`Engine::set_key_space_options`](crate::Engine::set_key_space_options)). To open a key space
//!   with a value other than the remembered one is refused.
//! - An option that shapes tables and was never stated is the store's
//!   ([`TableOptions`]).
//! - The layout in a list of key spaces is `docs/format/annotation.md`. A value on the medium that
//!   is out of its range is corruption.
//!
//! Plain values.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{ByteCount, OutOfRange};

use super::table_options::{
    TableOptions, TableShape, read_block_size, read_filter_bits, read_level_compression, same,
};
use crate::compression::LevelCompression;
use crate::limits;

/// Bits of the options that a key space has.
const PART_BLOCK_SIZE: u8 = 1;
const PART_COMPRESSION: u8 = 2;
const PART_FILTER_BITS: u8 = 4;
const PART_TTL: u8 = 8;
const PARTS: u8 = PART_BLOCK_SIZE | PART_COMPRESSION | PART_FILTER_BITS | PART_TTL;

const REMEMBERED: &str = "the key space remembers it: leave the option out, or change it by \
                          `set_options` or `terrace options --space`";

/// Options of one key space; `None`: not stated.
///
/// ```
/// use std::time::Duration;
/// use terrace_lsm::{Compression, KeySpaceOptions};
///
/// let sessions = KeySpaceOptions::default().ttl(Duration::from_secs(1800)).filter_bits(15);
/// let archive = KeySpaceOptions::default().compression(Compression::Zstd);
/// assert_eq!((sessions.compression, archive.filter_bits), (None, None), "those of the store");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySpaceOptions {
    /// The size of a data block of its entries. `None`: that of the store.
    pub block_size: Option<ByteCount>,
    /// How its data blocks are compressed, by level. `None`: as those of the store.
    pub compression: Option<LevelCompression>,
    /// Bits per key of the filters of its keys; 0 for none. `None`: those of the store.
    pub filter_bits: Option<u8>,
    /// How long an entry stays that is put without an expiry, to the millisecond, from the write
    /// on; zero: for ever. Other entries, and those that were there before, are as they were
    /// written. `None`: for ever.
    pub ttl: Option<Duration>,
}

impl KeySpaceOptions {
    /// Sets [`block_size`](field@Self::block_size).
    #[must_use]
    pub fn block_size(mut self, block_size: impl Into<Option<ByteCount>>) -> Self {
        self.block_size = block_size.into();
        self
    }

    /// Sets [`compression`](field@Self::compression).
    #[must_use]
    pub fn compression(mut self, compression: impl Into<LevelCompression>) -> Self {
        self.compression = Some(compression.into());
        self
    }

    /// Sets [`filter_bits`](field@Self::filter_bits).
    #[must_use]
    pub fn filter_bits(mut self, filter_bits: impl Into<Option<u8>>) -> Self {
        self.filter_bits = filter_bits.into();
        self
    }

    /// Sets [`ttl`](field@Self::ttl).
    #[must_use]
    pub fn ttl(mut self, ttl: impl Into<Option<Duration>>) -> Self {
        self.ttl = ttl.into();
        self
    }

    /// The same, with those of `others` that are not stated here.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            block_size: self.block_size.or(others.block_size),
            compression: self.compression.or(others.compression),
            filter_bits: self.filter_bits.or(others.filter_bits),
            ttl: self.ttl.or(others.ttl),
        }
    }

    /// Checks that every option is within its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.tables().check()?;
        self.ttl.map_or(Ok(()), |ttl| limits::TTL.check(millis(ttl)))
    }

    /// Whether none is stated.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// How long an entry stays that is put without an expiry, if not for ever.
    #[must_use]
    pub fn ttl_of_puts(&self) -> Option<Duration> {
        self.ttl.filter(|ttl| !ttl.is_zero())
    }

    /// The options in the form in which they are remembered: a part of a millisecond counts as a
    /// whole one.
    pub(crate) fn rounded(self) -> Self {
        Self { ttl: self.ttl.map(|ttl| Duration::from_millis(millis(ttl))), ..self }
    }

    /// Checks that an opening which states `asked` changes nothing that is remembered here.
    pub(crate) fn check_asked(&self, asked: &Self) -> Result<(), OutOfRange> {
        self.tables().check_same(&asked.tables(), REMEMBERED)?;
        let millis = |options: &Self| options.ttl.map(millis);
        same(limits::TTL.option, millis(self), millis(asked), REMEMBERED)
    }

    /// The shape of its part of a table, in a store of this shape.
    pub(crate) fn shape(&self, store: TableShape) -> TableShape {
        TableShape {
            block_size: self.block_size.unwrap_or(store.block_size),
            compression: self.compression.unwrap_or(store.compression),
            filter_bits: self.filter_bits.unwrap_or(store.filter_bits),
            first_keys: store.first_keys,
        }
    }

    /// Those that shape tables.
    fn tables(&self) -> TableOptions {
        let Self { block_size, compression, filter_bits, ttl: _ } = *self;
        TableOptions { block_size, compression, filter_bits, first_keys: None }
    }

    /// The bytes of its form in a list of key spaces.
    pub(crate) fn encoded_len(&self) -> usize {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes.len()
    }

    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        let has = |there: bool, part: u8| if there { part } else { 0 };
        to.put_u8(
            has(self.block_size.is_some(), PART_BLOCK_SIZE)
                | has(self.compression.is_some(), PART_COMPRESSION)
                | has(self.filter_bits.is_some(), PART_FILTER_BITS)
                | has(self.ttl.is_some(), PART_TTL),
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
        if let Some(ttl) = self.ttl {
            to.put_u64(millis(ttl));
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let parts = reader.u8("options of a key space")?;
        if parts & !PARTS > 0 {
            return Err(reader.wrong(
                "options of a key space",
                1,
                "bits 1, 2, 4 and 8",
                parts.into(),
            ));
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
        if parts & PART_TTL > 0 {
            let ttl = reader.u64("time to live")?;
            if limits::TTL.check(ttl).is_err() {
                return Err(reader.wrong("time to live", 8, "at most 1,000 years", ttl));
            }
            read.ttl = Some(Duration::from_millis(ttl));
        }
        Ok(read)
    }
}

/// Milliseconds, a part of one counted as a whole one.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compression;

    fn all() -> KeySpaceOptions {
        KeySpaceOptions {
            block_size: Some(ByteCount::mib(1)),
            compression: Some(LevelCompression {
                upper: Compression::Lz4,
                last: Compression::Zstd,
            }),
            filter_bits: Some(32),
            ttl: Some(Duration::from_secs(60)),
        }
    }

    #[test]
    fn options_read_back_and_a_value_out_of_its_range_is_refused() {
        let bytes = |options: KeySpaceOptions| {
            let mut bytes = Vec::new();
            options.encode(&mut bytes);
            bytes
        };
        let read = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            KeySpaceOptions::read(&mut reader).and_then(|read| reader.finish("").map(|()| read))
        };
        let none = KeySpaceOptions::default();
        for options in [none, all(), none.ttl(Duration::ZERO), none.filter_bits(0)] {
            assert_eq!(read(&bytes(options)).unwrap(), options);
            assert_eq!(options.encoded_len(), bytes(options).len());
        }
        let whole = bytes(all());
        for (at, wrong) in [(0, 16), (3, 17), (5, 3), (6, 9), (7, 33), (15, 2)] {
            let mut damaged = whole.clone();
            damaged[at] = wrong;
            assert!(read(&damaged).is_err(), "{wrong} at {at}");
        }
    }

    #[test]
    fn a_remembered_option_is_only_opened_with_its_value_or_without_one() {
        let (none, all) = (KeySpaceOptions::default(), all());
        for asked in [none, all, none.filter_bits(32)] {
            all.check_asked(&asked).unwrap();
        }
        none.check_asked(&all).unwrap();
        for (asked, text) in [
            (none.filter_bits(10), "filter_bits is 10: expected 32"),
            (none.ttl(Duration::ZERO), "ttl (ms) is 0: expected 60000"),
            (none.compression(Compression::Lz4), "compression is lz4: expected mixed"),
        ] {
            let found = all.check_asked(&asked).unwrap_err().to_string();
            assert!(found.starts_with(text) && found.contains("--space"), "{found}");
        }
        let century = Duration::from_secs(100 * 365 * 24 * 3600);
        none.ttl(century).check().unwrap();
        assert!(none.ttl(11 * century).check().is_err());
        assert!(none.filter_bits(33).check().is_err());
        let short = none.ttl(Duration::from_nanos(1)).rounded();
        assert_eq!(short.ttl, Some(Duration::from_millis(1)));
    }
}
