//! [`World`]: the objects and unfinished uploads of a bucket, with the origin of all their bytes;
//! [`Sums`], the same by size and checksum, as they are expected or read from a store; and
//! [`audit`], which compares files with their owners.

use std::collections::{BTreeMap, BTreeSet};

use md5::{Digest as _, Md5};
use terrace_env::store::FileKind;
use terrace_env::{Cause, checksum};
use terrace_server::objects::{Attributes, Body, Condition, Fault, Found, Objects, StoredBody};

use crate::rig::all;

pub(super) const BUCKET: &str = "bucket";

/// Bytes: their seed and their number.
pub(super) type Bytes = (u64, usize);

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    /// Keys and the pieces of their bodies.
    pub(super) objects: BTreeMap<String, Vec<Bytes>>,
    /// Keys and parts; a key has at most one upload.
    pub(super) uploads: BTreeMap<String, BTreeMap<u16, Bytes>>,
}

/// Size and CRC32C of some bytes.
type Sum = (u64, u32);

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    objects: BTreeMap<String, Sum>,
    uploads: BTreeMap<String, BTreeMap<u16, Sum>>,
}

impl World {
    pub(super) fn sums(&self) -> Sums {
        let sum = |pieces: &[Bytes]| {
            pieces.iter().fold((0, 0), |(size, crc), &(seed, count)| {
                let bytes = crate::rig::bytes(seed, count);
                (size + count as u64, checksum::crc32c_append(crc, &bytes))
            })
        };
        let of_parts = |parts: &BTreeMap<u16, Bytes>| {
            parts.iter().map(|(number, bytes)| (*number, sum(&[*bytes]))).collect()
        };
        let objects = self.objects.iter().map(|(key, pieces)| (key.clone(), sum(pieces)));
        let uploads = self.uploads.iter().map(|(key, parts)| (key.clone(), of_parts(parts)));
        Sums { objects: objects.collect(), uploads: uploads.collect() }
    }
}

impl Sums {
    /// Reads all bytes of a store.
    pub(super) fn read(objects: &Objects) -> Self {
        let mut sums = Self::default();
        for key in keys(objects) {
            let Found { record, body } = objects.get(BUCKET, &key).expect("an object");
            let mut sum = (0, 0);
            while sum.0 < record.size {
                let piece = body.read(sum.0, record.size).expect("sound bytes");
                sum = (sum.0 + piece.len() as u64, checksum::crc32c_append(sum.1, &piece));
            }
            sums.objects.insert(key, sum);
        }
        let files = objects.db().files();
        let listing = objects.list_uploads(BUCKET, &all(), None).expect("a list");
        for (key, id, _) in listing.uploads {
            let mut parts = BTreeMap::new();
            for (number, part) in objects.parts(id, 0, usize::MAX).expect("parts").0 {
                let file = files.open_file(part.segment.file).expect("the file of a part");
                let size = part.segment.size;
                let bytes = file.read(0, size as usize, Cause::Client).expect("sound bytes");
                parts.insert(number, (size, checksum::crc32c_append(0, &bytes)));
            }
            assert!(sums.uploads.insert(key, parts).is_none(), "one upload for a key");
        }
        sums
    }
}

fn keys(objects: &Objects) -> Vec<String> {
    let listing = objects.list(BUCKET, &all()).expect("a list");
    listing.objects.into_iter().map(|(key, _)| key).collect()
}

/// Puts an object, as the server does: as an entry or as a file.
pub(super) fn put(objects: &Objects, key: &str, bytes: Bytes) -> Result<(), Fault> {
    put_bytes(objects, key, &crate::rig::bytes(bytes.0, bytes.1), Attributes::default())
}

fn put_bytes(objects: &Objects, key: &str, bytes: &[u8], of: Attributes) -> Result<(), Fault> {
    let body = if bytes.len() as u64 <= objects.options().entry_max {
        Body::Bytes(bytes.to_vec().into(), Md5::digest(bytes).into())
    } else {
        let mut body = objects.begin_body(BUCKET, Some(bytes.len() as u64))?;
        for piece in bytes.chunks(300_000) {
            body.append(piece)?;
        }
        Body::File(body)
    };
    objects.put((BUCKET, key), body, (of, None), &Condition::Always).map(drop)
}

/// Copies an object: its bytes are read and written.
pub(super) fn copy(objects: &Objects, from: &str, to: &str) -> Result<(), Fault> {
    let Found { record, body } = objects.get(BUCKET, from)?;
    if let StoredBody::Bytes(bytes) = &body {
        return put_bytes(objects, to, bytes, record.attributes);
    }
    let mut copied = objects.begin_body(BUCKET, Some(record.size))?;
    while copied.size() < record.size {
        copied.append(&body.read(copied.size(), record.size)?)?;
    }
    let of = (record.attributes, None);
    objects.put((BUCKET, to), Body::File(copied), of, &Condition::Always).map(drop)
}

/// Compares files of bodies with their owners, objects and parts of uploads. An error names the
/// first file without an owner or with two, or the first owner without its file. Unsealed files
/// and files without a name are files without an owner.
pub(super) fn audit(objects: &Objects) -> Result<(), String> {
    let mut owners = BTreeMap::new();
    let mut own = |file, owner: String| match owners.insert(file, owner.clone()) {
        Some(other) => Err(format!("file {file:?} has two owners, {other} and {owner}")),
        None => Ok(()),
    };
    for key in keys(objects) {
        let record = objects.head(BUCKET, &key).expect("an object");
        for segment in record.segments() {
            own(segment.file, format!("object {key}"))?;
        }
    }
    let listing = objects.list_uploads(BUCKET, &all(), None).expect("a list");
    for (key, id, _) in listing.uploads {
        for (number, part) in objects.parts(id, 0, usize::MAX).expect("parts").0 {
            own(part.segment.file, format!("part {number} of {key}"))?;
        }
    }
    let mut files = BTreeSet::new();
    for info in objects.db().files().store().list() {
        if info.kind != FileKind::Client {
            continue;
        }
        if !owners.contains_key(&info.id) {
            return Err(format!("{info:?} has no owner"));
        }
        files.insert(info.id);
    }
    match owners.iter().find(|(file, _)| !files.contains(file)) {
        Some((file, owner)) => Err(format!("{owner} names the missing file {file:?}")),
        None => Ok(()),
    }
}
