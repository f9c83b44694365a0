//! [`Submitted`]: a read of a file whose requests are at the devices.
//!
//! It holds the pin of the state that it was planned from. So its blocks are not written again
//! before it ends, even if the reader is dropped and the file deleted. A read that is dropped waits
//! for its requests; if a panic unwinds, it does not.

use std::sync::Arc;
use std::vec;

use terrace_env::store::{ReadBuf, ReadUnderWay, StoreError};
use terrace_env::{Cause, FileId};
use terrace_zone::{Completion, DeviceError};

use super::Pin;
use super::open_file::Piece;
use crate::media::{BlockTicket, Media};

/// See the [module](self).
pub(super) struct Submitted {
    media: Arc<Media>,
    id: FileId,
    pieces: vec::IntoIter<(Piece, BlockTicket)>,
    into: ReadBuf,
    /// Dropped after the tickets have been waited for.
    _pin: Option<Arc<Pin>>,
}

impl Submitted {
    /// Hands all pieces to their devices. `into` has the bytes already that were in memory.
    pub(super) fn begin(
        (media, cause): (&Arc<Media>, Cause),
        id: FileId,
        pieces: Vec<Piece>,
        into: ReadBuf,
        pin: Option<Arc<Pin>>,
    ) -> Self {
        let submitted = |piece: Piece| {
            let ticket = piece.submit(media, cause);
            (piece, ticket)
        };
        let pieces: Vec<_> = pieces.into_iter().map(submitted).collect();
        let media = Arc::clone(media);
        Self { media, id, pieces: pieces.into_iter(), into, _pin: pin }
    }
}

impl ReadUnderWay for Submitted {
    fn wait(mut self: Box<Self>) -> Result<ReadBuf, StoreError> {
        // With an error, the drop waits for the remaining requests.
        while let Some((piece, ticket)) = self.pieces.next() {
            let ended = piece.finish(&self.media, ticket, &mut self.into);
            ended.map_err(|error| piece.failure(&self.media, self.id, error))?;
        }
        Ok(std::mem::take(&mut self.into))
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for (_, ticket) in self.pieces.by_ref() {
                let _ = self.media.wait(ticket);
            }
        }
    }
}

impl Piece {
    /// A read of the piece that the device has failed, with the place: the device's own error names
    /// the zone.
    pub(super) fn failure(&self, media: &Media, id: FileId, error: DeviceError) -> StoreError {
        let on_device = media.on_device(self.addr.device());
        StoreError::io(format!("reading file {id}{on_device}"), error)
    }

    /// Hands the read of the piece's blocks to their device.
    pub(super) fn submit(&self, media: &Media, cause: Cause) -> BlockTicket {
        media.submit_read(self.addr, self.blocks, cause)
    }

    /// Waits for the blocks and copies the piece's bytes to their place.
    pub(super) fn finish(
        &self,
        media: &Media,
        ticket: BlockTicket,
        into: &mut [u8],
    ) -> Result<(), DeviceError> {
        match media.wait(ticket)? {
            Completion::Read(data) => {
                let bytes = &data[self.skip..self.skip + self.len];
                into[self.into..self.into + self.len].copy_from_slice(bytes);
                Ok(())
            }
            other => unreachable!("a read completed as {other:?}"),
        }
    }
}
