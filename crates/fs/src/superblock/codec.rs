//! Codec of the superblock: one block, with a checksum at its end.
//!
//! Decoding refuses another format version; [`Foreign`](super::Foreign) tells which it is. Decoding
//! does not check whether the addresses exist, whether the shape is the device's, or whether this
//! version knows the features and the number of devices: the caller has to.
//! `docs/format/superblock.md` has the byte table.

use std::fmt;

use terrace_env::checksum::crc32c;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::StoreError;
use terrace_env::{ByteCount, DeviceId, IoBuf, Uuid, ZoneId};
use terrace_zone::{Geometry, Layout, Tracks};

use super::SuperblockArea;
use crate::growing::{EPOCH_END, GENERATION_END, SEQUENCE_END, check_room};
use crate::{BLOCK, BlockAddr};

pub(super) const MAGIC: [u8; 8] = *b"TerraceF";
pub(super) const VERSION: u32 = 4;

/// How many splices a superblock has room for.
pub const SPLICES_MAX: usize = 8;

/// The most bytes of options that a superblock keeps.
const OPTIONS_MAX: usize = 1024;

/// Feature bits: abilities that a program needs to use the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Features that a program may ignore.
    pub compat: u64,
    /// Must be known to write.
    pub read_only_compat: u64,
    /// Must be known to read.
    pub incompat: u64,
}

impl Features {
    /// Incompatible: device 1 is an [offload device](Role::Offload), and the journal is on device
    /// 0.
    pub const OFFLOAD: u64 = 1;

    /// Incompatible: bytes of a log may be in the file `TAIL` of the directory.
    pub const TAIL: u64 = 2;

    /// Features that this version knows.
    pub const KNOWN: Self =
        Self { compat: 0, read_only_compat: 0, incompat: Self::OFFLOAD | Self::TAIL };

    /// The features of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            compat: self.compat | other.compat,
            read_only_compat: self.read_only_compat | other.read_only_compat,
            incompat: self.incompat | other.incompat,
        }
    }

    /// Checks that this version may read, and if asked write, a store with these features.
    pub fn check(&self, write: bool) -> Result<(), StoreError> {
        let unknown = self.incompat & !Self::KNOWN.incompat;
        if unknown != 0 {
            return Err(StoreError::Invalid(format!(
                "the store needs features {unknown:#x} that this version does not know; expected \
                 none beyond {:#x}; use a newer version",
                Self::KNOWN.incompat
            )));
        }
        let unknown = self.read_only_compat & !Self::KNOWN.read_only_compat;
        if write && unknown != 0 {
            return Err(StoreError::Invalid(format!(
                "the store needs features {unknown:#x} for writing that this version does not \
                 know; mount it read-only, or use a newer version"
            )));
        }
        Ok(())
    }
}

/// The shape of the device that the store was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Bytes in a logical block.
    pub logical_block: u32,
    /// Logical blocks from zone to zone.
    pub zone_size: u64,
    /// Writable logical blocks of a sequential zone.
    pub zone_capacity: u64,
    /// Zones.
    pub zones: u32,
    /// Logical blocks of the last zone.
    pub last_zone_size: u64,
    /// CRC32C over the runs of conventional zones.
    pub conventional: u32,
}

impl Shape {
    /// The shape of a device.
    #[must_use]
    pub fn of(geometry: &Geometry) -> Self {
        let mut runs = Vec::new();
        for run in &geometry.conventional {
            runs.put_u32(run.start);
            runs.put_u32(run.end);
        }
        Self {
            logical_block: geometry.logical_block,
            zone_size: geometry.zone_size,
            zone_capacity: geometry.zone_capacity,
            zones: geometry.zones,
            last_zone_size: geometry.zone_size(ZoneId(geometry.zones - 1)),
            conventional: crc32c(&runs),
        }
    }

    /// Checks that a device has this shape.
    pub fn check(&self, geometry: &Geometry) -> Result<(), StoreError> {
        let got = Self::of(geometry);
        if *self == got {
            return Ok(());
        }
        let like_it = Self { conventional: self.conventional, ..got };
        let found = match like_it == *self {
            true => "one of these of which other zones are conventional".to_owned(),
            false => got.to_string(),
        };
        Err(StoreError::Invalid(format!(
            "the store was made for another device: expected {self}, found {found}"
        )))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { logical_block, zones, .. } = *self;
        let bytes = |blocks: u64| ByteCount(blocks.saturating_mul(logical_block.into()));
        let bytes = |blocks| bytes(blocks).unrounded();
        let (size, capacity) = (bytes(self.zone_size), bytes(self.zone_capacity));
        let last = bytes(self.last_zone_size);
        match zones {
            1 => write!(f, "{last}")?,
            _ => {
                write!(f, "{zones} zones of {size}, {capacity} of it writable, the last of {last}")?
            }
        }
        write!(f, ", in blocks of {logical_block} bytes")
    }
}

