//! Keys of the entries: encodes them, and takes names out of them again. `docs/format/objects.md`
//! has the table.
//!
//! A bucket's name has no zero byte, and neither has the key of an object, so each key is split in
//! one way, and entries of a kind are in the order of their bucket and then their key. Names are
//! checked by the caller.

use super::uploads::UploadId;

const BUCKET: u8 = b'b';
const OBJECT: u8 = b'o';
const BODY: u8 = b'd';
const UPLOAD: u8 = b'u';
const PART: u8 = b'p';

/// Key of the [origin](super::origin).
pub(super) const ORIGIN: &[u8] = b"s";

/// Prefix of all buckets.
pub(super) const BUCKETS: &[u8] = &[BUCKET];
/// Prefix of all objects.
pub(super) const OBJECTS: &[u8] = &[OBJECT];
/// Prefix of all uploads.
pub(super) const UPLOADS: &[u8] = &[UPLOAD];
/// Prefix of all parts.
pub(super) const PARTS: &[u8] = &[PART];

/// Key of a bucket.
pub(super) fn bucket(name: &str) -> Vec<u8> {
    [BUCKETS, name.as_bytes()].concat()
}

/// Prefix of the objects of a bucket.
pub(super) fn objects_of(bucket: &str) -> Vec<u8> {
    in_bucket(OBJECT, bucket, "")
}

/// Key of an object's metadata.
pub(super) fn object(bucket: &str, key: &str) -> Vec<u8> {
    in_bucket(OBJECT, bucket, key)
}

/// Key of a small body.
pub(super) fn body(bucket: &str, key: &str) -> Vec<u8> {
    in_bucket(BODY, bucket, key)
}

/// Prefix of the uploads of a bucket.
pub(super) fn uploads_of(bucket: &str) -> Vec<u8> {
    in_bucket(UPLOAD, bucket, "")
}

/// Key of an upload.
pub(super) fn upload(bucket: &str, key: &str, id: UploadId) -> Vec<u8> {
    let mut bytes = in_bucket(UPLOAD, bucket, key);
    bytes.push(0);
    bytes.extend_from_slice(&id.0);
    bytes
}

/// Prefix of the parts of an upload.
pub(super) fn parts_of(id: UploadId) -> Vec<u8> {
    [PARTS, &id.0].concat()
}

/// Key of a part.
pub(super) fn part(id: UploadId, number: u16) -> Vec<u8> {
    let mut bytes = parts_of(id);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes
}

fn in_bucket(kind: u8, bucket: &str, key: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 + bucket.len() + key.len());
    bytes.push(kind);
    bytes.extend_from_slice(bucket.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// The name in the key of an object.
pub(super) fn object_name(key: &[u8]) -> Option<&str> {
    let rest = key.strip_prefix(OBJECTS)?;
    text(&rest[rest.iter().position(|&byte| byte == 0)? + 1..])
}

/// The name in the key of an upload.
pub(super) fn upload_name(key: &[u8]) -> Option<&str> {
    split_upload(key).map(|(_, name, _)| name)
}

/// Bucket and name in the key of an upload, with its id.
pub(super) fn split_upload(key: &[u8]) -> Option<(&str, &str, UploadId)> {
    let rest = key.strip_prefix(UPLOADS)?;
    let (rest, id) = rest.split_at_checked(rest.len().checked_sub(16)?)?;
    let rest = rest.strip_suffix(&[0])?;
    let at = rest.iter().position(|&byte| byte == 0)?;
    let (bucket, name) = (text(&rest[..at])?, text(&rest[at + 1..])?);
    Some((bucket, name, UploadId(id.try_into().ok()?)))
}

/// Upload and number in the key of a part.
pub(super) fn split_part(key: &[u8]) -> Option<(UploadId, u16)> {
    let rest = key.strip_prefix(PARTS)?;
    let (id, number) = rest.split_at_checked(16)?;
    Some((UploadId(id.try_into().ok()?), u16::from_be_bytes(number.try_into().ok()?)))
}

/// The entry of an object or of a part, for a message.
pub(super) fn described(key: &[u8]) -> String {
    match (split_part(key), key.strip_prefix(OBJECTS)) {
        (Some((id, number)), _) => format!("part {number} of upload {}", id.to_text()),
        (None, Some(rest)) => String::from_utf8_lossy(rest).replacen('\0', "/", 1),
        (None, None) => String::from_utf8_lossy(key).into_owned(),
    }
}

/// Bytes of a name.
pub(super) fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_of_keys_as_they_went_in() {
        let id = UploadId([0; 16]);
        let key = upload("photos", "a/b", id);
        assert_eq!(split_upload(&key), Some(("photos", "a/b", id)));
        assert_eq!(upload_name(&key), Some("a/b"));
        assert_eq!(object_name(&object("photos", "a/b")), Some("a/b"));
        assert_eq!(object_name(b"o"), None);
        assert_eq!(described(&object("photos", "a/b")), "photos/a/b");
        assert_eq!(described(&part(id, 9)), format!("part 9 of upload {}", "0".repeat(32)));
        assert_eq!(split_part(&part(id, 9)), Some((id, 9)));
        for end in 0..key.len() {
            assert!(split_upload(&key[..end]).is_none_or(|(bucket, ..)| bucket != "photos/"));
            let _ = split_part(&key[..end]);
        }
        assert_eq!(split_part(&part(id, 9)[..18]), None);
    }

    #[test]
    fn entries_are_in_the_order_of_bucket_and_key() {
        let keys = [object("a", "z"), object("a-b", "a"), object("a.b", "a"), object("b", "a")];
        assert!(keys.is_sorted());
        assert!(object("a", "z").starts_with(&objects_of("a")));
        assert!(!object("a-b", "a").starts_with(&objects_of("a")));
    }
}
