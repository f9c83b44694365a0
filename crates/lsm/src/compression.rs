//! [`Compression`]: the codecs of blocks. [`LevelCompression`]: the codecs of new tables by level.
//! The layout is `docs/format/table.md`.
//!
//! - A block that compression makes smaller by less than an eighth is stored uncompressed.
//! - A compressed block declares its length before compression. A length that is too large, or
//!   impossible for so few compressed bytes, is refused before memory is allocated.
//! - The working memory of Zstandard is kept per thread until the thread ends, and no budget counts
//!   it.
//!
//! Any number of threads; no locks.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use zstd::bulk::{Compressor, Decompressor};

/// The largest block before compression: one entry of the largest key and value fits.
const CONTENTS_BYTES_MAX: usize = 128 << 20;
/// Bytes at the head of a compressed block: its length before compression.
const HEADER_BYTES: usize = 4;
/// A byte of LZ4 stands for at most 255 bytes: a further byte of a match's length.
const LZ4_RATIO_MAX: usize = 255;
/// Four bytes of a Zstandard frame stand for at most 128 KiB: a block of one repeated byte (RFC
/// 8878, section 3.1.1.2).
const ZSTD_RATIO_MAX: usize = (128 << 10) / 4;
/// Zstandard's own default: at higher levels, blocks of some KiB get hardly smaller and much
/// slower.
const ZSTD_LEVEL: i32 = 3;

/// Compression of a block. Tables of any kind can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// LZ4: some 500 MB a second to write, 2 GB a second to read, per core.
    Lz4,
    /// Zstandard: some 150 MB a second to write, 600 MB a second to read, per core; a quarter to a
    /// half smaller than LZ4.
    Zstd,
}

/// Compression of the tables of each level.
///
/// The last level holds most of the data and is rewritten least often, so a slow codec pays there.
/// The upper levels are small, and are soon merged again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LevelCompression {
    /// Compression of level 0, and of all levels above the last.
    pub upper: Compression,
    /// Compression of the last level when the table is written, and of levels below it.
    pub last: Compression,
}

impl LevelCompression {
    /// LZ4, and Zstandard in the last level.
    pub const MIXED: Self = Self { upper: Compression::Lz4, last: Compression::Zstd };

    /// Compression of a table of `level`, where `last` is the last level that is not empty.
    pub(crate) fn of(&self, level: u8, last: u8) -> Compression {
        if level > 0 && level >= last { self.last } else { self.upper }
    }
}

/// A text that names no compression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `none`, `lz4`, `zstd`, `mixed`, or two of the first three with a comma between them, \
     for the upper levels and for the last, found `{0}`"
)]
pub struct ParseCompressionError(String);

/// `lz4` for all levels, `zstd,none` for the upper levels and the last, and `mixed` for `lz4,zstd`.
impl fmt::Display for LevelCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MIXED => f.pad("mixed"),
            Self { upper, last } if upper == last => f.pad(upper.name()),
            Self { upper, last } => f.pad(&format!("{},{}", upper.name(), last.name())),
        }
    }
}

impl FromStr for LevelCompression {
    type Err = ParseCompressionError;

    fn from_str(text: &str) -> Result<Self, ParseCompressionError> {
        if text == "mixed" {
            return Ok(Self::MIXED);
        }
        let (upper, last) = text.split_once(',').unwrap_or((text, text));
        match (Compression::of_name(upper), Compression::of_name(last)) {
            (Some(upper), Some(last)) => Ok(Self { upper, last }),
            _ => Err(ParseCompressionError(text.to_owned())),
        }
    }
}

impl From<Compression> for LevelCompression {
    /// The same for all levels.
    fn from(compression: Compression) -> Self {
        Self { upper: compression, last: compression }
    }
}

impl Compression {
    const ALL: [Self; 3] = [Self::None, Self::Lz4, Self::Zstd];

    /// Its name: `none`, `lz4` or `zstd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Its number in a block's frame.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
            Self::Zstd => 2,
        }
    }

    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.number() == number)
    }

    /// The compressed contents; `None` when compression saves less than an eighth.
    pub(super) fn compress(self, contents: &[u8]) -> Option<Vec<u8>> {
        let bound = match self {
            Self::None => return None,
            Self::Lz4 => lz4_flex::block::get_maximum_output_size(contents.len()),
            Self::Zstd => zstd::zstd_safe::compress_bound(contents.len()),
        };
        let length = u32::try_from(contents.len()).expect("a block below its limit");
        let mut stored = vec![0; HEADER_BYTES + bound];
        let (header, into) = stored.split_at_mut(HEADER_BYTES);
        header.copy_from_slice(&length.to_le_bytes());
        let size = match self {
            Self::None => return None,
            Self::Lz4 => lz4_flex::block::compress_into(contents, into).ok()?,
            Self::Zstd => with_compressor(|zstd| zstd.compress_to_buffer(contents, into).ok())?,
        };
        stored.truncate(HEADER_BYTES + size);
        (stored.len() <= contents.len() - contents.len() / 8).then_some(stored)
    }

    /// The contents of a stored block, or the defect of the block.
    pub(super) fn decompress(self, stored: &Bytes) -> Result<Bytes, String> {
        let ratio_max = match self {
            Self::None => return Ok(stored.clone()),
            Self::Lz4 => LZ4_RATIO_MAX,
            Self::Zstd => ZSTD_RATIO_MAX,
        };
        let Some((length, compressed)) = stored.split_first_chunk::<HEADER_BYTES>() else {
            return Err(format!("{} bytes", stored.len()));
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > CONTENTS_BYTES_MAX || length > compressed.len().saturating_mul(ratio_max) {
            return Err(format!("{} bytes for a length of {length}", compressed.len()));
        }
        let mut plain = vec![0; length];
        let size = match self {
            Self::None => 0,
            Self::Lz4 => lz4_flex::block::decompress_into(compressed, &mut plain)
                .map_err(|error| error.to_string())?,
            Self::Zstd => with_decompressor(|zstd| {
                zstd.decompress_to_buffer(compressed, &mut plain[..])
                    .map_err(|error| error.to_string())
            })?,
        };
        if size != length {
            return Err(format!("{size} bytes for a length of {length}"));
        }
        Ok(plain.into())
    }
}

