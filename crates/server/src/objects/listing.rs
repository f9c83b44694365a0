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

impl Objects {
    /// Lists a part of a bucket.
    pub fn list(&self, bucket: &str, wanted: &Wanted) -> Result<Listing, Fault> {
        self.bucket(bucket)?;
        let mut listing = Listing::default();
        if wanted.max == 0 {
            return Ok(listing);
        }
        let base = key::objects_of(bucket);
        let at = |name: &str| [&base[..], name.as_bytes()].concat();
        let mut cursor = self.space.cursor(Bounds::prefix(&at(&wanted.prefix)))?;
        let mut is_on = match &wanted.after {
            None => cursor.seek_to_first()?,
            Some(Listed::Key(name)) => {
                cursor.seek(&at(name).into_iter().chain([0]).collect::<Vec<_>>())?
            }
            Some(Listed::Prefix(prefix)) => cursor.seek(&after_prefix(at(prefix)))?,
        };
        let (mut last, mut bytes) = (None, 0);
        while is_on {
            let items = listing.objects.len() + listing.prefixes.len();
            if items == wanted.max || bytes > NAMES_MAX {
                listing.next = last;
                return Ok(listing);
            }
            let Some(name) = key::text(&cursor.key()[base.len()..]).map(str::to_owned) else {
                is_on = cursor.next()?;
                continue;
            };
            bytes += name.len();
            match common_prefix(&name, wanted) {
                Some(prefix) => {
                    is_on = cursor.seek(&after_prefix(at(&prefix)))?;
                    last = Some(Listed::Prefix(prefix.clone()));
                    listing.prefixes.push(prefix);
                }
                None => {
                    let record = ObjectRecord::decode(cursor.value_slice())?;
                    is_on = cursor.next()?;
                    last = Some(Listed::Key(name.clone()));
                    listing.objects.push((name, record));
                }
            }
        }
        Ok(listing)
    }

    /// Unfinished uploads of a bucket with a prefix, after an upload; at most `max`, and whether
    /// there are more. Without an id, the list begins after all uploads of the key.
    pub fn list_uploads(
        &self,
        bucket: &str,
        prefix: &str,
        after: Option<(&str, Option<UploadId>)>,
        max: usize,
    ) -> Result<(Vec<ListedUpload>, bool), Fault> {
        self.bucket(bucket)?;
        let base = key::uploads_of(bucket);
        let all = [&base[..], prefix.as_bytes()].concat();
        let (mut found, mut bytes) = (Vec::new(), 0);
        if max == 0 {
            return Ok((found, false));
        }
        for entry in self.space.scan(Bounds::prefix(&all))? {
            let (place, value) = entry?;
            let Some((_, name, id)) = key::split_upload(&place) else { continue };
            let is_before = after.is_some_and(|(after, of)| match of {
                Some(of) => (name, id) <= (after, of),
                None => name <= after,
            });
            if is_before {
                continue;
            }
            if found.len() == max || bytes > NAMES_MAX {
                return Ok((found, true));
            }
            bytes += name.len();
            found.push((name.to_owned(), id, UploadRecord::decode(&value)?));
        }
        Ok((found, false))
    }
}

/// The common prefix that a key belongs to.
fn common_prefix(name: &str, wanted: &Wanted) -> Option<String> {
    let delimiter = wanted.delimiter.as_deref().filter(|text| !text.is_empty())?;
    let at = name.get(wanted.prefix.len()..)?.find(delimiter)?;
    Some(name[..wanted.prefix.len() + at + delimiter.len()].to_owned())
}

/// The first key after all keys that begin with these bytes, which end with a byte of UTF-8.
fn after_prefix(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(last) = bytes.last_mut() {
        *last = last.saturating_add(1);
    }
    bytes
}
