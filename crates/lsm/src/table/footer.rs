//! Codec of a table's [`Footer`] and [`Properties`]. The layout is `docs/format/table.md`.
//!
//! The footer is the end of the file, has no frame, and has its own checksum. It has the places of
//! the properties, the index and the filter. In a table with partitions it has the place of the
//! index of partitions, and no filter. The properties have the place of the range tombstones.
//!
//! - [`Footer::decode`] checks that these places lie before the footer, and that the footer has the
//!   file's length. Damage is [`Error::Corruption`]; an unknown version, feature or number of index
//!   levels is [`Error::Unsupported`].
//! - [`Properties::decode`] takes contents whose frame was verified. It skips unknown properties.
//!   Damage is a [`DecodeError`]. It does not check the place of the range tombstones.
//!
//! No locks and no I/O.

use terrace_env::checksum::crc32c;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{FileId, SeqNo};
use terrace_policy::Span;

use super::frame::{FRAME_BYTES, Handle};
use super::partition::PartitionHandles;
use crate::Error;
use crate::ranges::RangeSummary;

/// The size of a footer.
pub(crate) const FOOTER_BYTES: usize = 80;

const MAGIC: &[u8; 8] = b"TerTable";
const VERSION: u32 = 1;
const INDEX_LEVELS_MAX: u32 = 2;

/// Features that a reader must understand, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features(u32);

impl Features {
    /// Blocks are compressed by Zstandard.
    pub(crate) const ZSTD: Self = Self(1);
    /// The table has range tombstones, at a place in the properties.
    pub(crate) const RANGES: Self = Self(2);
    /// The index has the first key of each data block.
    pub(crate) const FIRST_KEYS: Self = Self(4);
    /// Features that this version understands.
    const KNOWN: Self = Self(Self::ZSTD.0 | Self::RANGES.0 | Self::FIRST_KEYS.0);

    /// Whether it has all features of `other`.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds the features of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A table's last bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) features: Features,
    pub(crate) tag: u64,
    /// 1: the index names the data blocks; 2: it names partitions, which name data blocks.
    pub(crate) index_levels: u32,
    pub(crate) index: Handle,
    pub(crate) filter: Option<Handle>,
    pub(crate) properties: Handle,
    /// Length of the file, this footer included.
    pub(crate) length: u64,
}

