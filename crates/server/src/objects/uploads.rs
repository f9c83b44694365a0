//! Uploads in parts. A part is a file. The object that a completion makes has the files of the
//! parts, in order, without a copy.
//!
//! - A part is acknowledged when its file and its entry are durable. A part with the same number
//!   replaces it.
//! - A completion is one transaction: it writes the object, and removes the upload and its parts.
//!   Files of parts that it does not name, and of the old object, are removed after that.
//! - A client that has not got the answer repeats its completion. As long as the object has the
//!   named parts, the repetition changes nothing, and has the same answer.
//! - An abort removes the upload and its parts in one transaction, and then their files.

use std::collections::BTreeMap;

use s3s::crypto::{Checksum as _, Md5};
use terrace::{Bounds, TransactionKeySpace};
use terrace_env::runner;

use super::attributes::Attributes;
use super::body::NewBody;
use super::change::{Condition, found_in, has_entry};
use super::objects::{Objects, check_bucket};
use super::record::{Checksum, ObjectRecord, PartRecord, Place, UploadRecord};
use super::segment::Segment;
use super::whole::Whole;
use super::{Fault, key};

/// Least bytes of a part other than the last one.
pub(super) const PART_MIN: u64 = 5 << 20;

/// Identity of an upload, drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UploadId(pub [u8; 16]);

impl UploadId {
    /// The id as clients see it.
    #[must_use]
    pub fn to_text(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The id that a client gives.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten()?;
        Some(Self(number.to_be_bytes()))
    }
}

/// A part that a completion names.
#[derive(Clone, Debug)]
pub struct ChosenPart {
    /// Its number.
    pub number: u16,
    /// Its ETag, without quotes.
    pub etag: String,
    /// Its checksum, if the client gives it.
    pub checksum: Option<Checksum>,
}

/// The parts that a completion names, and the size and the checksum of the object, if the client
/// gives them.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Parts, in order.
    pub parts: Vec<ChosenPart>,
    /// Size of the object.
    pub size: Option<u64>,
    /// Checksum of the object.
    pub whole: Option<Whole>,
}

type Parts = BTreeMap<u16, PartRecord>;

impl Objects {
    /// Begins an upload.
    pub fn begin_upload(
        &self,
        bucket: &str,
        name: &str,
        attributes: Attributes,
    ) -> Result<UploadId, Fault> {
        let id = UploadId(runner::fork_random().uuid().0);
        let value = UploadRecord { begun: runner::date().0, attributes }.encode();
        self.change(|entries| {
            check_bucket(entries, bucket)?;
            Ok(entries.put(&key::upload(bucket, name, id), &value)?)
        })?;
        Ok(id)
    }

    /// An unfinished upload.
    pub fn upload(&self, bucket: &str, name: &str, id: UploadId) -> Result<UploadRecord, Fault> {
        let value = self.space.get(&key::upload(bucket, name, id))?;
        Ok(UploadRecord::decode(&value.ok_or(Fault::NoSuchUpload)?)?)
    }

    /// Puts a part, durably.
    pub fn put_part(
        &self,
        (bucket, name): (&str, &str),
        (id, number): (UploadId, u16),
        body: NewBody,
        checksum: Option<Checksum>,
    ) -> Result<PartRecord, Fault> {
        let (written, member) = self.groups.publish(body, &self.files)?;
        let (md5, segment) = (written.md5, written.segment);
        let record = PartRecord { modified: runner::date().0, md5, segment, checksum };
        let value = record.encode();
        let place = key::part(id, number);
        let mut is_tried = false;
        let changed = self.change_as((Some(member), &mut is_tried), |entries| {
            check_upload(entries, bucket, name, id)?;
            let old = entries.get(&place)?;
            let old = old.map(|value| PartRecord::decode(&value)).transpose()?;
            entries.put(&place, &value)?;
            Ok(old)
        });
        let (old, changed) = match changed {
            Ok(old) => (old, Ok(None)),
            Err(fault) => (None, Err(fault)),
        };
        let places = [place, key::upload(bucket, name, id)];
        self.replaced((changed, is_tried), std::slice::from_ref(&record.segment), &places)?;
        if let Some(old) = old {
            self.remove(&[old.segment]);
        }
        Ok(record)
    }

    /// Parts of an upload, in order, after the part `after`; at most `max`, and whether there are
    /// more.
    pub fn parts(
        &self,
        id: UploadId,
        after: u16,
        max: usize,
    ) -> Result<(Vec<(u16, PartRecord)>, bool), Fault> {
        let mut found = Vec::new();
        if max == 0 {
            return Ok((found, false));
        }
        for entry in self.space.scan(Bounds::prefix(&key::parts_of(id)))? {
            let (place, value) = entry?;
            let Some((_, number)) = key::split_part(&place) else { continue };
            if number <= after {
                continue;
            }
            if found.len() == max {
                return Ok((found, true));
            }
            found.push((number, PartRecord::decode(&value)?));
        }
        Ok((found, false))
    }

    /// Completes an upload: the object has the chosen parts.
    pub fn complete(
        &self,
        (bucket, name): (&str, &str),
        id: UploadId,
        chosen: &Chosen,
        condition: &Condition,
    ) -> Result<ObjectRecord, Fault> {
        let (record, old, unused) = self.change(|entries| {
            check_bucket(entries, bucket)?;
            let upload = match check_upload(entries, bucket, name, id) {
                Err(Fault::NoSuchUpload) => {
                    let record = completed(entries, (bucket, name), chosen)?;
                    self.confirm(false)?;
                    return Ok((record, None, Parts::new()));
                }
                upload => upload?,
            };
            let old = found_in(entries, bucket, name)?;
            condition.check(name, old.as_ref())?;
            let mut parts = parts_in(entries, id)?;
            let record = joined(&mut parts, chosen, upload.attributes)?;
            entries.put(&key::object(bucket, name), &record.encode())?;
            if has_entry(old.as_ref()) {
                entries.delete(&key::body(bucket, name))?;
            }
            remove_upload(entries, bucket, name, id)?;
            Ok((record, old, parts))
        })?;
        self.remove(old.as_ref().map_or(&[], ObjectRecord::segments));
        self.remove(&segments_of(unused));
        Ok(record)
    }

