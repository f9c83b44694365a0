//! [`TerraceTableOptions`]: the options that shape a store's tables. The store remembers them.

use std::mem::MaybeUninit;

use terrace::{ByteCount, Compression, LevelCompression, TableOptions};

use crate::TerraceCode;
use crate::failure::{Failure, given, guard, unused};
use crate::store::TerraceStore;

/// Compression of blocks of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TerraceCompression {
    /// The value that the store remembers.
    Unchanged = 0,
    /// No compression.
    None = 1,
    /// LZ4.
    Lz4 = 2,
    /// Zstandard: smaller, and it takes three times the processor time.
    Zstd = 3,
}

/// A switch in a change of options, in which 0 leaves it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TerraceSwitch {
    /// Off.
    Off = 1,
    /// On.
    On = 2,
}

/// The `filter_bits` of a store without filters.
pub const TERRACE_NO_FILTERS: u32 = 255;

/// The options that shape a store's tables. In a change, 0 leaves an option unchanged; the options
/// of a store have no 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceTableOptions {
    /// A `TerraceCompression`, for all levels of tables except the last.
    pub compression: u32,
    /// A `TerraceCompression`, for the last level, which holds most of the data. To be given if and
    /// only if `compression` is.
    pub compression_last: u32,
    /// Bits for a key of the filters that tell absent keys without a read, at most 32;
    /// `TERRACE_NO_FILTERS` for none.
    pub filter_bits: u32,
    /// Bytes of the blocks in which tables are read, at most 1 MiB.
    pub block_size: u32,
    /// A `TerraceSwitch`: whether indexes have the first key of each block, so that short scans of
    /// many runs read less.
    pub first_keys: u32,
    /// Not used; 0.
    pub reserved: [u32; 11],
}

fn compression(number: u32, field: &str) -> Result<Option<Compression>, Failure> {
    const KNOWN: [Option<Compression>; 4] =
        [None, Some(Compression::None), Some(Compression::Lz4), Some(Compression::Zstd)];
    KNOWN
        .get(number as usize)
        .copied()
        .ok_or_else(|| Failure::invalid(format_args!("{field}: expected 0 to 3, found {number}")))
}

/// The compression of both kinds of levels, or of neither.
pub(crate) fn level_compression(
    upper: u32,
    last: u32,
) -> Result<Option<LevelCompression>, Failure> {
    match (compression(upper, "compression")?, compression(last, "compression_last")?) {
        (None, None) => Ok(None),
        (Some(upper), Some(last)) => Ok(Some(LevelCompression { upper, last })),
        _ => Err(Failure::invalid(format_args!(
            "compression: expected it and compression_last, or neither, found {upper} and {last}"
        ))),
    }
}

/// The bits of filters; `None`: unchanged.
pub(crate) fn filter_bits(number: u32) -> Option<u8> {
    match number {
        0 => None,
        TERRACE_NO_FILTERS => Some(0),
        bits => Some(u8::try_from(bits).unwrap_or(u8::MAX)),
    }
}

/// The number of these bits.
pub(crate) fn number_of_bits(bits: u8) -> u32 {
    if bits == 0 { TERRACE_NO_FILTERS } else { bits.into() }
}

/// The size of blocks; `None`: unchanged.
pub(crate) fn block_size(number: u32) -> Option<ByteCount> {
    (number > 0).then(|| ByteCount(number.into()))
}

/// The `TerraceCompression` of a compression.
pub(crate) fn number(compression: Compression) -> u32 {
    let named = match compression {
        Compression::None => TerraceCompression::None,
        Compression::Lz4 => TerraceCompression::Lz4,
        Compression::Zstd => TerraceCompression::Zstd,
    };
    named as u32
}

impl TerraceTableOptions {
    fn stated(&self) -> Result<TableOptions, Failure> {
        unused(&self.reserved, "table options")?;
        let compression = level_compression(self.compression, self.compression_last)?;
        let first_keys = match self.first_keys {
            0 => None,
            number if number == TerraceSwitch::Off as u32 => Some(false),
            number if number == TerraceSwitch::On as u32 => Some(true),
            number => {
                return Err(Failure::invalid(format_args!(
                    "first_keys: expected 0 to 2, found {number}"
                )));
            }
        };
        Ok(TableOptions {
            block_size: block_size(self.block_size),
            compression,
            filter_bits: filter_bits(self.filter_bits),
            first_keys,
        })
    }
}

/// Reads the options that shape the store's tables: the remembered values, and the defaults of
/// those that were never stated.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_table_options(
    store: Option<&TerraceStore>,
    options: Option<&mut MaybeUninit<TerraceTableOptions>>,
) -> TerraceCode {
    guard(|| {
        let shape = given(store, "store")?.db.table_options().shape();
        given(options, "options")?.write(TerraceTableOptions {
            compression: number(shape.compression.upper),
            compression_last: number(shape.compression.last),
            filter_bits: number_of_bits(shape.filter_bits),
            block_size: u32::try_from(shape.block_size.0).unwrap_or(u32::MAX),
            first_keys: match shape.first_keys {
                false => TerraceSwitch::Off as u32,
                true => TerraceSwitch::On as u32,
            },
            reserved: [0; 11],
        });
        Ok(())
    })
}

/// Changes the options that shape the store's tables, now and for later openings. The change is
/// durable when this returns. Existing tables do not change until they are compacted.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_set_table_options(
    store: Option<&TerraceStore>,
    options: Option<&TerraceTableOptions>,
) -> TerraceCode {
    guard(|| {
        let stated = given(options, "options")?.stated()?;
        Ok(given(store, "store")?.db.set_table_options(stated)?)
    })
}