impl Footer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let filter = self.filter.unwrap_or(Handle { offset: 0, size: 0 });
        let mut bytes = Vec::with_capacity(FOOTER_BYTES);
        bytes.put(MAGIC);
        bytes.put_u32(VERSION);
        bytes.put_u32(self.features.0);
        bytes.put_u64(self.tag);
        bytes.put_u64(self.index.offset);
        bytes.put_u32(self.index.size);
        bytes.put_u32(self.index_levels);
        bytes.put_u64(filter.offset);
        bytes.put_u32(filter.size);
        bytes.put_u32(self.properties.size);
        bytes.put_u64(self.properties.offset);
        bytes.put_u64(self.length);
        bytes.put_u32(0);
        bytes.put_u32(crc32c(&bytes));
        assert_eq!(bytes.len(), FOOTER_BYTES, "the footer's layout");
        bytes
    }

    /// Reads and checks the footer of a file of `length` bytes.
    pub(crate) fn decode(file: FileId, length: u64, bytes: &[u8]) -> Result<Self, Error> {
        let region = || format!("table {file}, footer");
        let start = length.saturating_sub(FOOTER_BYTES as u64);
        let corrupt =
            |expected: String, got: String| Err(Error::corruption(region(), start, expected, got));
        let Some((covered, crc)) = bytes.split_last_chunk::<4>() else {
            return corrupt(format!("{FOOTER_BYTES} bytes"), bytes.len().to_string());
        };
        if !covered.starts_with(MAGIC) {
            let magic = covered[..covered.len().min(MAGIC.len())].escape_ascii();
            return corrupt("magic TerTable".into(), magic.to_string());
        }
        let (got, expected) = (u32::from_le_bytes(*crc), crc32c(covered));
        if got != expected {
            return corrupt(format!("checksum {expected:#010x}"), format!("{got:#010x}"));
        }
        let mut reader = Reader::new(covered);
        let wrong = |error: DecodeError| Error::decode(region(), start, &error);
        reader.bytes("magic", MAGIC.len()).map_err(wrong)?;
        let version = reader.u32("version").map_err(wrong)?;
        let features = reader.u32("features").map_err(wrong)?;
        for (field, supported, got, known) in [
            ("version", VERSION, version, (1..=VERSION).contains(&version)),
            ("features", Features::KNOWN.0, features, features & !Features::KNOWN.0 == 0),
        ] {
            if !known {
                let (supported, got) = (u64::from(supported), u64::from(got));
                return Err(Error::Unsupported { region: region(), field, supported, got });
            }
        }
        let footer =
            Self::fields(&mut reader, Features(features), region()).map_err(
                |either| match either {
                    Either::Bytes(error) => wrong(error),
                    Either::Other(error) => error,
                },
            )?;
        if footer.length != length {
            return corrupt(format!("a file of {} bytes", footer.length), length.to_string());
        }
        let blocks = [Some(footer.index), footer.filter, Some(footer.properties)];
        for block in blocks.into_iter().flatten() {
            let end = block.offset.checked_add(u64::from(block.size));
            if end.is_none_or(|end| end > start) || (block.size as usize) < FRAME_BYTES {
                return corrupt(
                    format!("a block before {start}"),
                    format!("{} bytes at {}", block.size, block.offset),
                );
            }
        }
        Ok(footer)
    }

    /// End of the data blocks of a table with these partitions.
    pub(super) fn data_end(&self, partitions: &[PartitionHandles]) -> u64 {
        let parts = partitions.iter().flat_map(|one| [Some(one.index), one.filter]);
        let blocks = [self.filter, Some(self.index), Some(self.properties)];
        let offsets = parts.chain(blocks).flatten().map(|handle| handle.offset);
        offsets.min().unwrap_or(0)
    }

    fn fields(reader: &mut Reader<'_>, features: Features, region: String) -> Result<Self, Either> {
        let tag = reader.u64("tag")?;
        let index = Handle { offset: reader.u64("index offset")?, size: reader.u32("index size")? };
        let index_levels = reader.u32("index levels")?;
        if !(1..=INDEX_LEVELS_MAX).contains(&index_levels) {
            let (field, got) = ("index levels", u64::from(index_levels));
            let supported = u64::from(INDEX_LEVELS_MAX);
            return Err(Either::Other(Error::Unsupported { region, field, supported, got }));
        }
        let filter = Handle { offset: reader.u64("filter offset")?, size: reader.u32("size")? };
        let properties_size = reader.u32("properties size")?;
        let properties = Handle { offset: reader.u64("properties offset")?, size: properties_size };
        let length = reader.u64("length")?;
        let zero = reader.u32("zero")?;
        if zero != 0 {
            return Err(Either::Bytes(reader.wrong("zero", 4, "0", u64::from(zero))));
        }
        reader.finish("footer")?;
        let filter = (filter.size > 0).then_some(filter);
        Ok(Self { features, tag, index_levels, index, filter, properties, length })
    }
}

/// Fault of a field.
enum Either {
    Bytes(DecodeError),
    Other(Error),
}

impl From<DecodeError> for Either {
    fn from(error: DecodeError) -> Self {
        Self::Bytes(error)
    }
}

/// Properties of all entries of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Number of entries.
    pub entries: u64,
    /// Number of tombstones among them.
    pub tombstones: u64,
    /// The smallest sequence.
    pub first_sequence: SeqNo,
    /// The largest sequence.
    pub last_sequence: SeqNo,
    /// The smallest full key: key space (4 bytes, big-endian) and user key.
    pub smallest: Vec<u8>,
    /// The largest full key.
    pub largest: Vec<u8>,
    /// Bytes of keys and values, before compression.
    pub plain_bytes: u64,
    /// Place and summary of its range tombstones, if it has any.
    pub(crate) ranges: Option<(Handle, RangeSummary)>,
}

impl Properties {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut property = |id: u16, value: &[u8]| {
            bytes.put_u16(id);
            bytes.put_prefixed(value);
        };
        property(1, &self.entries.to_le_bytes());
        property(2, &self.tombstones.to_le_bytes());
        property(3, &self.first_sequence.0.to_le_bytes());
        property(4, &self.last_sequence.0.to_le_bytes());
        property(5, &self.smallest);
        property(6, &self.largest);
        property(7, &self.plain_bytes.to_le_bytes());
        if let Some((handle, summary)) = &self.ranges {
            let mut place = handle.offset.to_le_bytes().to_vec();
            place.put_u32(handle.size);
            property(8, &place);
            let mut known = summary.count.to_le_bytes().to_vec();
            known.put_prefixed(&summary.span.start);
            known.put_prefixed(&summary.span.end);
            property(9, &known);
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut properties = Self::default();
        let (mut last, mut seen) = (0, 0u16);
        let mut range_block = None;
        while !reader.is_empty() {
            let id = reader.u16("property id")?;
            if id <= last {
                return Err(reader.wrong("property id", 2, "growing ids", u64::from(id)));
            }
            last = id;
            let value = reader.prefixed("property")?;
            let number = || Reader::new(value).u64("property");
            let sequence = |number: u64| {
                let wrong = || reader.wrong("sequence", 8, "at most 56 bits", number);
                (number <= SeqNo::MAX.0).then_some(SeqNo(number)).ok_or_else(wrong)
            };
            match id {
                1 => properties.entries = number()?,
                2 => properties.tombstones = number()?,
                3 => properties.first_sequence = sequence(number()?)?,
                4 => properties.last_sequence = sequence(number()?)?,
                5 => properties.smallest = value.to_vec(),
                6 => properties.largest = value.to_vec(),
                7 => properties.plain_bytes = number()?,
                8 => range_block = Some(read_handle(value)?),
                9 => {
                    let summary = read_summary(value)?;
                    properties.ranges = range_block.map(|handle| (handle, summary));
                }
                _ => continue,
            }
            seen |= 1 << id;
        }
        if seen != 0b1111_1110 && seen != 0b11_1111_1110 {
            let expected = "properties 1 to 7, or 1 to 9";
            return Err(reader.wrong("properties", 0, expected, u64::from(seen)));
        }
        Ok(properties)
    }
}

