//! Changes of one object: put, delete, and new attributes; each on a [`Condition`].
//!
//! A put publishes its body, and then writes the entry; the old files are removed last. If the
//! transaction is refused, the new file is removed at once. If it fails in another way, the entry
//! may have been written: the file stays, and the next opening decides. A lack of space may be that
//! of the entry, or that of a flush after it: the entry that can be read then tells.
//!
//! Deletes of many objects share a transaction. If it fails, each half of them has its own, so that
//! a key with a conflict or a failure holds up no others.

use terrace::{Durability, ErrorKind, TransactionKeySpace};
use terrace_env::runner;

use super::attributes::Attributes;
use super::objects::{Body, Objects, check_bucket};
use super::origin::files_of;
use super::record::{Checksum, ObjectRecord, Place};
use super::segment::Segment;
use super::{Fault, key};

/// A condition on the object that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// None.
    #[default]
    Always,
    /// There is no object.
    Absent,
    /// There is an object.
    Present,
    /// There is an object with one of these ETags, without quotes.
    Etag(Vec<String>),
    /// There is no object with one of these ETags.
    NotEtag(Vec<String>),
}

impl Condition {
    pub(super) fn check(&self, name: &str, found: Option<&ObjectRecord>) -> Result<(), Fault> {
        let holds = match (self, found) {
            (Self::Always, _) | (Self::Absent, None) | (Self::Present, Some(_)) => true,
            (Self::Etag(etags), Some(found)) => etags.contains(&found.etag()),
            (Self::NotEtag(etags), found) => {
                found.is_none_or(|found| !etags.contains(&found.etag()))
            }
            (Self::Present | Self::Etag(_), None) => {
                return Err(Fault::NoSuchKey(name.to_owned()));
            }
            (Self::Absent, Some(_)) => false,
        };
        if holds { Ok(()) } else { Err(Fault::Precondition) }
    }
}

/// The object in a transaction.
pub(super) fn found_in(
    entries: &TransactionKeySpace<'_>,
    bucket: &str,
    name: &str,
) -> Result<Option<ObjectRecord>, Fault> {
    let value = entries.get(&key::object(bucket, name))?;
    Ok(value.map(|value| ObjectRecord::decode(&value)).transpose()?)
}

/// Deletes an object in a transaction; returns the old one.
fn delete_in(
    entries: &TransactionKeySpace<'_>,
    bucket: &str,
    name: &str,
    condition: &Condition,
) -> Result<Option<ObjectRecord>, Fault> {
    let old = found_in(entries, bucket, name)?;
    condition.check(name, old.as_ref())?;
    if old.is_some() {
        entries.delete(&key::object(bucket, name))?;
    }
    if has_entry(old.as_ref()) {
        entries.delete(&key::body(bucket, name))?;
    }
    Ok(old)
}

impl Objects {
    /// Puts an object, durably, and returns its metadata. An object with the same key is replaced.
    pub fn put(
        &self,
        (bucket, name): (&str, &str),
        body: Body,
        (attributes, checksum): (Attributes, Option<Checksum>),
        condition: &Condition,
    ) -> Result<ObjectRecord, Fault> {
        let modified = runner::date().0;
        let of = |size, md5, place| ObjectRecord {
            size,
            modified,
            md5,
            parts: 0,
            place,
            checksum,
            attributes,
        };
        let (record, bytes, member) = match body {
            Body::Bytes(bytes, md5) => {
                (of(bytes.len() as u64, md5, Place::Entry), Some(bytes), None)
            }
            Body::File(body) => {
                let (written, member) = self.groups.publish(body, &self.files)?;
                let size = written.segment.size;
                (of(size, written.md5, Place::Files(vec![written.segment])), None, Some(member))
            }
        };
        let value = record.encode();
        let mut is_tried = false;
        let changed = self.change_as((member, &mut is_tried), |entries| {
            check_bucket(entries, bucket)?;
            let old = found_in(entries, bucket, name)?;
            condition.check(name, old.as_ref())?;
            entries.put(&key::object(bucket, name), &value)?;
            match &bytes {
                Some(bytes) => entries.put(&key::body(bucket, name), bytes)?,
                None if has_entry(old.as_ref()) => entries.delete(&key::body(bucket, name))?,
                None => {}
            }
            Ok(old)
        });
        let places = [key::object(bucket, name)];
        self.replaced((changed, is_tried), record.segments(), &places)?;
        Ok(record)
    }

