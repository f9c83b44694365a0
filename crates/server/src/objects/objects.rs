//! [`Objects`]: the open store of objects, its buckets, and reads of objects.
//!
//! The [module](super) has the argument why an object is whole or absent.

use bytes::Bytes;
use terrace::fs::NamedFiles;
use terrace::{Bounds, Db, Durability, ErrorKind, KeySpace, TransactionKeySpace};
use terrace_env::runner;

use super::body::{NewBody, StoredBody};
use super::company::Member;
use super::groups::Groups;
use super::record::{BucketRecord, ObjectRecord, Place};
use super::segment::Segment;
use super::streams::Streams;
use super::sweep::{Swept, remove_files};
use super::{Fault, key};

/// The key space of the entries.
const KEY_SPACE: &str = "objects";

/// Options of an opening.
#[derive(Clone, Copy, Debug)]
pub struct ObjectsOptions {
    /// Largest body that is an entry.
    pub entry_max: u64,
    /// Age at which an unfinished upload is forgotten, in milliseconds.
    pub upload_age_max: u64,
    /// Whether objects and parts are forgotten when files of them are not there.
    pub forget_missing: bool,
}

/// See the [module](self).
pub struct Objects {
    pub(super) db: Db,
    pub(super) space: KeySpace,
    pub(super) files: NamedFiles,
    pub(super) options: ObjectsOptions,
    pub(super) groups: Groups,
    streams: Streams,
}

/// A body that is to be put.
pub enum Body {
    /// A small body, with its MD5.
    Bytes(Bytes, [u8; 16]),
    /// A file that was written.
    File(NewBody),
}

/// An object and its body.
pub struct Found {
    /// Metadata.
    pub record: ObjectRecord,
    /// Bytes.
    pub body: StoredBody,
}

impl Objects {
    /// Opens the objects of a store. Removes files that no entry names, and old uploads.
    ///
    /// # Errors
    /// [`Fault::NoFiles`] for a copy that has not the files of its objects.
    pub fn open(db: &Db, options: ObjectsOptions) -> Result<(Self, Swept), Fault> {
        let db = db.with_durability(Durability::Synced);
        let space = db.create_key_space(KEY_SPACE)?;
        let files = db.files();
        let streams = Streams::on(db.fs().map(|fs| &**fs));
        let groups = Groups::new(files.store().rotational());
        let objects = Self { db, space, files, options, groups, streams };
        let mut swept = objects.sweep()?;
        swept.uploads = objects.forget_old_uploads()?;
        Ok((objects, swept))
    }