/// The role of device 1 of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The device holds the journal and all logs.
    #[default]
    Log,
    /// Write-offloading: it holds tables that were written while compactions ran. Journal and logs
    /// are on device 0, so device 0 alone is still a store if device 1 is lost.
    Offload,
}

/// A device of a store that has several, as each of their superblocks has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The device's own identity, drawn when the store is made.
    pub id: Uuid,
    /// How its blocks may be written.
    pub layout: Layout,
    /// Bytes that can be written to it.
    pub capacity: ByteCount,
    /// The path of the device when the store was made, relative to device 0; empty if it was not
    /// given. At most [`PATH_MAX`] bytes.
    pub path: String,
}

/// The most bytes of the path of a device that a superblock remembers.
pub const PATH_MAX: usize = 512;

/// Where superblocks are written. The addresses are of the device that the superblock is on, and
/// say 0 for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In a file: there is only this one.
    File,
    /// In the first two blocks, in turn, of the conventional zone that starts at this block.
    Slots(BlockAddr),
    /// Appended to one of the sequential zones that start at these blocks until it is full, then
    /// to the other.
    Log([BlockAddr; 2]),
}

/// Where replay begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalHead {
    /// The journal's `Head` frame.
    pub at: BlockAddr,
    /// Its sequence.
    pub sequence: u64,
    /// Its epoch.
    pub epoch: u32,
    /// Its chain.
    pub chain: u32,
}

/// A place where the journal goes on elsewhere, because a mount could not go on at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The sequence of the frame at `at`; the frame before it is the last one before the splice.
    pub sequence: u64,
    /// The block at which the journal goes on.
    pub at: BlockAddr,
    /// The epoch of its frames from there on.
    pub epoch: u32,
}

/// The mount for writing that a device of a store on several was last marked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountMark {
    /// The epoch of the mount; 0 before the first one.
    pub epoch: u32,
    /// Tells mounts of one epoch apart, which went on from copies of one store. It is made of the
    /// chain at the journal's end and of the time since the process began.
    pub tag: u32,
}

/// The superblock; see the [module](super).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The store.
    pub uuid: Uuid,
    /// Grows with every superblock written; the highest counts.
    pub generation: u64,
    /// Features that a program must know.
    pub features: Features,
    /// The device that the superblock is on.
    pub device: DeviceId,
    /// How many devices the store has.
    pub devices: u16,
    /// Those devices, by number, where there are several.
    pub members: Vec<Member>,
    /// Where there are several devices: the marks that the device without the journal may have. On
    /// that device both are its own mark.
    pub marks: [MountMark; 2],
    /// The shape of the device.
    pub shape: Shape,
    /// Where superblocks are.
    pub placement: Placement,
    /// Where the journal begins.
    pub head: JournalHead,
    /// All frames of the journal with a smaller sequence were durable when this was written.
    pub journal_end: u64,
    /// Where it goes on elsewhere, by sequence; at most [`SPLICES_MAX`].
    pub splices: Vec<Splice>,
    /// Options of the file system that belong to the store; at most 1024 bytes, opaque here.
    pub options: Vec<u8>,
}

impl Superblock {
    /// The first one of a store on one device of this shape, without a journal yet.
    pub(crate) fn first(uuid: Uuid, geometry: &Geometry, area: &SuperblockArea) -> Self {
        Self {
            uuid,
            generation: 0,
            features: Features::default(),
            device: DeviceId::FIRST,
            devices: 1,
            members: Vec::new(),
            marks: [MountMark::default(); 2],
            shape: Shape::of(geometry),
            placement: area.placement(),
            head: JournalHead::default(),
            journal_end: 0,
            splices: Vec::new(),
            options: Vec::new(),
        }
    }