    /// Removes the files of the old object after a change, or those of the new one after a refusal.
    /// With the change comes whether a commit was tried. `places`: the key of the entry and, for a
    /// part, that of its upload.
    pub(super) fn replaced(
        &self,
        (changed, is_tried): (Result<Option<ObjectRecord>, Fault>, bool),
        new: &[Segment],
        places: &[Vec<u8>],
    ) -> Result<(), Fault> {
        match changed {
            Ok(old) => {
                self.remove(old.as_ref().map_or(&[], ObjectRecord::segments));
                Ok(())
            }
            Err(fault) => {
                let may_be_written = match &fault {
                    _ if !is_tried => false,
                    Fault::Store(error) if error.kind() == ErrorKind::NoSpace => {
                        self.may_name(places, new)
                    }
                    Fault::Store(_) => true,
                    _ => false,
                };
                if !may_be_written {
                    self.remove(new);
                }
                Err(fault)
            }
        }
    }

    /// Whether the entry of the first key names one of the files, or cannot be read. So may an
    /// object, if the upload of a part is gone.
    fn may_name(&self, places: &[Vec<u8>], files: &[Segment]) -> bool {
        let Ok(values) = self.space.multi_get(places) else { return true };
        match &values[0] {
            Some(value) => files_of(&places[0], value).map_or(true, |named| {
                named.iter().any(|one| files.iter().any(|other| other.file == one.file))
            }),
            None => values.get(1).is_some_and(Option::is_none),
        }
    }

    /// Deletes an object, durably; returns whether there was one.
    pub fn delete(&self, bucket: &str, name: &str, condition: &Condition) -> Result<bool, Fault> {
        let old = self.change(|entries| {
            check_bucket(entries, bucket)?;
            let old = delete_in(entries, bucket, name, condition)?;
            self.confirm(old.is_some())?;
            Ok(old)
        })?;
        self.remove(old.as_ref().map_or(&[], ObjectRecord::segments));
        Ok(old.is_some())
    }

    /// Deletes objects, durably, each on its condition; returns for each whether there was one.
    pub fn delete_all(
        &self,
        bucket: &str,
        wanted: &[(String, Condition)],
    ) -> Vec<Result<bool, Fault>> {
        match wanted {
            [] => return Vec::new(),
            [(name, condition)] => return vec![self.delete(bucket, name, condition)],
            _ => {}
        }
        match self.delete_together(bucket, wanted) {
            Ok(done) => done,
            Err(_) => {
                let (first, second) = wanted.split_at(wanted.len() / 2);
                let mut done = self.delete_all(bucket, first);
                done.extend(self.delete_all(bucket, second));
                done
            }
        }
    }

    /// The same in one transaction. It fails if the store fails, or by a conflict.
    fn delete_together(
        &self,
        bucket: &str,
        wanted: &[(String, Condition)],
    ) -> Result<Vec<Result<bool, Fault>>, Fault> {
        let transaction = self.db.transaction()?;
        let entries = transaction.key_space(&self.space)?;
        check_bucket(&entries, bucket)?;
        let (mut done, mut removed) = (Vec::with_capacity(wanted.len()), Vec::new());
        for (name, condition) in wanted {
            match delete_in(&entries, bucket, name, condition) {
                Ok(old) => {
                    done.push(Ok(old.is_some()));
                    removed.extend(old.iter().flat_map(ObjectRecord::segments).cloned());
                }
                Err(fault @ (Fault::NoSuchKey(_) | Fault::Precondition)) => done.push(Err(fault)),
                Err(fault) => return Err(fault),
            }
        }
        self.confirm(done.iter().any(|one| matches!(one, Ok(true))))?;
        transaction.commit_with(Durability::Synced)?;
        self.remove(&removed);
        Ok(done)
    }

    /// Changes the metadata of an object, durably; its body stays.
    pub fn annotate(
        &self,
        bucket: &str,
        name: &str,
        condition: &Condition,
        change: impl Fn(&mut ObjectRecord),
    ) -> Result<ObjectRecord, Fault> {
        self.change(|entries| {
            check_bucket(entries, bucket)?;
            let old = found_in(entries, bucket, name)?;
            condition.check(name, old.as_ref())?;
            let mut record = old.ok_or_else(|| Fault::NoSuchKey(name.to_owned()))?;
            change(&mut record);
            entries.put(&key::object(bucket, name), &record.encode())?;
            Ok(record)
        })
    }
}

/// Whether the body of an object is an entry.
pub(super) fn has_entry(record: Option<&ObjectRecord>) -> bool {
    record.is_some_and(|record| record.place == Place::Entry)
}