fn read_handle(value: &[u8]) -> Result<Handle, DecodeError> {
    let mut reader = Reader::new(value);
    let handle = Handle { offset: reader.u64("range block")?, size: reader.u32("range block")? };
    reader.finish("range block")?;
    Ok(handle)
}

fn read_summary(value: &[u8]) -> Result<RangeSummary, DecodeError> {
    let mut reader = Reader::new(value);
    let count = reader.u64("range tombstones")?;
    let span = Span::new(reader.prefixed("first start")?, reader.prefixed("last end")?);
    reader.finish("range tombstones")?;
    Ok(RangeSummary { count, span })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer() -> Footer {
        Footer {
            features: Features::ZSTD,
            tag: 42,
            index_levels: 2,
            index: Handle { offset: 100, size: 50 },
            filter: Some(Handle { offset: 10, size: 90 }),
            properties: Handle { offset: 150, size: 20 },
            length: 250,
        }
    }

    #[test]
    fn a_footer_reads_back_and_no_flipped_bit_passes() {
        let bytes = footer().encode();
        assert_eq!(Footer::decode(FileId(1), 250, &bytes).unwrap(), footer());
        assert!(Footer::decode(FileId(1), 251, &bytes).unwrap_err().is_corruption());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Footer::decode(FileId(1), 250, &flipped).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Footer::decode(FileId(1), 250, &bytes[..len]).is_err());
        }
        let no_table = Footer::decode(FileId(1), 250, &[7; FOOTER_BYTES]).unwrap_err();
        assert!(no_table.to_string().contains("magic TerTable"), "{no_table}");
    }

    #[test]
    fn what_is_not_known_is_told_apart_from_damage() {
        for (at, value, expected) in
            [(8, 2, "version"), (8, 0, "version"), (15, 128, "features"), (36, 3, "index levels")]
        {
            let mut bytes = footer().encode();
            bytes[at] = value;
            let crc = crc32c(&bytes[..76]);
            bytes[76..].copy_from_slice(&crc.to_le_bytes());
            let error = Footer::decode(FileId(1), 250, &bytes).unwrap_err();
            let field = matches!(error, Error::Unsupported { field, .. } if field == expected);
            assert!(field, "{error}");
        }
    }

    #[test]
    fn properties_read_back_and_unknown_ones_are_skipped() {
        let properties = Properties {
            entries: 3,
            tombstones: 1,
            first_sequence: SeqNo(5),
            last_sequence: SeqNo(9),
            smallest: b"\0\0\0\0a".to_vec(),
            largest: b"\0\0\0\0z".to_vec(),
            plain_bytes: 77,
            ranges: None,
        };
        let mut bytes = properties.encode();
        bytes.put_u16(80);
        bytes.put_prefixed(b"from the future");
        assert_eq!(Properties::decode(&bytes).as_ref(), Ok(&properties));
        for len in 0..properties.encode().len() {
            assert!(Properties::decode(&bytes[..len]).is_err(), "{len}");
        }
        let summary = RangeSummary { count: 5, span: Span::new(*b"\0\0\0\0b", *b"\0\0\0\0x") };
        let ranges = Some((Handle { offset: 9, size: 99 }, summary));
        let properties = Properties { ranges, ..properties };
        let bytes = properties.encode();
        assert_eq!(Properties::decode(&bytes).as_ref(), Ok(&properties));
        for len in 0..bytes.len() {
            assert_ne!(Properties::decode(&bytes[..len]).as_ref(), Ok(&properties), "{len}");
        }
    }
}