    /// The block to write.
    ///
    /// # Panics
    /// If there are more splices, or longer options or paths, than there is room for.
    #[must_use]
    pub fn encode(&self) -> IoBuf {
        assert!(self.splices.len() <= SPLICES_MAX, "{} splices", self.splices.len());
        assert!(self.options.len() <= OPTIONS_MAX, "{} bytes of options", self.options.len());
        let mut to = IoBuf::with_capacity(BLOCK);
        to.put(&MAGIC);
        to.put_u32(VERSION);
        to.put(&self.uuid.0);
        to.put_u64(self.generation);
        to.put_u64(self.features.compat);
        to.put_u64(self.features.read_only_compat);
        to.put_u64(self.features.incompat);
        to.put_u16(self.device.0);
        to.put_u16(self.devices);
        to.put_u32(self.shape.logical_block);
        to.put_u64(self.shape.zone_size);
        to.put_u64(self.shape.zone_capacity);
        to.put_u32(self.shape.zones);
        to.put_u64(self.shape.last_zone_size);
        to.put_u32(self.shape.conventional);
        let (code, first, second) = match self.placement {
            Placement::File => (0, 0, 0),
            Placement::Slots(zone) => (1, zone.to_bits(), 0),
            Placement::Log([first, second]) => (2, first.to_bits(), second.to_bits()),
        };
        to.put_u8(code);
        to.put_u64(first);
        to.put_u64(second);
        to.put_u64(self.head.at.to_bits());
        to.put_u64(self.head.sequence);
        to.put_u32(self.head.epoch);
        to.put_u32(self.head.chain);
        to.put_u64(self.journal_end);
        to.put_u8(self.splices.len() as u8);
        for splice in &self.splices {
            to.put_u64(splice.sequence);
            to.put_u64(splice.at.to_bits());
            to.put_u32(splice.epoch);
        }
        to.put_prefixed(&self.options);
        for member in &self.members {
            encode_member(member, &mut to);
        }
        if self.devices > 1 {
            for MountMark { epoch, tag } in self.marks {
                to.put_u32(epoch);
                to.put_u32(tag);
            }
        }
        assert!(to.len() <= BLOCK - 4, "a superblock of {} bytes", to.len());
        to.resize(BLOCK - 4);
        let crc = crc32c(&to);
        to.put_u32(crc);
        to
    }

    /// Whether a block was meant to be a superblock, damaged or not.
    #[must_use]
    pub fn is_marked(block: &[u8]) -> bool {
        block.starts_with(&MAGIC)
    }

    /// Whether the journal begins where this superblock says; otherwise it is on another device.
    #[must_use]
    pub fn has_journal(&self) -> bool {
        match self.role() {
            Some(Role::Log) => self.device != DeviceId::FIRST,
            Some(Role::Offload) | None => self.device == DeviceId::FIRST,
        }
    }

    /// The role of device 1; `None` if the store has one device.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        let offloads = self.features.incompat & Features::OFFLOAD != 0;
        let role = if offloads { Role::Offload } else { Role::Log };
        (self.devices > 1).then_some(role)
    }

    /// Refuses a store of more devices than this version can use.
    pub(crate) fn check_devices(&self) -> Result<(), StoreError> {
        let log = self.members.get(1).map(|member| member.layout);
        if self.devices == 1 || self.devices == 2 && log.is_some_and(Layout::is_plain) {
            return Ok(());
        }
        Err(StoreError::Invalid(format!(
            "expected a store on one device, or on one and a plain one, found device {} of {} of \
             store {}; use a newer version",
            self.device, self.devices, self.uuid
        )))
    }

    /// Refuses numbers that no store can have, and features that this version does not know.
    /// `place` is where the superblock is. With `write`, the numbers must also have room to grow.
    pub(crate) fn check(&self, place: &str, write: bool) -> Result<(), StoreError> {
        let sequences = self.splices.iter().map(|splice| splice.sequence);
        let sequences = sequences.chain([self.head.sequence, self.journal_end]);
        let epochs = self.splices.iter().map(|splice| splice.epoch);
        let epochs = epochs.chain(self.marks.map(|mark| mark.epoch)).chain([self.head.epoch]);
        let epoch = epochs.max().unwrap_or_default().into();
        let numbers = [
            ("generation", self.generation, GENERATION_END),
            ("sequence of the journal", sequences.max().unwrap_or_default(), SEQUENCE_END),
            ("epoch", epoch, EPOCH_END.into()),
        ];
        for (field, number, end) in numbers {
            if number >= end {
                let expected = format!("{field} below 2^{}", end.ilog2());
                let (region, offset, got) = (place.to_owned(), 0, number.to_string());
                return Err(StoreError::Corruption { region, offset, expected, got });
            }
            if write {
                check_room(self.uuid, field, number, end)?;
            }
        }
        self.features.check(write)
    }

    /// Reads a superblock.
    pub fn decode(block: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader::new(block);
        let body = from.bytes("superblock", BLOCK - 4)?;
        let stored = from.u32("checksum")?;
        if !body.starts_with(&MAGIC) {
            let magic = u64::from_le_bytes(*body.first_chunk().unwrap_or(&[0; 8]));
            return Err(Reader::new(body).wrong("magic", 0, "\"TerraceF\"", magic));
        }
        if crc32c(body) != stored {
            let expected = "the checksum of the bytes before it";
            return Err(from.wrong("checksum", 4, expected, stored.into()));
        }
        let mut from = Reader::new(body);
        from.bytes("magic", MAGIC.len())?;
        let version = from.u32("version")?;
        if version != VERSION {
            return Err(from.wrong("version", 4, "4", version.into()));
        }
        let mut superblock = Self {
            uuid: from.uuid("uuid")?,
            generation: from.u64("generation")?,
            features: Features {
                compat: from.u64("compatible features")?,
                read_only_compat: from.u64("read-only compatible features")?,
                incompat: from.u64("incompatible features")?,
            },
            device: DeviceId(from.u16("device")?),
            devices: from.u16("devices")?,
            members: Vec::new(),
            marks: [MountMark::default(); 2],
            shape: Shape {
                logical_block: from.u32("logical block")?,
                zone_size: from.u64("zone size")?,
                zone_capacity: from.u64("zone capacity")?,
                zones: from.u32("zones")?,
                last_zone_size: from.u64("last zone size")?,
                conventional: from.u32("conventional zones")?,
            },
            placement: decode_placement(&mut from)?,
            head: JournalHead {
                at: decode_addr(&mut from)?,
                sequence: from.u64("head sequence")?,
                epoch: from.u32("head epoch")?,
                chain: from.u32("head chain")?,
            },
            journal_end: from.u64("journal end")?,
            splices: decode_splices(&mut from)?,
            options: from.prefixed("options")?.to_vec(),
        };
        if superblock.device.0 >= superblock.devices {
            let got = superblock.device.0.into();
            return Err(from.wrong("device", 0, "less than the number of devices", got));
        }
        if superblock.options.len() > OPTIONS_MAX {
            let got = superblock.options.len();
            return Err(from.wrong("options", got, "at most 1024 bytes", got as u64));
        }
        if superblock.devices > 1 {
            let members = (0..superblock.devices).map(|_| decode_member(&mut from));
            superblock.members = members.collect::<Result<_, _>>()?;
            for mark in &mut superblock.marks {
                *mark =
                    MountMark { epoch: from.u32("mount's epoch")?, tag: from.u32("mount's tag")? };
            }
        }
        Ok(superblock)
    }
}

