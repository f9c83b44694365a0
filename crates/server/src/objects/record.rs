//! The values of the entries: [`BucketRecord`], [`ObjectRecord`], [`UploadRecord`] and
//! [`PartRecord`]. `docs/format/objects.md` has the bytes.
//!
//! Each begins with a version. Lengths are checked before they are used, and no bytes make a
//! decoder panic or allocate more than a constant times their own length.

use terrace_env::codec::{DecodeError, Reader, Writer};

use super::attributes::{Attributes, put_count, text};
use super::segment::Segment;

const VERSION: u8 = 1;
const IN_ENTRY: u8 = 0;
const IN_FILES: u8 = 1;

/// A bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketRecord {
    /// Time of its creation, in milliseconds since 1970.
    pub created: u64,
}

/// The place of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An entry.
    Entry,
    /// Files, in order.
    Files(Vec<Segment>),
}

/// A checksum that a client gave, or asked for, and that was verified: algorithm and value, as S3
/// writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// Such as `CRC32`.
    pub algorithm: String,
    /// The value, in base 64.
    pub value: String,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRecord {
    /// Its bytes.
    pub size: u64,
    /// Time of its last change, in milliseconds since 1970.
    pub modified: u64,
    /// MD5 of its bytes, or of the MD5s of its parts.
    pub md5: [u8; 16],
    /// Number of its parts; 0 if it was put as a whole.
    pub parts: u16,
    /// The place of its bytes.
    pub place: Place,
    /// Verified checksum.
    pub checksum: Option<Checksum>,
    /// Headers, metadata, tags.
    pub attributes: Attributes,
}

/// An upload in parts that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadRecord {
    /// Time of its begin, in milliseconds since 1970.
    pub begun: u64,
    /// Attributes of the object that it becomes.
    pub attributes: Attributes,
}

/// A part of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRecord {
    /// Time of its upload, in milliseconds since 1970.
    pub modified: u64,
    /// MD5 of its bytes.
    pub md5: [u8; 16],
    /// Its file.
    pub segment: Segment,
    /// Verified checksum.
    pub checksum: Option<Checksum>,
}

fn begin(bytes: &[u8]) -> Result<Reader<'_>, DecodeError> {
    let mut reader = Reader::new(bytes);
    match reader.u8("version of an entry")? {
        VERSION => Ok(reader),
        other => Err(reader.wrong("version of an entry", 1, "1", other.into())),
    }
}

fn md5(reader: &mut Reader<'_>) -> Result<[u8; 16], DecodeError> {
    Ok(reader.uuid("MD5")?.0)
}

fn put_checksum(bytes: &mut Vec<u8>, checksum: Option<&Checksum>) {
    bytes.put_u8(checksum.is_some().into());
    if let Some(checksum) = checksum {
        bytes.put_prefixed(checksum.algorithm.as_bytes());
        bytes.put_prefixed(checksum.value.as_bytes());
    }
}

fn checksum(reader: &mut Reader<'_>) -> Result<Option<Checksum>, DecodeError> {
    match reader.u8("number of checksums")? {
        0 => Ok(None),
        1 => {
            let algorithm = text(reader, "algorithm of a checksum")?;
            Ok(Some(Checksum { algorithm, value: text(reader, "checksum")? }))
        }
        other => Err(reader.wrong("number of checksums", 1, "0 or 1", other.into())),
    }
}

impl BucketRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.put_u64(self.created);
        bytes
    }

    /// Decodes a value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = begin(bytes)?;
        let found = Self { created: reader.u64("creation of a bucket")? };
        reader.finish("bucket")?;
        Ok(found)
    }
}

impl ObjectRecord {
    /// The value of the entry.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.put_u64(self.size);
        bytes.put_u64(self.modified);
        bytes.put(&self.md5);
        bytes.put_u16(self.parts);
        put_checksum(&mut bytes, self.checksum.as_ref());
        self.attributes.encode(&mut bytes);
        match &self.place {
            Place::Entry => bytes.put_u8(IN_ENTRY),
            Place::Files(segments) => {
                bytes.put_u8(IN_FILES);
                put_count(&mut bytes, segments.len());
                segments.iter().for_each(|segment| segment.encode(&mut bytes));
            }
        }
        bytes
    }

    /// Decodes a value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = begin(bytes)?;
        let size = reader.u64("size of an object")?;
        let modified = reader.u64("time of an object")?;
        let md5 = md5(&mut reader)?;
        let parts = reader.u16("number of parts")?;
        let checksum = checksum(&mut reader)?;
        let attributes = Attributes::decode(&mut reader)?;
        let place = match reader.u8("place of a body")? {
            IN_ENTRY => Place::Entry,
            IN_FILES => {
                let count = reader.u16("number of files")?;
                let segments = (0..count).map(|_| Segment::decode(&mut reader));
                Place::Files(segments.collect::<Result<_, _>>()?)
            }
            other => return Err(reader.wrong("place of a body", 1, "0 or 1", other.into())),
        };
        reader.finish("object")?;
        if let Place::Files(segments) = &place {
            let sum = segments.iter().try_fold(0u64, |sum, one| sum.checked_add(one.size));
            if sum != Some(size) {
                let expected = "the sum of the sizes of its files";
                return Err(reader.wrong("size of an object", 0, expected, size));
            }
        }
        Ok(Self { size, modified, md5, parts, place, checksum, attributes })
    }

    /// The ETag, without quotes.
    #[must_use]
    pub fn etag(&self) -> String {
        match self.parts {
            0 => hex(&self.md5),
            parts => format!("{}-{parts}", hex(&self.md5)),
        }
    }

    /// Files of the body.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        match &self.place {
            Place::Entry => &[],
            Place::Files(segments) => segments,
        }
    }
}

impl UploadRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.put_u64(self.begun);
        self.attributes.encode(&mut bytes);
        bytes
    }

    /// Decodes a value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = begin(bytes)?;
        let begun = reader.u64("begin of an upload")?;
        let attributes = Attributes::decode(&mut reader)?;
        reader.finish("upload")?;
        Ok(Self { begun, attributes })
    }
}

impl PartRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.put_u64(self.modified);
        bytes.put(&self.md5);
        put_checksum(&mut bytes, self.checksum.as_ref());
        self.segment.encode(&mut bytes);
        bytes
    }

    /// Decodes a value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = begin(bytes)?;
        let modified = reader.u64("time of a part")?;
        let md5 = md5(&mut reader)?;
        let checksum = checksum(&mut reader)?;
        let segment = Segment::decode(&mut reader)?;
        reader.finish("part")?;
        Ok(Self { modified, md5, segment, checksum })
    }

    /// The ETag, without quotes.
    #[must_use]
    pub fn etag(&self) -> String {
        hex(&self.md5)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
