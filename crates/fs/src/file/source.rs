//! [`BlockSource`] over the blocks of a log on devices, for the scan of frames.
//!
//! The source holds the map that it is given, and no pin. While others may write, the caller has to
//! hold the pin of that map's state as long as the source lives. Reading waits for the device, and
//! so does asking how far a zone is written. On a device without zones, all blocks of the map count
//! as written; so do those in a zone without a write pointer, or whose report fails.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Cause, DeviceId, FileId, IoBuf, ZoneId};
use terrace_zone::Device;

use crate::block::{BLOCK, logical_per_block};
use crate::catalog::ExtentMap;
use crate::frame::BlockSource;
use crate::media::Media;
use crate::medium::Medium;

/// A log on the devices of a store.
pub(crate) struct FileSource {
    media: Arc<Media>,
    id: FileId,
    map: Arc<ExtentMap>,
    cause: Cause,
}

impl FileSource {
    /// The blocks of `map`, read for `cause`.
    pub(crate) fn new(media: &Arc<Media>, id: FileId, map: &Arc<ExtentMap>, cause: Cause) -> Self {
        Self { media: Arc::clone(media), id, map: Arc::clone(map), cause }
    }

    /// Blocks of a zone that may hold something: up to the pointer where it means something.
    fn written(medium: &Medium, zone: ZoneId) -> u32 {
        match medium.report(zone, 1).as_deref() {
            Ok([report]) if report.state.has_pointer() => {
                let logical = report.write_pointer.0.saturating_sub(report.start.0);
                let blocks = logical.div_ceil(logical_per_block(medium.geometry()));
                u32::try_from(blocks).unwrap_or(u32::MAX)
            }
            _ => u32::MAX,
        }
    }
}

impl BlockSource for FileSource {
    fn blocks(&self) -> u32 {
        self.map.end()
    }

    fn extent_end(&self, block: u32) -> u32 {
        self.map.find(block).map_or(block, |piece| piece.end())
    }

    fn written_end(&self, block: u32) -> u32 {
        let Some(piece) = self.map.find(block) else { return block };
        let medium = self.media.of(piece.extent.device());
        if !medium.layout().is_zoned() {
            return piece.end();
        }
        let first = medium.grid().place(piece.extent.first);
        let written = Self::written(medium, first.zone).saturating_sub(first.block);
        piece.at + written.min(piece.extent.blocks)
    }

    fn atomic(&self) -> usize {
        // Of a log that lies nowhere yet nothing is read.
        let first = self.map.extents().next().map_or(DeviceId::FIRST, |extent| extent.device());
        self.media.of(first).geometry().physical_block as usize
    }

    fn read(&self, block: u32, count: u32) -> Result<IoBuf, StoreError> {
        let Some(at) = self.map.locate(block) else {
            return Err(StoreError::OutOfRange {
                id: self.id,
                start: u64::from(block) * BLOCK as u64,
                end: u64::from(block + count) * BLOCK as u64,
                valid: format!("{} blocks", self.map.end()),
            });
        };
        let read = self.media.read_blocks(at, count, self.cause);
        read.map_err(|error| StoreError::io(format!("reading log {} at {at}", self.id), error))
    }

    fn place(&self, block: u32) -> (String, u64) {
        let at = self.map.locate(block).map_or("after its end".to_owned(), |at| at.to_string());
        (format!("log {} ({at})", self.id), u64::from(block) * BLOCK as u64)
    }
}
