//! [`Pieces`]: the body of an answer, read from the store in pieces of one chunk.
//!
//! A task reads one piece ahead, so that three are in memory at most: one is sent, one waits, one
//! is read. It ends when the client is gone. A piece that cannot be read, or whose checksum is
//! wrong, ends the connection before the announced length: a client cannot take the bytes for
//! whole.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use s3s::dto::StreamingBlob;
use s3s::stream::{ByteStream, RemainingLength};
use s3s::{S3Result, StdError};
use tokio::sync::mpsc;

use super::blocking::blocking;
use crate::metrics::Metrics;
use crate::objects::StoredBody;

/// See the [module](self).
struct Pieces {
    pieces: mpsc::Receiver<S3Result<Bytes>>,
    remaining: u64,
    metrics: Arc<Metrics>,
}

/// The bytes `at..end` of a body, whose first piece is read before the answer begins.
pub(super) async fn pieces(
    body: StoredBody,
    at: u64,
    end: u64,
    metrics: &Arc<Metrics>,
) -> S3Result<StreamingBlob> {
    let (sender, pieces) = mpsc::channel(1);
    if at < end {
        let first = read(&body, at, end).await?;
        let mut at = at + first.len() as u64;
        let _ = sender.try_send(Ok(first));
        if at < end {
            tokio::spawn(async move {
                while at < end {
                    let piece = read(&body, at, end).await;
                    at = piece.as_ref().map_or(end, |piece| at + piece.len() as u64);
                    if sender.send(piece).await.is_err() {
                        return;
                    }
                }
            });
        }
    }
    let metrics = Arc::clone(metrics);
    Ok(StreamingBlob::new(Pieces { pieces, remaining: end - at, metrics }))
}

async fn read(body: &StoredBody, at: u64, end: u64) -> S3Result<Bytes> {
    if body.is_in_memory() {
        return Ok(body.read(at, end)?);
    }
    let body = body.clone();
    blocking(move || body.read(at, end)).await
}

impl Stream for Pieces {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.pieces.poll_recv(context).map(|piece| match piece? {
            Ok(piece) => {
                self.remaining -= piece.len() as u64;
                self.metrics.sent(piece.len() as u64);
                Some(Ok(piece))
            }
            Err(error) => Some(Err(error.into())),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = usize::try_from(self.remaining).unwrap_or(usize::MAX);
        (0, Some(remaining))
    }
}

impl ByteStream for Pieces {
    fn remaining_length(&self) -> RemainingLength {
        RemainingLength::new_exact(usize::try_from(self.remaining).unwrap_or(usize::MAX))
    }
}