    /// Aborts an upload: its parts are gone.
    pub fn abort(&self, bucket: &str, name: &str, id: UploadId) -> Result<(), Fault> {
        let parts = self.change(|entries| {
            check_upload(entries, bucket, name, id)?;
            let parts = parts_in(entries, id)?;
            remove_upload(entries, bucket, name, id)?;
            Ok(parts)
        })?;
        self.remove(&segments_of(parts));
        Ok(())
    }

    /// Aborts the uploads that are older than the options allow; returns their number.
    pub fn forget_old_uploads(&self) -> Result<u64, Fault> {
        let oldest = runner::date().0.saturating_sub(self.options.upload_age_max);
        let mut old = Vec::new();
        for entry in self.space.scan(Bounds::prefix(key::UPLOADS))? {
            let (place, value) = entry?;
            let Some((bucket, name, id)) = key::split_upload(&place) else { continue };
            if UploadRecord::decode(&value)?.begun < oldest {
                old.push((bucket.to_owned(), name.to_owned(), id));
            }
        }
        let mut forgotten = 0;
        for (bucket, name, id) in old {
            match self.abort(&bucket, &name, id) {
                Ok(()) => forgotten += 1,
                // A client was first.
                Err(Fault::NoSuchUpload) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(forgotten)
    }
}

fn check_upload(
    entries: &TransactionKeySpace<'_>,
    bucket: &str,
    name: &str,
    id: UploadId,
) -> Result<UploadRecord, Fault> {
    let value = entries.get(&key::upload(bucket, name, id))?;
    Ok(UploadRecord::decode(&value.ok_or(Fault::NoSuchUpload)?)?)
}

fn parts_in(entries: &TransactionKeySpace<'_>, id: UploadId) -> Result<Parts, Fault> {
    let mut found = Parts::new();
    for entry in entries.scan(Bounds::prefix(&key::parts_of(id)))? {
        let (place, value) = entry?;
        if let Some((_, number)) = key::split_part(&place) {
            found.insert(number, PartRecord::decode(&value)?);
        }
    }
    Ok(found)
}

fn remove_upload(
    entries: &TransactionKeySpace<'_>,
    bucket: &str,
    name: &str,
    id: UploadId,
) -> Result<(), Fault> {
    entries.delete_range(Bounds::prefix(&key::parts_of(id)))?;
    Ok(entries.delete(&key::upload(bucket, name, id))?)
}

fn segments_of(parts: Parts) -> Vec<Segment> {
    parts.into_values().map(|part| part.segment).collect()
}

/// The object that an earlier completion has made of parts with these ETags.
fn completed(
    entries: &TransactionKeySpace<'_>,
    (bucket, name): (&str, &str),
    chosen: &Chosen,
) -> Result<ObjectRecord, Fault> {
    let mut md5 = Md5::new();
    for part in &chosen.parts {
        let digest = u128::from_str_radix(&part.etag, 16).map_err(|_| Fault::NoSuchUpload)?;
        md5.update(&digest.to_be_bytes());
    }
    let (count, md5) = (chosen.parts.len(), md5.finalize());
    let found = found_in(entries, bucket, name)?;
    let found = found.filter(|one| usize::from(one.parts) == count && one.md5 == md5);
    found.ok_or(Fault::NoSuchUpload)
}

/// The object of chosen parts, which are taken out of `parts`.
fn joined(
    parts: &mut Parts,
    Chosen { parts: chosen, size: expected, whole }: &Chosen,
    attributes: Attributes,
) -> Result<ObjectRecord, Fault> {
    if !chosen.is_sorted_by(|one, next| one.number < next.number) {
        return Err(Fault::PartOrder);
    }
    let mut md5 = Md5::new();
    let (mut size, mut segments) = (0, Vec::with_capacity(chosen.len()));
    let mut sums = Vec::with_capacity(chosen.len());
    for (at, ChosenPart { number, etag, checksum }) in chosen.iter().enumerate() {
        let part = parts.remove(number).filter(|part| {
            part.etag() == *etag && (checksum.is_none() || *checksum == part.checksum)
        });
        let part = part.ok_or(Fault::InvalidPart(*number))?;
        let found = part.segment.size;
        if at + 1 < chosen.len() && found < PART_MIN {
            return Err(Fault::PartTooSmall { number: *number, least: PART_MIN, found });
        }
        md5.update(&part.md5);
        size += found;
        sums.push((part.checksum, found));
        segments.push(part.segment);
    }
    if let Some(expected) = expected.filter(|&expected| expected != size) {
        return Err(Fault::WrongSize { expected, found: size });
    }
    if let Some(whole) = whole {
        whole.verify(&sums)?;
    }
    let Ok(count @ 1..) = u16::try_from(chosen.len()) else { return Err(Fault::InvalidPart(0)) };
    Ok(ObjectRecord {
        size,
        modified: runner::date().0,
        md5: md5.finalize(),
        parts: count,
        place: Place::Files(segments),
        checksum: None,
        attributes,
    })
}
