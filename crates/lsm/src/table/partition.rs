//! [`PartitionHandles`]: the places of the index and the filter of a partition. It is the value of
//! an entry in the index of partitions. The layout is `docs/format/table.md`.
//!
//! A place beyond a limit is damage. The caller gives the limit; [`all`] uses the start of the
//! index of partitions, because partitions lie before it. No locks and no I/O.

use terrace_env::codec::{DecodeError, Reader, Writer};

use super::frame::{Handle, TableName};
use super::index::Index;
use crate::Error;

/// Place of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionHandles {
    pub(crate) index: Handle,
    pub(crate) filter: Option<Handle>,
}

impl PartitionHandles {
    /// Its form in the index of partitions.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.index.encode();
        let filter = self.filter.unwrap_or(Handle { offset: 0, size: 0 });
        bytes.put_varint(filter.offset);
        bytes.put_varint(u64::from(filter.size));
        bytes
    }

    /// Reads the handles of blocks that must end by `limit`.
    pub(crate) fn decode(bytes: &[u8], limit: u64) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let index = Handle::read(&mut reader, limit)?;
        let absent = reader.clone().bytes("filter", 2).is_ok_and(|rest| rest == [0, 0]);
        let filter = if absent {
            reader.bytes("filter", 2)?;
            None
        } else {
            Some(Handle::read(&mut reader, limit)?)
        };
        reader.finish("partition")?;
        Ok(Self { index, filter })
    }
}

/// All partitions that the top of an index names.
pub(super) fn all(table: TableName, top: &Index) -> Result<Box<[PartitionHandles]>, Error> {
    let region = || table.region("index of partitions");
    let handles = |at| {
        PartitionHandles::decode(&top.value(at), top.offset())
            .map_err(|error| Error::decode(region(), top.offset(), &error))
    };
    (0..top.len()).map(handles).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_read_back_and_what_lies_beyond_the_limit_is_refused() {
        let index = Handle { offset: 1000, size: 300 };
        for filter in [None, Some(Handle { offset: 90, size: 700 })] {
            let handles = PartitionHandles { index, filter };
            let bytes = handles.encode();
            assert_eq!(PartitionHandles::decode(&bytes, 1300), Ok(handles));
            assert!(PartitionHandles::decode(&bytes, 1299).is_err());
            for len in 0..bytes.len() {
                assert!(PartitionHandles::decode(&bytes[..len], 1300).is_err(), "{len}");
            }
        }
    }
}
