//! The values that the golden specimens hold. They must not change; a new format version gets
//! values of its own.

use std::sync::Arc;

use terrace_env::codec::{Reader, Writer};
use terrace_env::store::{Annotation, FileKind, PlacementHint};
use terrace_env::{ByteCount, DeviceId, FileId, IoBuf, Uuid, ZoneId};
use terrace_fs::catalog::{Catalog, Extent, Record};
use terrace_fs::frame::{Binding, FrameHead, encode_frame};
use terrace_fs::superblock::{
    Features, JournalHead, MountMark, Placement, Shape, Splice, Superblock,
};
use terrace_fs::{AddressSpace, BlockAddr, ZoneGrid};
use terrace_zone::Geometry;

pub(crate) const UUID: Uuid = Uuid([
    0x54, 0x65, 0x72, 0x72, 0x61, 0x63, 0x45, 0x00, 0x80, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
]);

/// The log's frames belong to this.
pub(crate) const BINDING: Binding = Binding { uuid: UUID, owner: 42, epoch: 3 };

/// The payloads of the log's appends; the third takes two frames.
pub(crate) fn appends() -> Vec<Vec<u8>> {
    let long: Vec<u8> = (0..6000u32).map(|i| (i * 7 % 251) as u8).collect();
    vec![b"first".to_vec(), Vec::new(), long, b"last, and not synced".to_vec()]
}

/// A log of four appends in six blocks.
pub(crate) fn log() -> Vec<u8> {
    let mut cursor = BINDING.start(1);
    let mut bytes = IoBuf::default();
    for payload in appends() {
        // Two frames where one would do: so the specimen shows an append that goes on.
        let (head, tail) = payload.split_at(payload.len().min(5000));
        let continues = !tail.is_empty();
        let synced = cursor.sequence;
        let of = |continues| FrameHead { synced, kind: 1, continues };
        encode_frame(&BINDING, &mut cursor, of(continues), head, &mut bytes);
        if continues {
            encode_frame(&BINDING, &mut cursor, of(false), tail, &mut bytes);
        }
    }
    bytes.to_vec()
}

/// The zones of a drive of 14 TB with blocks of 4 KiB.
fn grid() -> ZoneGrid {
    let uniform = Geometry::uniform(ByteCount::mib(256), 52156);
    ZoneGrid::new(DeviceId::FIRST, &Geometry { zone_capacity: 60000, ..uniform })
}

/// Addresses that the records and files may name.
pub(crate) fn space() -> AddressSpace {
    AddressSpace::zoned(grid())
}

fn at(zone: u32, block: u32) -> BlockAddr {
    grid().addr(ZoneId(zone), block)
}

pub(crate) fn superblock() -> Superblock {
    Superblock {
        uuid: UUID,
        generation: 77,
        features: Features { compat: 1, read_only_compat: 2, incompat: 4 },
        device: DeviceId::FIRST,
        members: Vec::new(),
        devices: 1,
        marks: [MountMark::default(); 2],
        shape: Shape {
            logical_block: 4096,
            zone_size: 65536,
            zone_capacity: 60000,
            zones: 52156,
            last_zone_size: 1000,
            conventional: 0x1234_5678,
        },
        placement: Placement::Log([at(0, 0), at(3, 0)]),
        head: JournalHead { at: at(9, 17), sequence: 1_000_000, epoch: 5, chain: 0xdead_beef },
        journal_end: 1_000_077,
        splices: [(1_000_010, 6), (1_000_020, 8)]
            .map(|(sequence, epoch)| Splice { sequence, at: at(epoch + 5, 0), epoch })
            .to_vec(),
        options: b"options of the file system".to_vec(),
    }
}

fn extent(start: u32, crc: Option<u32>) -> Extent {
    Extent { first: at(11, start), blocks: 4, crc }
}

fn annotation() -> Arc<Annotation> {
    Arc::new(Annotation {
        hint: PlacementHint { level: Some(2), stream: 513 },
        opaque: vec![9; 20],
    })
}

/// Records of every kind, which fit an empty catalog in this order.
pub(crate) fn records() -> Vec<Record> {
    let (id, log, client) = (FileId(1), FileId(2), FileId(3));
    let plain = Arc::new(Annotation::default());
    let (kind, annotation_of) = (FileKind::Table, annotation());
    let name = |text: &str| Arc::<str>::from(text);
    vec![
        Record::Mount { epoch: 5, next_file: FileId(1) },
        Record::Seal {
            id,
            kind,
            size: 32768 - 9,
            extents: vec![extent(0, Some(7)), extent(8, None)],
            epoch: 0,
            annotation: annotation_of,
        },
        Record::Create {
            id: log,
            kind: FileKind::Log,
            size: 0,
            extents: vec![extent(100, None)],
            epoch: 5,
            annotation: Arc::clone(&plain),
        },
        Record::Create {
            id: client,
            kind: FileKind::Client,
            size: 0,
            extents: Vec::new(),
            epoch: 0,
            annotation: plain,
        },
        Record::Trim { id, from: 5, to: 7 },
        Record::Annotate { id: FileId::STORE, annotation: annotation() },
        Record::Link { name: name("a/first"), id: client },
        Record::Link { name: name("a/zweiter Name, äöü"), id: client },
        Record::Unlink { name: name("a/first"), id: client },
        Record::Rename {
            from: name("a/zweiter Name, äöü"),
            to: name("b"),
            id: client,
            replaced: None,
        },
        Record::Resize { id: client, size: 16384, from: 0, extents: vec![extent(200, Some(1))] },
        Record::Extend { id: log, end: 3, extent: extent(300, None) },
        Record::LogEnd { id: log, end: 5, size: 9000, sequence: 4, epoch: 6 },
        Record::Move { id, at: 0, old: extent(0, Some(7)), new: vec![extent(400, Some(7))] },
        Record::Create {
            id: FileId(4),
            kind: FileKind::Log,
            size: 0,
            extents: vec![extent(500, None)],
            epoch: 5,
            annotation: annotation(),
        },
        Record::Delete { id: FileId(4) },
        Record::LogDurable { id: log, end: 5, size: 9000, sequence: 4 },
        Record::Close,
    ]
}

pub(crate) fn encode_records(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        record.encode(&mut bytes);
    }
    bytes
}

pub(crate) fn decode_records(bytes: &[u8]) -> Result<Vec<Record>, terrace_env::codec::DecodeError> {
    let (mut from, space) = (Reader::new(bytes), space());
    let mut records = Vec::new();
    while !from.is_empty() {
        records.push(Record::decode(&mut from, &space)?);
    }
    Ok(records)
}

/// The catalog after [`records`].
pub(crate) fn catalog() -> Catalog {
    let mut catalog = Catalog::new(space());
    catalog.stage(&mut records()).expect("records that fit");
    catalog
}

/// The entries of all files in a snapshot.
pub(crate) fn entries() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (id, record) in catalog().files() {
        record.encode(id, &mut bytes);
    }
    bytes
}

/// A drive's written blocks: for each zone its number, how many blocks, and those.
pub(crate) fn pack(zones: &[(ZoneId, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (zone, content) in zones {
        bytes.put_u32(zone.0);
        bytes.put_prefixed(content);
    }
    bytes
}

/// The reverse of [`pack`].
pub(crate) fn unpack(bytes: &[u8]) -> Vec<(ZoneId, Vec<u8>)> {
    let mut from = Reader::new(bytes);
    let mut zones = Vec::new();
    while !from.is_empty() {
        let zone = ZoneId(from.u32("zone").expect("a zone"));
        zones.push((zone, from.prefixed("content").expect("its blocks").to_vec()));
    }
    zones
}
