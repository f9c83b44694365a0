//! [`Attributes`]: the properties of an object that its writer chooses and that are returned with
//! it: headers, user metadata and tags.
//!
//! Lists are in the order in which they were given. Sizes are limited by the caller.

use terrace_env::codec::{DecodeError, Reader, Writer};

/// A header that is kept with an object. The numbers are on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Header {
    /// `Content-Type`.
    ContentType = 1,
    /// `Cache-Control`.
    CacheControl = 2,
    /// `Content-Disposition`.
    ContentDisposition = 3,
    /// `Content-Encoding`.
    ContentEncoding = 4,
    /// `Content-Language`.
    ContentLanguage = 5,
    /// `Expires`.
    Expires = 6,
}

impl Header {
    const ALL: [Self; 6] = [
        Self::ContentType,
        Self::CacheControl,
        Self::ContentDisposition,
        Self::ContentEncoding,
        Self::ContentLanguage,
        Self::Expires,
    ];
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Standard headers.
    pub headers: Vec<(Header, String)>,
    /// User metadata, by names without the prefix `x-amz-meta-`.
    pub metadata: Vec<(String, String)>,
    /// Tags.
    pub tags: Vec<(String, String)>,
}

impl Attributes {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, header: Header) -> Option<&str> {
        self.headers.iter().find(|(of, _)| *of == header).map(|(_, value)| value.as_str())
    }

    /// Sets a header, if it has a value.
    pub fn set(&mut self, header: Header, value: Option<String>) {
        if let Some(value) = value {
            self.headers.retain(|(of, _)| *of != header);
            self.headers.push((header, value));
        }
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        put_count(bytes, self.headers.len());
        for (header, value) in &self.headers {
            bytes.put_u8(*header as u8);
            bytes.put_prefixed(value.as_bytes());
        }
        for pairs in [&self.metadata, &self.tags] {
            put_count(bytes, pairs.len());
            for (name, value) in pairs {
                bytes.put_prefixed(name.as_bytes());
                bytes.put_prefixed(value.as_bytes());
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut found = Self::default();
        for _ in 0..reader.u16("number of headers")? {
            let number = reader.u8("header")?;
            let header = Header::ALL.into_iter().find(|header| *header as u8 == number);
            let wrong = || reader.wrong("header", 1, "1 to 6", number.into());
            let header = header.ok_or_else(wrong)?;
            found.headers.push((header, text(reader, "value of a header")?));
        }
        for pairs in [&mut found.metadata, &mut found.tags] {
            for _ in 0..reader.u16("number of pairs")? {
                pairs.push((text(reader, "name")?, text(reader, "value")?));
            }
        }
        Ok(found)
    }
}

/// Appends a count.
///
/// # Panics
/// From 65,536 on: callers limit their lists.
pub(super) fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.put_u16(u16::try_from(count).expect("a short list"));
}

/// A text after its length.
pub(super) fn text(reader: &mut Reader<'_>, field: &'static str) -> Result<String, DecodeError> {
    let bytes = reader.prefixed(field)?;
    let wrong = |_| DecodeError::Value {
        field,
        offset: reader.offset(),
        expected: "UTF-8",
        got: bytes.len() as u64,
    };
    std::str::from_utf8(bytes).map(str::to_owned).map_err(wrong)
}
