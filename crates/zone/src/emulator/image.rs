//! [`Header`]: encodes and decodes the header and the zone table of drive images.
//! `docs/format/image.md` has the layout.
//!
//! Pure: bytes in, values out, and back. Decoding does not panic on any bytes: it returns a
//! [`Flaw`]. Encoding panics if there are more than [`RUNS_MAX`] runs of conventional zones; the
//! caller checks that.
//!
//! A decoded header has a valid geometry. A decoded zone is in a state that a zone of its type and
//! capacity can have; the limits of open and active zones are not checked here. Images of versions
//! 1 to 3 are decoded; new ones have version 3.

use std::ops::Range;

use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::{Uuid, ZoneId};

use crate::state::ZoneStatus;
use crate::{Geometry, Layout, Tracks, ZoneState, ZoneType};

const MAGIC: [u8; 8] = *b"TerZone\n";
/// Version of new images.
const VERSION: u32 = 3;
/// The last version in which an entry of zeros stands for a zone as the drive left the factory.
const VERSION_WITHOUT_BLANK_ENTRIES: u32 = 2;
/// The first version: no drive of it had flags.
const VERSION_WITHOUT_FLAGS: u32 = 1;
/// The flag of a medium that turns.
const ROTATIONAL: u32 = 1;
/// The flag of a plain device.
const PLAIN: u32 = 2;
/// The flag of a device of shingled tracks.
const TRACKS: u32 = 4;

/// Bytes of the header, and the alignment of the blocks.
pub(super) const HEADER: u64 = 4096;
/// Bytes of an entry of the zone table.
pub(super) const ENTRY: u64 = 16;
/// The most runs of conventional zones that fit the header.
pub(super) const RUNS_MAX: usize = 499;

/// Something in an image that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) what: &'static str,
    pub(super) expected: String,
    pub(super) got: String,
}

impl Flaw {
    fn new(what: &'static str, expected: impl ToString, got: impl ToString) -> Self {
        Self { what, expected: expected.to_string(), got: got.to_string() }
    }

    /// A flaw unless `got` is `expected`.
    pub(super) fn unless_equal<T: PartialEq + ToString>(
        what: &'static str,
        expected: T,
        got: T,
    ) -> Result<(), Self> {
        if got == expected { Ok(()) } else { Err(Self::new(what, expected, got)) }
    }
}

impl From<DecodeError> for Flaw {
    fn from(error: DecodeError) -> Self {
        Self::new("header", "whole fields", error)
    }
}

/// Contents of an image's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) uuid: Uuid,
    pub(super) geometry: Geometry,
    /// Whether every zone has an entry from the first on. Otherwise one of zeros stands for a zone
    /// as the drive left the factory.
    has_all_entries: bool,
}

impl Header {
    /// The header of a new image.
    pub(super) fn new(uuid: Uuid, geometry: Geometry) -> Self {
        Self { uuid, geometry, has_all_entries: true }
    }

    /// Where block 0 of the drive lies.
    pub(super) fn blocks_offset(&self) -> u64 {
        (HEADER + ENTRY * u64::from(self.geometry.zones)).next_multiple_of(HEADER)
    }

    /// The length of the file.
    pub(super) fn image_len(&self) -> u64 {
        self.blocks_offset() + self.geometry.blocks() * u64::from(self.geometry.logical_block)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let geometry = &self.geometry;
        let mut bytes = Vec::with_capacity(HEADER as usize);
        bytes.put(&MAGIC);
        bytes.put_u32(VERSION);
        let layout = match geometry.layout {
            Layout::Zoned => 0,
            Layout::Plain => PLAIN,
            Layout::Tracks(_) => TRACKS,
        };
        bytes.put_u32(layout | if geometry.rotational { ROTATIONAL } else { 0 });
        bytes.put(&self.uuid.0);
        bytes.put_u32(geometry.logical_block);
        bytes.put_u32(geometry.physical_block);
        bytes.put_u64(geometry.zone_size);
        bytes.put_u64(geometry.zone_capacity);
        bytes.put_u64(geometry.last_zone_size.unwrap_or(0));
        bytes.put_u32(geometry.zones);
        for limit in [geometry.max_open, geometry.max_active, geometry.max_append] {
            bytes.put_u32(limit.unwrap_or(0));
        }
        bytes.put_u64(self.blocks_offset());
        bytes.put_u64(self.image_len());
        let runs = u32::try_from(geometry.conventional.len()).unwrap_or(u32::MAX);
        assert!(runs as usize <= RUNS_MAX, "{runs} runs of conventional zones");
        bytes.put_u32(runs);
        for run in &geometry.conventional {
            bytes.put_u32(run.start);
            bytes.put_u32(run.end);
        }
        if let Layout::Tracks(tracks) = geometry.layout {
            bytes.put_u32(tracks.blocks);
            bytes.put_u32(tracks.overlap);
        }
        bytes.resize(HEADER as usize - 4, 0);
        bytes.put_u32(crc32c(&bytes));
        bytes
    }

