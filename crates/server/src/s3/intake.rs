//! [`Intake`]: the body of a request, read in pieces of one chunk. [`Intake::into_file`] writes a
//! large one to a file of the store while the next piece is read.
//!
//! - Each piece must be complete within the time that a client has for it.
//! - A slow client holds no thread and no lock. After a short wait for a piece, its file gives up
//!   the open zone and its [place](super::places) for other writers, until the piece is complete.
//! - At most two pieces are in memory, the file system's own buffers and, on a disk, the first MiB
//!   of a body that has its place.
//! - A body that ends early is an error of its stream. A body that is longer than allowed is
//!   refused. So is one that has not the announced length: a body in signed chunks may end, or go
//!   on, at any of them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use hyper::StatusCode;
use s3s::dto::StreamingBlob;
use s3s::stream::ByteStream;
use s3s::{S3ErrorCode, S3Result, StdError};
use tokio::time;

use super::answer::refusal;
use super::blocking::blocking;
use super::digests::Digests;
use super::places::{Place, Places};
use crate::metrics::Metrics;
use crate::objects::{CHUNK, NewBody, Objects};

/// Wait for a piece after which the open zone is given up.
const PATIENCE: Duration = Duration::from_millis(100);
/// Most bytes of one body: those of a put in S3.
pub(super) const BODY_MAX: u64 = 5 << 30;

/// See the [module](self).
pub(super) struct Intake {
    body: Option<StreamingBlob>,
    /// Bytes that came with the last frame and belong to the next piece.
    left: Bytes,
    /// Bytes that were taken.
    taken: u64,
    /// Bytes of the whole body, if they are known.
    announced: Option<u64>,
    piece_time_max: Duration,
    metrics: Arc<Metrics>,
    places: Places,
}

/// A file that is being written, and its digests.
pub(super) struct Intaken {
    pub(super) body: NewBody,
    pub(super) digests: Digests,
    /// Its place, which is kept until the body is sealed.
    pub(super) place: Option<Place>,
}

impl Intake {
    pub(super) fn new(
        body: Option<StreamingBlob>,
        piece_time_max: Duration,
        (metrics, places): (&Arc<Metrics>, &Places),
    ) -> S3Result<Self> {
        let (metrics, places) = (Arc::clone(metrics), places.clone());
        let announced = match &body {
            Some(body) => body.remaining_length().exact().map(|size| size as u64),
            None => Some(0),
        };
        if announced.is_some_and(|size| size > BODY_MAX) {
            return Err(too_large());
        }
        let (left, taken) = (Bytes::new(), 0);
        Ok(Self { body, left, taken, announced, piece_time_max, metrics, places })
    }

    /// Bytes of the body, if they are known.
    pub(super) fn size(&self) -> Option<u64> {
        self.announced
    }

    /// Adds bytes to a piece, up to `most` bytes or the end of the body.
    pub(super) async fn fill(&mut self, piece: &mut Vec<u8>, most: usize) -> S3Result<()> {
        let late = || refusal(S3ErrorCode::RequestTimeout, "the body comes too slowly");
        let filled = time::timeout(self.piece_time_max, self.fill_at_ease(piece, most));
        filled.await.map_err(|_| late())?
    }

    async fn fill_at_ease(&mut self, piece: &mut Vec<u8>, most: usize) -> S3Result<()> {
        while piece.len() < most {
            if self.left.is_empty() {
                let Some(body) = &mut self.body else { return Ok(()) };
                match body.next().await {
                    Some(Ok(bytes)) => self.left = bytes,
                    None => {
                        self.body = None;
                        return self.check_length(|size| self.taken < size);
                    }
                    Some(Err(error)) => return Err(broken(&error)),
                }
            }
            let now = self.left.len().min(most - piece.len());
            piece.extend_from_slice(&self.left[..now]);
            self.left.advance(now);
            self.taken += now as u64;
            self.metrics.received(now as u64);
            if self.taken > BODY_MAX {
                return Err(too_large());
            }
            self.check_length(|size| self.taken > size)?;
        }
        Ok(())
    }

    /// Checks that the announced length is not one of the wrong ones.
    fn check_length(&self, is_wrong: impl Fn(u64) -> bool) -> S3Result<()> {
        match self.announced.filter(|&size| is_wrong(size)) {
            None => Ok(()),
            Some(size) => {
                let message = format!("expected {size} bytes as announced, found {}", self.taken);
                Err(refusal(S3ErrorCode::IncompleteBody, message))
            }
        }
    }

    /// Writes the body to a file, after bytes that were read already.
    pub(super) async fn into_file(
        mut self,
        first: Vec<u8>,
        digests: Digests,
        (objects, bucket, size): (&Arc<Objects>, &str, Option<u64>),
    ) -> S3Result<Intaken> {
        let (objects, bucket) = (Arc::clone(objects), bucket.to_owned());
        let body = blocking(move || objects.begin_body(&bucket, size)).await?;
        let mut file = Intaken { body, digests, place: None };
        let mut piece = first;
        self.fill(&mut piece, CHUNK).await?;
        while !piece.is_empty() {
            if file.place.is_none() {
                file.place = Some(self.places.take().await);
            }
            let mut next = Vec::new();
            {
                // The next piece comes while this one is written.
                let appending = pin!(append(file, piece));
                let filling = pin!(self.fill(&mut next, CHUNK));
                match select(appending, filling).await {
                    Either::Right((filled, appending)) => {
                        file = appending.await?;
                        filled?;
                    }
                    Either::Left((appended, mut filling)) => {
                        file = appended?;
                        match time::timeout(PATIENCE, &mut filling).await {
                            Ok(filled) => filled?,
                            Err(_) => {
                                file = at_rest(file).await?;
                                filling.await?;
                            }
                        }
                    }
                }
            }
            piece = next;
        }
        if file.place.is_none() && file.body.size() > 0 {
            // The end came late. The rest of the body is written when it is sealed.
            file.place = Some(self.places.take().await);
        }
        Ok(file)
    }
}

async fn append(mut file: Intaken, piece: Vec<u8>) -> S3Result<Intaken> {
    blocking(move || {
        file.digests.update(&piece);
        file.body.append(&piece)?;
        Ok(file)
    })
    .await
}

async fn at_rest(mut file: Intaken) -> S3Result<Intaken> {
    blocking(move || {
        file.body.rest()?;
        file.place = None;
        Ok(file)
    })
    .await
}

/// The answer to a body that cannot be read. The library verifies the digest that the client has
/// signed, and has no type for this error.
fn broken(error: &StdError) -> s3s::S3Error {
    if error.to_string().contains("Sha256Mismatch") {
        let code = S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into());
        let mut differs = refusal(code, "the body has another SHA-256 than x-amz-content-sha256");
        differs.set_status_code(StatusCode::BAD_REQUEST);
        return differs;
    }
    refusal(S3ErrorCode::IncompleteBody, format!("the body ended early: {error}"))
}

fn too_large() -> s3s::S3Error {
    let message = format!("expected a body of at most {BODY_MAX} bytes; use an upload in parts");
    refusal(S3ErrorCode::EntityTooLarge, message)
}
