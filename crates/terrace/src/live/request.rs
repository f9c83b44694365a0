//! [`Request`]: the requests of a client, and their encoding in one frame. `docs/live.md` has the
//! bytes. Lengths are checked before they are used; a request with excess bytes is refused.

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_lsm::{Bounds, TableComparison};

/// Version of the protocol. A change that an older side cannot read gets a new version.
pub(crate) const VERSION: u16 = 1;

/// The first bytes in each direction.
pub(crate) const MAGIC: &[u8; 8] = b"TERRLIVE";

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Metrics, and the events after this number.
    Snapshot { events_after: u64 },
    /// The contents of the devices.
    Zones,
    /// A value.
    Get { space: String, key: Vec<u8> },
    /// The entries of a range.
    Scan(ScanRequest),
    /// A copy of the store, whose files the client writes.
    Checkpoint,
    /// A backup of the store, whose files the client writes.
    Backup(TableComparison),
}

/// A scan, as requested from the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScanRequest {
    pub(crate) space: String,
    pub(crate) from: Vec<u8>,
    /// End, not included; `None`: after the last key.
    pub(crate) to: Option<Vec<u8>>,
    /// Whether it goes from the last key to the first.
    pub(crate) reverse: bool,
    /// The most entries.
    pub(crate) limit: u64,
    /// Whether values are sent, or only their sizes.
    pub(crate) values: bool,
}

impl ScanRequest {
    pub(crate) fn bounds(&self) -> Bounds {
        let bounds = Bounds::starting_at(&self.from);
        self.to.iter().fold(bounds, |bounds, to| bounds.until(to))
    }
}

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Snapshot { events_after } => {
                bytes.put_u8(1);
                bytes.put_u64(*events_after);
            }
            Self::Zones => bytes.put_u8(2),
            Self::Get { space, key } => {
                bytes.put_u8(3);
                bytes.put_prefixed(space.as_bytes());
                bytes.put_prefixed(key);
            }
            Self::Scan(scan) => {
                bytes.put_u8(4);
                bytes.put_prefixed(scan.space.as_bytes());
                bytes.put_prefixed(&scan.from);
                bytes.put_u8(scan.to.is_some().into());
                bytes.put_prefixed(scan.to.as_deref().unwrap_or_default());
                bytes.put_u8(scan.reverse.into());
                bytes.put_u64(scan.limit);
                bytes.put_u8(scan.values.into());
            }
            Self::Checkpoint => bytes.put_u8(5),
            Self::Backup(comparison) => {
                bytes.put_u8(6);
                bytes.put_u8((*comparison == TableComparison::Whole).into());
            }
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let request = match reader.u8("request")? {
            1 => Self::Snapshot { events_after: reader.u64("events after")? },
            2 => Self::Zones,
            3 => Self::Get { space: text(&mut reader)?, key: reader.prefixed("key")?.to_vec() },
            4 => {
                let (space, from) = (text(&mut reader)?, reader.prefixed("from")?.to_vec());
                let has_end = flag(&mut reader, "has an end")?;
                let to = reader.prefixed("to")?.to_vec();
                Self::Scan(ScanRequest {
                    space,
                    from,
                    to: has_end.then_some(to),
                    reverse: flag(&mut reader, "reverse")?,
                    limit: reader.u64("limit")?,
                    values: flag(&mut reader, "values")?,
                })
            }
            5 => Self::Checkpoint,
            6 => Self::Backup(match flag(&mut reader, "whole tables")? {
                true => TableComparison::Whole,
                false => TableComparison::Ends,
            }),
            other => return Err(reader.wrong("request", 1, "a number from 1 to 6", other.into())),
        };
        reader.finish("request")?;
        Ok(request)
    }
}

fn flag(reader: &mut Reader<'_>, field: &'static str) -> Result<bool, DecodeError> {
    match reader.u8(field)? {
        byte @ (0 | 1) => Ok(byte == 1),
        byte => Err(reader.wrong(field, 1, "0 or 1", byte.into())),
    }
}

fn text(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    let bytes = reader.prefixed("key space")?;
    let text = std::str::from_utf8(bytes).map(ToOwned::to_owned);
    text.map_err(|_| reader.wrong("key space", bytes.len(), "UTF-8", bytes.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<Request> {
        let scan = ScanRequest {
            space: "a".to_owned(),
            from: b"f".to_vec(),
            to: None,
            reverse: true,
            limit: 3,
            values: false,
        };
        vec![
            Request::Snapshot { events_after: 7 },
            Request::Zones,
            Request::Get { space: "default".to_owned(), key: vec![0, 255] },
            Request::Scan(scan.clone()),
            Request::Scan(ScanRequest { to: Some(Vec::new()), values: true, ..scan }),
            Request::Checkpoint,
            Request::Backup(TableComparison::Ends),
            Request::Backup(TableComparison::Whole),
        ]
    }

    #[test]
    fn requests_read_back_and_no_part_of_one_is_one() {
        for request in requests() {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes), Ok(request.clone()));
            for len in 0..bytes.len() {
                assert!(Request::decode(&bytes[..len]).is_err(), "{request:?} up to {len}");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert!(Request::decode(&longer).is_err(), "{request:?}");
        }
    }

    #[test]
    fn requests_with_a_wrong_byte_are_refused_or_other_requests_and_nothing_panics() {
        for request in requests() {
            let bytes = request.encode();
            for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1 << bit;
                assert_ne!(Request::decode(&wrong), Ok(request.clone()));
            }
        }
    }
}