    /// Whether bytes are those of a header, possibly damaged, and not of something else: half of
    /// the magic is there.
    pub(super) fn is_meant(bytes: &[u8]) -> bool {
        let same = bytes.iter().zip(MAGIC).filter(|(found, expected)| **found == *expected);
        2 * same.count() >= MAGIC.len()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Flaw> {
        if bytes.len() < HEADER as usize {
            let got = format!("{} bytes in all", bytes.len());
            return Err(Flaw::new("header", format!("{HEADER} bytes"), got));
        }
        let mut reader = Reader::new(bytes);
        let magic = reader.bytes("magic", MAGIC.len())?;
        if magic != MAGIC {
            return Err(Flaw::new("magic", MAGIC.escape_ascii(), magic.escape_ascii()));
        }
        // The version comes before the checksum: another version may lay it out elsewhere.
        let version = reader.u32("version")?;
        if !(VERSION_WITHOUT_FLAGS..=VERSION).contains(&version) {
            let expected = format!("{VERSION_WITHOUT_FLAGS} to {VERSION}");
            return Err(Flaw::new("version", expected, version));
        }
        let body = Reader::new(bytes).bytes("header", HEADER as usize - 4)?;
        let crc = Reader::new(&bytes[body.len()..]).u32("header checksum")?;
        Flaw::unless_equal("header checksum", Hex(crc32c(body)), Hex(crc))?;
        let flags = reader.u32("flags")?;
        let known = if version == VERSION_WITHOUT_FLAGS { 0 } else { ROTATIONAL | PLAIN | TRACKS };
        Flaw::unless_equal("flags", Hex(flags & known), Hex(flags))?;
        if flags & PLAIN != 0 && flags & TRACKS != 0 {
            return Err(Flaw::new("flags", "plain or of tracks, not both", Hex(flags)));
        }
        let uuid = reader.uuid("UUID")?;
        let some = |value: u32| (value > 0).then_some(value);
        let mut geometry = Geometry {
            layout: if flags & PLAIN == 0 { Layout::Zoned } else { Layout::Plain },
            logical_block: reader.u32("logical block")?,
            physical_block: reader.u32("physical block")?,
            zone_size: reader.u64("zone size")?,
            zone_capacity: reader.u64("zone capacity")?,
            last_zone_size: Some(reader.u64("last zone size")?).filter(|size| *size > 0),
            zones: reader.u32("zones")?,
            max_open: some(reader.u32("open limit")?),
            max_active: some(reader.u32("active limit")?),
            max_append: some(reader.u32("append limit")?),
            rotational: flags & ROTATIONAL != 0,
            conventional: Vec::new(),
        };
        let blocks_offset = reader.u64("blocks offset")?;
        let image_len = reader.u64("image length")?;
        geometry.conventional = Self::decode_runs(&mut reader)?;
        if flags & TRACKS != 0 {
            let (blocks, overlap) = (reader.u32("blocks of a track")?, reader.u32("overlap")?);
            geometry.layout = Layout::Tracks(Tracks { blocks, overlap });
        }
        geometry.validate().map_err(|error| Flaw {
            what: error.what,
            expected: error.expected,
            got: error.got,
        })?;
        let has_all_entries = version > VERSION_WITHOUT_BLANK_ENTRIES;
        let header = Self { uuid, geometry, has_all_entries };
        Flaw::unless_equal("blocks offset", header.blocks_offset(), blocks_offset)?;
        Flaw::unless_equal("image length", header.image_len(), image_len)?;
        Ok(header)
    }

    fn decode_runs(reader: &mut Reader<'_>) -> Result<Vec<Range<u32>>, Flaw> {
        let count = reader.u32("runs of conventional zones")? as usize;
        if count > RUNS_MAX {
            let expected = format!("at most {RUNS_MAX}");
            return Err(Flaw::new("runs of conventional zones", expected, count));
        }
        (0..count)
            .map(|_| Ok(reader.u32("conventional zones")?..reader.u32("conventional zones")?))
            .collect()
    }

    /// Encodes a zone's entry of the table.
    pub(super) fn encode_entry(&self, zone: ZoneId, status: ZoneStatus) -> [u8; ENTRY as usize] {
        let mut entry = [0; ENTRY as usize];
        entry[0] = code(status.state);
        entry[8..].copy_from_slice(&status.written.to_le_bytes());
        let crc = self.entry_crc(zone, &entry);
        entry[4..8].copy_from_slice(&crc.to_le_bytes());
        entry
    }

    pub(super) fn entry_crc(&self, zone: ZoneId, entry: &[u8; ENTRY as usize]) -> u32 {
        let crc = crc32c_append(crc32c(&self.uuid.0), &zone.0.to_le_bytes());
        crc32c_append(crc32c_append(crc, &entry[..4]), &entry[8..])
    }

    /// Decodes a zone's entry; `None` for a zone as the drive left the factory, of which an older
    /// image has none.
    pub(super) fn decode_entry(
        &self,
        zone: ZoneId,
        entry: &[u8; ENTRY as usize],
    ) -> Result<Option<ZoneStatus>, Flaw> {
        if !self.has_all_entries && *entry == [0; ENTRY as usize] {
            return Ok(None);
        }
        let at = |what: &str| format!("zone {zone}: {what}");
        let mut reader = Reader::new(entry);
        let code = reader.u8("state")?;
        reader.bytes("reserved bytes", 3)?;
        let crc = Hex(reader.u32("zone checksum")?);
        let written = reader.u64("written blocks")?;
        let expected = Hex(self.entry_crc(zone, entry));
        if crc != expected {
            return Err(Flaw::new("zone table checksum", at(&expected.to_string()), crc));
        }
        let Some(state) = STATES.get(usize::from(code).wrapping_sub(1)).copied() else {
            return Err(Flaw::new("zone state", at("1 to 8"), code));
        };
        let status = ZoneStatus { state, written };
        if self.fits(zone, status) {
            Ok(Some(status))
        } else {
            let capacity = self.geometry.zone_capacity(zone);
            let kind = match self.geometry.zone_type(zone) {
                ZoneType::Conventional => "conventional",
                ZoneType::Sequential => "sequential",
            };
            let expected = at(&format!("a state of a {kind} zone of capacity {capacity}"));
            let found = format!("{}, {written} blocks written", state.name());
            Err(Flaw::new("zone state", expected, found))
        }
    }

    fn fits(&self, zone: ZoneId, status: ZoneStatus) -> bool {
        let ZoneStatus { state, written } = status;
        let capacity = self.geometry.zone_capacity(zone);
        let whole = written.is_multiple_of(self.geometry.physical_step());
        let sequential = self.geometry.zone_type(zone) == ZoneType::Sequential;
        whole
            && match state {
                ZoneState::NotWritePointer => !sequential && written == 0,
                ZoneState::ReadOnly | ZoneState::Offline if !sequential => written == 0,
                ZoneState::ReadOnly | ZoneState::Offline => written <= capacity,
                ZoneState::Empty => sequential && written == 0,
                ZoneState::ExplicitlyOpen => sequential && written < capacity,
                ZoneState::ImplicitlyOpen | ZoneState::Closed => {
                    sequential && (1..capacity).contains(&written)
                }
                ZoneState::Full => sequential && written <= capacity,
            }
    }
}

/// The states, by their code less one.
const STATES: [ZoneState; 8] = [
    ZoneState::Empty,
    ZoneState::ImplicitlyOpen,
    ZoneState::ExplicitlyOpen,
    ZoneState::Closed,
    ZoneState::Full,
    ZoneState::ReadOnly,
    ZoneState::Offline,
    ZoneState::NotWritePointer,
];

fn code(state: ZoneState) -> u8 {
    match state {
        ZoneState::Empty => 1,
        ZoneState::ImplicitlyOpen => 2,
        ZoneState::ExplicitlyOpen => 3,
        ZoneState::Closed => 4,
        ZoneState::Full => 5,
        ZoneState::ReadOnly => 6,
        ZoneState::Offline => 7,
        ZoneState::NotWritePointer => 8,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Hex(u32);

impl std::fmt::Display for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::ByteCount;

    fn header() -> Header {
        let geometry = Geometry {
            logical_block: 512,
            zone_size: 120,
            zone_capacity: 88,
            last_zone_size: Some(40),
            conventional: vec![0..2, 6..7],
            max_open: Some(2),
            max_active: Some(4),
            max_append: Some(32),
            rotational: true,
            ..Geometry::uniform(ByteCount::kib(64), 14)
        };
        Header::new(Uuid([7; 16]), geometry)
    }

    #[test]
    fn a_header_reads_back() {
        let header = header();
        let bytes = header.encode();
        assert_eq!(bytes.len() as u64, HEADER);
        assert_eq!(Header::decode(&bytes), Ok(header));
    }

    #[test]
    fn a_header_of_shingled_tracks_reads_back_and_is_not_a_plain_one_too() {
        let tracks = Tracks { blocks: 64, overlap: 3 };
        let geometry = Geometry::tracks(ByteCount::mib(8), tracks);
        let mut bytes = Header::new(Uuid([7; 16]), geometry.clone()).encode();
        assert_eq!(Header::decode(&bytes).unwrap().geometry, geometry);
        bytes[12] |= PLAIN as u8;
        let crc = crc32c(&bytes[..HEADER as usize - 4]);
        bytes[HEADER as usize - 4..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(Header::decode(&bytes).unwrap_err().what, "flags");
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_of_a_header_is_found() {
        let bytes = header().encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&flipped).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Header::decode(&bytes[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn a_header_with_a_good_checksum_and_wrong_fields_is_found() {
        for offset in (12..16).chain(32..116) {
            let mut bytes = header().encode();
            bytes[offset] ^= 0x80;
            let crc = crc32c(&bytes[..4092]);
            bytes[4092..].copy_from_slice(&crc.to_le_bytes());
            // Some changes give another possible drive; none may panic or be taken for this one.
            assert_ne!(Header::decode(&bytes), Ok(header()), "byte {offset}");
        }
    }

    #[test]
    fn a_header_of_more_zones_than_a_device_may_have_is_refused_by_itself() {
        for (zones, possible) in [(Geometry::ZONES_MAX, true), (u32::MAX, false)] {
            let geometry = Geometry::uniform(ByteCount::kib(4), zones);
            let decoded = Header::decode(&Header::new(Uuid([7; 16]), geometry).encode());
            assert_eq!(
                decoded.as_ref().err().map(|flaw| flaw.what),
                (!possible).then_some("zones")
            );
        }
    }

    #[test]
    fn damage_to_the_magic_does_not_make_an_image_something_else() {
        let bytes = header().encode();
        assert!(Header::is_meant(&bytes) && Header::is_meant(&bytes[..4]));
        for bit in 0..64 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::is_meant(&flipped), "bit {bit}");
        }
        for other in [&b""[..], b"Ter", b"SQLite format 3", &[0; 4096], &[0xff; 4096]] {
            assert!(!Header::is_meant(other));
        }
    }

    #[test]
    fn entries_read_back_and_flipped_bits_in_them_are_found() {
        let header = header();
        for (zone, state, written) in [
            (2, ZoneState::Empty, 0),
            (2, ZoneState::ImplicitlyOpen, 8),
            (3, ZoneState::ExplicitlyOpen, 0),
            (4, ZoneState::Closed, 80),
            (13, ZoneState::Full, 40),
            (5, ZoneState::ReadOnly, 16),
            (0, ZoneState::Offline, 0),
            (6, ZoneState::NotWritePointer, 0),
        ] {
            let (zone, status) = (ZoneId(zone), ZoneStatus { state, written });
            let entry = header.encode_entry(zone, status);
            assert_eq!(header.decode_entry(zone, &entry), Ok(Some(status)));
            assert!(header.decode_entry(ZoneId(1), &entry).is_err(), "entry of another zone");
            for bit in 0..entry.len() * 8 {
                let mut flipped = entry;
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(header.decode_entry(zone, &flipped).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn an_entry_of_zeros_is_a_blank_zone_in_an_old_image_only() {
        for zone in [0, 2, 13].map(ZoneId) {
            let header = header();
            let flaw = header.decode_entry(zone, &[0; 16]).unwrap_err();
            assert_eq!(flaw.what, "zone table checksum");
            let old = Header { has_all_entries: false, ..header };
            assert_eq!(old.decode_entry(zone, &[0; 16]), Ok(None));
        }
    }

    #[test]
    fn an_entry_that_no_zone_can_have_is_found() {
        let header = header();
        for (zone, state, written) in [
            (2, ZoneState::Empty, 8),
            (2, ZoneState::Closed, 0),
            (2, ZoneState::Closed, 88),
            (2, ZoneState::Closed, 7),
            (2, ZoneState::Full, 96),
            (2, ZoneState::NotWritePointer, 0),
            (0, ZoneState::Empty, 0),
            (0, ZoneState::Offline, 8),
            (13, ZoneState::ReadOnly, 48),
        ] {
            let entry = header.encode_entry(ZoneId(zone), ZoneStatus { state, written });
            let flaw = header.decode_entry(ZoneId(zone), &entry).unwrap_err();
            assert_eq!(flaw.what, "zone state");
        }
    }
}
