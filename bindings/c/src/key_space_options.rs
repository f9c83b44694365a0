//! [`TerraceKeySpaceOptions`]: options of one key space. The store remembers them.

use std::mem::MaybeUninit;
use std::time::Duration;

use terrace::KeySpaceOptions;

use crate::TerraceCode;
use crate::failure::{Failure, given, guard, unused};
use crate::key_space::{TerraceKeySpace, space_of};
use crate::table_options::{block_size, filter_bits, level_compression, number, number_of_bits};

/// The `ttl` of a key space whose entries stay.
pub const TERRACE_NO_TTL: u64 = u64::MAX;

/// Options of one key space. In a change, 0 leaves an option unchanged. In the options of a key
/// space, 0 stands for an option that was never stated: the one of the store, and entries that
/// stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceKeySpaceOptions {
    /// Milliseconds that an entry stays which is put without a date; `TERRACE_NO_TTL` for ever.
    pub ttl: u64,
    /// As in `TerraceTableOptions`.
    pub compression: u32,
    /// As in `TerraceTableOptions`.
    pub compression_last: u32,
    /// As in `TerraceTableOptions`.
    pub filter_bits: u32,
    /// As in `TerraceTableOptions`.
    pub block_size: u32,
    /// Not used; 0.
    pub reserved: [u32; 10],
}

impl TerraceKeySpaceOptions {
    fn stated(&self) -> Result<KeySpaceOptions, Failure> {
        unused(&self.reserved, "key space options")?;
        Ok(KeySpaceOptions {
            block_size: block_size(self.block_size),
            compression: level_compression(self.compression, self.compression_last)?,
            filter_bits: filter_bits(self.filter_bits),
            ttl: match self.ttl {
                0 => None,
                TERRACE_NO_TTL => Some(Duration::ZERO),
                milliseconds => Some(Duration::from_millis(milliseconds)),
            },
        })
    }

    fn of(options: KeySpaceOptions) -> Self {
        let milliseconds = |ttl: Duration| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self {
            ttl: match options.ttl {
                None => 0,
                Some(Duration::ZERO) => TERRACE_NO_TTL,
                Some(ttl) => milliseconds(ttl),
            },
            compression: options.compression.map_or(0, |levels| number(levels.upper)),
            compression_last: options.compression.map_or(0, |levels| number(levels.last)),
            filter_bits: options.filter_bits.map_or(0, number_of_bits),
            block_size: options
                .block_size
                .map_or(0, |size| u32::try_from(size.0).unwrap_or(u32::MAX)),
            reserved: [0; 10],
        }
    }
}

/// Reads the options of a key space: those that were stated for it.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_key_space_options(
    space: Option<&TerraceKeySpace>,
    options: Option<&mut MaybeUninit<TerraceKeySpaceOptions>>,
) -> TerraceCode {
    guard(|| {
        let stated = space_of(space, 0)?.options();
        given(options, "options")?.write(TerraceKeySpaceOptions::of(stated));
        Ok(())
    })
}

/// Changes the options of a key space, now and for later openings. The change is durable when this
/// returns. Entries and tables that are there stay as they are: tables until they are compacted.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_key_space_set_options(
    space: Option<&TerraceKeySpace>,
    options: Option<&TerraceKeySpaceOptions>,
) -> TerraceCode {
    guard(|| {
        let stated = given(options, "options")?.stated()?;
        Ok(space_of(space, 0)?.set_options(stated)?)
    })
}
