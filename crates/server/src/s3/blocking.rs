//! Runs calls of the store in the runtime's blocking threads, whose number is limited. Calls that
//! find no free thread wait in order.
//!
//! A call that has begun goes on when its caller is dropped. A panic in it is an internal error of
//! its request.

use s3s::{S3Error, S3ErrorCode, S3Result};
use tokio::task;

use crate::objects::Fault;

/// Runs a call.
pub(super) async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> S3Result<T> {
    match task::spawn_blocking(call).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(S3Error::new(S3ErrorCode::InternalError)),
    }
}