    /// The store.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &ObjectsOptions {
        &self.options
    }

    /// Makes a change in a transaction, and again for each conflict. It is durable then.
    pub(super) fn change<T>(
        &self,
        attempt: impl FnMut(&TransactionKeySpace<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.change_as((None, &mut false), attempt)
    }

    /// The same for a put with a member of a group: the first attempt is committed with the group.
    /// `is_tried`: set before the first commit; an error before it has written nothing.
    pub(super) fn change_as<T>(
        &self,
        (mut member, is_tried): (Option<Member>, &mut bool),
        mut attempt: impl FnMut(&TransactionKeySpace<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        loop {
            let transaction = self.db.transaction()?;
            let done = attempt(&transaction.key_space(&self.space)?)?;
            *is_tried = true;
            let committed = match member.take() {
                Some(member) => member.commit(&self.db, transaction),
                None => transaction.commit_with(Durability::Synced),
            };
            match committed {
                Ok(()) => return Ok(done),
                Err(error) if error.kind() == ErrorKind::Conflict => *is_tried = false,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Before a change that writes nothing is acknowledged: makes the state that it has read
    /// durable. It may come from a change whose sync failed, which shows and can still be lost.
    pub(super) fn confirm(&self, has_written: bool) -> Result<(), Fault> {
        if has_written { Ok(()) } else { Ok(self.db.sync()?) }
    }

    /// Removes files that no entry names any more. A failure is no error of the caller's change,
    /// which has been made: the next opening removes them.
    pub(super) fn remove(&self, segments: &[Segment]) {
        if let Err(error) = remove_files(&self.files, segments.iter().map(|one| one.file)) {
            tracing::warn!(%error, "files of a removed body stay until the next opening");
        }
    }

    /// Creates a bucket.
    pub fn create_bucket(&self, name: &str) -> Result<(), Fault> {
        let place = key::bucket(name);
        let value = BucketRecord { created: runner::date().0 }.encode();
        match self.space.put_if(&place, None, &value)? {
            true => Ok(()),
            false => Err(Fault::BucketExists(name.to_owned())),
        }
    }

    /// The bucket of this name.
    pub fn bucket(&self, name: &str) -> Result<BucketRecord, Fault> {
        let value = self.space.get(&key::bucket(name))?;
        let value = value.ok_or_else(|| Fault::NoSuchBucket(name.to_owned()))?;
        Ok(BucketRecord::decode(&value)?)
    }

    /// All buckets, in order.
    pub fn buckets(&self) -> Result<Vec<(String, BucketRecord)>, Fault> {
        let mut found = Vec::new();
        for entry in self.space.scan(Bounds::prefix(key::BUCKETS))? {
            let (place, value) = entry?;
            let Some(name) = key::text(&place[1..]) else { continue };
            found.push((name.to_owned(), BucketRecord::decode(&value)?));
        }
        Ok(found)
    }

    /// Deletes an empty bucket.
    pub fn delete_bucket(&self, name: &str) -> Result<(), Fault> {
        self.change(|entries| {
            check_bucket(entries, name)?;
            for prefix in [key::objects_of(name), key::uploads_of(name)] {
                if let Some(entry) = entries.scan(Bounds::prefix(&prefix))?.next() {
                    entry?;
                    return Err(Fault::BucketNotEmpty(name.to_owned()));
                }
            }
            Ok(entries.delete(&key::bucket(name))?)
        })
    }

    /// Begins a body for a bucket that is larger than an entry may be; its size, if that is known.
    /// Refused while the store takes no entries.
    pub fn begin_body(&self, bucket: &str, size: Option<u64>) -> Result<NewBody, Fault> {
        self.db.check_writable()?;
        let hint = self.streams.hint(bucket, size.unwrap_or(u64::MAX));
        NewBody::begin((&self.files, &self.groups), hint, size, runner::date().0)
    }

    /// Metadata of an object.
    pub fn head(&self, bucket: &str, name: &str) -> Result<ObjectRecord, Fault> {
        match self.space.get(&key::object(bucket, name))? {
            Some(value) => Ok(ObjectRecord::decode(&value)?),
            None => Err(self.absent(bucket, name)),
        }
    }

    /// An object, for reading.
    pub fn get(&self, bucket: &str, name: &str) -> Result<Found, Fault> {
        let places = [key::object(bucket, name), key::body(bucket, name)];
        loop {
            // Both at one moment.
            let mut values = self.space.multi_get(&places)?.into_iter();
            let (value, bytes) = (values.next().flatten(), values.next().flatten());
            let Some(value) = value else { return Err(self.absent(bucket, name)) };
            let record = ObjectRecord::decode(&value)?;
            let opened = match &record.place {
                Place::Entry => {
                    let bytes = bytes.unwrap_or_default();
                    let (expected, found) = (record.size, bytes.len() as u64);
                    let fits = expected == found;
                    let wrong = Fault::BodySize { expected, found };
                    fits.then_some(StoredBody::Bytes(bytes)).ok_or(wrong)
                }
                Place::Files(segments) => StoredBody::open(&self.files, segments),
            };
            match opened {
                Ok(body) => return Ok(Found { record, body }),
                // Files were removed since the entry was read, unless the entry is the same.
                Err(fault) if self.space.get(&places[0])?.as_ref() == Some(&value) => {
                    return Err(fault);
                }
                Err(_) => {}
            }
        }
    }

    /// The reason why an object is not there.
    fn absent(&self, bucket: &str, name: &str) -> Fault {
        match self.bucket(bucket) {
            Ok(_) => Fault::NoSuchKey(name.to_owned()),
            Err(fault) => fault,
        }
    }
}

/// Checks in a transaction that a bucket exists.
pub(super) fn check_bucket(entries: &TransactionKeySpace<'_>, name: &str) -> Result<(), Fault> {
    match entries.contains(&key::bucket(name))? {
        true => Ok(()),
        false => Err(Fault::NoSuchBucket(name.to_owned())),
    }
}
