//! Lists of objects and of unfinished uploads, in the order of their keys.
//!
//! Keys with a common prefix, up to a delimiter, are one item of the list. The cursor seeks to the
//! first key after them, so a list of prefixes costs a seek for each, not a read for each key.
//!
//! A list of long names ends early, as S3 allows it: a client that takes no bytes holds it in
//! memory.

use terrace::Bounds;

use super::objects::Objects;
use super::record::{ObjectRecord, UploadRecord};
use super::uploads::UploadId;
use super::{Fault, key};

/// Bytes of names with which a list ends. In the encoding for URLs they take three times as many,
/// with the rest of a thousand items less than three pieces of a body.
const NAMES_MAX: usize = 320 << 10;

/// A request for a list.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Keys begin with this.
    pub prefix: String,
    /// Keys are grouped up to this text after the prefix.
    pub delimiter: Option<String>,
    /// The last item before the list.
    pub after: Option<Listed>,
    /// Most items.
    pub max: usize,
}

/// An item of a list, as a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A key.
    Key(String),
    /// A common prefix.
    Prefix(String),
}

/// A list.
#[derive(Debug, Default)]
pub struct Listing {
    /// Objects.
    pub objects: Vec<(String, ObjectRecord)>,
    /// Common prefixes.
    pub prefixes: Vec<String>,
    /// The last item, if there are more.
    pub next: Option<Listed>,
}

/// An unfinished upload in a list: the key of its object, its id, and its record.
pub type ListedUpload = (String, UploadId, UploadRecord);

/// A list of unfinished uploads.
#[derive(Debug, Default)]
pub struct UploadListing {
    /// Uploads.
    pub uploads: Vec<ListedUpload>,
    /// Common prefixes of their keys.
    pub prefixes: Vec<String>,
    /// The last item, if there are more: a key and its upload, or a common prefix.
    pub next: Option<(String, Option<UploadId>)>,
}

/// An item of a list that is being made.
enum Item<'a> {
    Prefix(String),
    /// The name, the key of the entry, and its value.
    Entry(&'a str, &'a [u8], &'a [u8]),
}

impl Objects {
    /// Lists a part of a bucket.
    pub fn list(&self, bucket: &str, wanted: &Wanted) -> Result<Listing, Fault> {
        self.bucket(bucket)?;
        let base = key::objects_of(bucket);
        let start = wanted.after.as_ref().map(|after| match after {
            Listed::Key(name) => [&base[..], name.as_bytes(), &[0]].concat(),
            Listed::Prefix(prefix) => after_prefix(&base, prefix),
        });
        let (mut listing, mut last) = (Listing::default(), None);
        let has_more = self.walk((&base, start), wanted, key::object_name, |item| {
            last = Some(match item {
                Item::Prefix(prefix) => {
                    listing.prefixes.push(prefix.clone());
                    Listed::Prefix(prefix)
                }
                Item::Entry(name, _, value) => {
                    listing.objects.push((name.to_owned(), ObjectRecord::decode(value)?));
                    Listed::Key(name.to_owned())
                }
            });
            Ok(())
        })?;
        listing.next = last.filter(|_| has_more);
        Ok(listing)
    }

    /// Lists unfinished uploads of a bucket: after the upload `id` of the key that the list begins
    /// after, or after all uploads of that key.
    pub fn list_uploads(
        &self,
        bucket: &str,
        wanted: &Wanted,
        id: Option<UploadId>,
    ) -> Result<UploadListing, Fault> {
        self.bucket(bucket)?;
        let base = key::uploads_of(bucket);
        let start = wanted.after.as_ref().map(|after| match (after, id) {
            (Listed::Key(name), Some(id)) => [&key::upload(bucket, name, id)[..], &[0]].concat(),
            // A zero byte is after the name in the keys of its uploads.
            (Listed::Key(name), None) => [&base[..], name.as_bytes(), &[1]].concat(),
            (Listed::Prefix(prefix), _) => after_prefix(&base, prefix),
        });
        let (mut listing, mut last) = (UploadListing::default(), None);
        let has_more = self.walk((&base, start), wanted, key::upload_name, |item| {
            last = Some(match item {
                Item::Prefix(prefix) => {
                    listing.prefixes.push(prefix.clone());
                    (prefix, None)
                }
                Item::Entry(name, place, value) => {
                    let Some((_, _, id)) = key::split_upload(place) else { return Ok(()) };
                    let record = UploadRecord::decode(value)?;
                    listing.uploads.push((name.to_owned(), id, record));
                    (name.to_owned(), Some(id))
                }
            });
            Ok(())
        })?;
        listing.next = last.filter(|_| has_more);
        Ok(listing)
    }

    /// Visits the wanted items with the prefix `base`, in order, from `start` on; returns whether
    /// there are more. Entries of which `name_of` knows no name are passed over.
    fn walk(
        &self,
        (base, start): (&[u8], Option<Vec<u8>>),
        wanted: &Wanted,
        name_of: fn(&[u8]) -> Option<&str>,
        mut visit: impl FnMut(Item<'_>) -> Result<(), Fault>,
    ) -> Result<bool, Fault> {
        if wanted.max == 0 {
            return Ok(false);
        }
        let all = [base, wanted.prefix.as_bytes()].concat();
        let mut cursor = self.space.cursor(Bounds::prefix(&all))?;
        let mut is_on = match start {
            None => cursor.seek_to_first()?,
            Some(start) => cursor.seek(&start)?,
        };
        let (mut items, mut bytes) = (0, 0);
        while is_on {
            if items == wanted.max || bytes > NAMES_MAX {
                return Ok(true);
            }
            let Some(name) = name_of(cursor.key()) else {
                is_on = cursor.next()?;
                continue;
            };
            items += 1;
            bytes += name.len();
            match common_prefix(name, wanted) {
                Some(prefix) => {
                    let next = after_prefix(base, &prefix);
                    visit(Item::Prefix(prefix))?;
                    is_on = cursor.seek(&next)?;
                }
                None => {
                    visit(Item::Entry(name, cursor.key(), cursor.value_slice()))?;
                    is_on = cursor.next()?;
                }
            }
        }
        Ok(false)
    }
}

/// The common prefix that a key belongs to.
fn common_prefix(name: &str, wanted: &Wanted) -> Option<String> {
    let delimiter = wanted.delimiter.as_deref().filter(|text| !text.is_empty())?;
    let at = name.get(wanted.prefix.len()..)?.find(delimiter)?;
    Some(name[..wanted.prefix.len() + at + delimiter.len()].to_owned())
}

/// The first key after all keys of names that begin with this prefix.
fn after_prefix(base: &[u8], prefix: &str) -> Vec<u8> {
    let mut bytes = [base, prefix.as_bytes()].concat();
    // No byte of UTF-8 is the largest one.
    if let Some(last) = bytes.last_mut() {
        *last = last.saturating_add(1);
    }
    bytes
}