fn with_compressor<R>(work: impl FnOnce(&mut Compressor<'static>) -> R) -> R {
    thread_local! {
        static COMPRESSOR: RefCell<Compressor<'static>> =
            RefCell::new(Compressor::new(ZSTD_LEVEL).expect("a level that exists"));
    }
    COMPRESSOR.with_borrow_mut(work)
}

fn with_decompressor<R>(work: impl FnOnce(&mut Decompressor<'static>) -> R) -> R {
    thread_local! {
        static DECOMPRESSOR: RefCell<Decompressor<'static>> =
            RefCell::new(Decompressor::new().expect("no dictionary that could be wrong"));
    }
    DECOMPRESSOR.with_borrow_mut(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODECS: [Compression; 2] = [Compression::Lz4, Compression::Zstd];

    #[test]
    fn contents_read_back_and_get_smaller() {
        let text = b"so much of the same, so much of the same, so much of the same".repeat(20);
        for codec in CODECS {
            let stored = codec.compress(&text).expect("repeated text");
            assert!(stored.len() < text.len() / 4, "{codec:?}");
            assert_eq!(codec.decompress(&stored.into()).unwrap(), text);
        }
    }

    #[test]
    fn what_does_not_get_smaller_is_left_as_it_is() {
        let noise: Vec<u8> = (0..100u32)
            .map(|i| (i.wrapping_mul(i).wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        for codec in CODECS {
            assert_eq!(codec.compress(&noise), None);
            assert_eq!(codec.compress(&[]), None);
        }
    }

    #[test]
    fn a_length_that_is_not_the_contents_own_is_refused() {
        let text = vec![7; 100_000];
        for codec in CODECS {
            let stored = codec.compress(&text).expect("repeated text");
            for length in [0, 99_999, 100_001, 64 << 20, CONTENTS_BYTES_MAX as u32 + 1, u32::MAX] {
                let mut wrong = stored.clone();
                wrong[..HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
                assert!(codec.decompress(&wrong.into()).is_err(), "{codec:?} {length}");
            }
        }
    }

    /// A length beyond any ratio is refused before decompression, so without memory for it.
    #[test]
    fn a_length_beyond_any_ratio_is_refused_at_once() {
        for (codec, ratio) in [(Compression::Lz4, 255), (Compression::Zstd, 32 << 10)] {
            let stored =
                |length: u32| Bytes::from([&length.to_le_bytes()[..], &[0xff; 16]].concat());
            let error = codec.decompress(&stored(16 * ratio + 1)).unwrap_err();
            assert!(error.contains("for a length of"), "{error}");
            let error = codec.decompress(&stored(16 * ratio)).unwrap_err();
            assert!(!error.contains("for a length of"), "the codec's own complaint: {error}");
        }
    }

    #[test]
    fn no_flipped_bit_and_no_truncation_gives_more_than_was_declared() {
        let text = b"some text of moderate length, some text".repeat(4);
        for codec in CODECS {
            let stored = codec.compress(&text).expect("repeated text");
            for bit in 0..stored.len() * 8 {
                let mut flipped = stored.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let declared = u32::from_le_bytes(*flipped.first_chunk().unwrap()) as usize;
                if let Ok(plain) = codec.decompress(&flipped.into()) {
                    assert_eq!(plain.len(), declared);
                }
            }
            for len in 0..stored.len() {
                assert!(codec.decompress(&stored[..len].to_vec().into()).is_err(), "{len}");
            }
        }
    }

    #[test]
    fn every_compression_reads_back_from_its_text() {
        for upper in Compression::ALL {
            for last in Compression::ALL {
                let of_levels = LevelCompression { upper, last };
                assert_eq!(of_levels.to_string().parse(), Ok(of_levels));
            }
        }
        assert_eq!(LevelCompression::MIXED.to_string(), "mixed");
        assert!("lz4,zstd,none".parse::<LevelCompression>().is_err());
    }

    #[test]
    fn the_last_level_is_never_level_0() {
        let (upper, last) = (Compression::None, Compression::Zstd);
        let ladder = LevelCompression { upper, last };
        let of = |level, last| ladder.of(level, last);
        assert_eq!([of(0, 0), of(1, 0), of(1, 1), of(1, 3)], [upper, last, last, upper]);
        assert_eq!(of(4, 3), last);
        assert_eq!(LevelCompression::from(Compression::Lz4).of(7, 2), Compression::Lz4);
    }
}