fn encode_member(member: &Member, to: &mut IoBuf) {
    assert!(member.path.len() <= PATH_MAX, "a path of {} bytes", member.path.len());
    to.put(&member.id.0);
    to.put_u8(match member.layout {
        Layout::Zoned => 0,
        Layout::Plain => 1,
        Layout::Tracks(_) => 2,
    });
    if let Layout::Tracks(tracks) = member.layout {
        to.put_u32(tracks.blocks);
        to.put_u32(tracks.overlap);
    }
    to.put_u64(member.capacity.0);
    to.put_prefixed(member.path.as_bytes());
}

fn decode_member(from: &mut Reader<'_>) -> Result<Member, DecodeError> {
    let id = from.uuid("device identity")?;
    let layout = match from.u8("layout")? {
        0 => Layout::Zoned,
        1 => Layout::Plain,
        2 => {
            let (blocks, overlap) = (from.u32("blocks of a track")?, from.u32("overlap")?);
            Layout::Tracks(Tracks { blocks, overlap })
        }
        other => return Err(from.wrong("layout", 1, "0 to 2", other.into())),
    };
    let capacity = ByteCount(from.u64("capacity")?);
    let path = from.prefixed("path")?;
    let len = path.len();
    let path = std::str::from_utf8(path).ok().filter(|path| path.len() <= PATH_MAX);
    let Some(path) = path.map(str::to_owned) else {
        return Err(from.wrong("path", len, "at most 512 bytes of UTF-8", len as u64));
    };
    Ok(Member { id, layout, capacity, path })
}

fn decode_placement(from: &mut Reader<'_>) -> Result<Placement, DecodeError> {
    let code = from.u8("placement")?;
    let first = decode_addr(from)?;
    let second = decode_addr(from)?;
    match code {
        0 => Ok(Placement::File),
        1 => Ok(Placement::Slots(first)),
        2 if first == second => {
            Err(from.wrong("second place", 8, "a zone other than the first", second.to_bits()))
        }
        2 => Ok(Placement::Log([first, second])),
        other => Err(from.wrong("placement", 17, "0 to 2", other.into())),
    }
}

fn decode_addr(from: &mut Reader<'_>) -> Result<BlockAddr, DecodeError> {
    from.u64("address").map(BlockAddr::from_bits)
}

fn decode_splices(from: &mut Reader<'_>) -> Result<Vec<Splice>, DecodeError> {
    let count = usize::from(from.u8("splice count")?);
    if count > SPLICES_MAX {
        return Err(from.wrong("splice count", 1, "at most 8", count as u64));
    }
    let mut splices = Vec::with_capacity(count);
    let mut least = 0;
    for _ in 0..count {
        let sequence = from.u64("splice sequence")?;
        if sequence < least {
            return Err(from.wrong("splice sequence", 8, "ascending sequences", sequence));
        }
        least = sequence.saturating_add(1);
        let (at, epoch) = (decode_addr(from)?, from.u32("splice epoch")?);
        splices.push(Splice { sequence, at, epoch });
    }
    Ok(splices)
}
