//! [`Check`]: authenticates requests by their signatures, and allows them by the rights of their
//! keys. The signatures themselves are computed by the crate `s3s`.
//!
//! - Without keys, requests without a signature are allowed. A signed one is refused, because its
//!   key is not known.
//! - An operation that is not known here needs the right to write.
//! - The source of a copy is checked by the operation ([`check_source`]).
//!
//! The check also notes the name of the operation, for the metrics, and the rights that a request
//! has been granted. A request with a note of rights is the repetition of one that was checked, and
//! needs no signature.

use std::sync::{Arc, OnceLock};

use hyper::http::Extensions;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::keys::Keys;
use super::rights::{Need, Rights};
use super::signed;

/// Findings of the check about a request.
#[derive(Clone, Default)]
pub(crate) struct Note(Arc<Noted>);

#[derive(Default)]
struct Noted {
    operation: OnceLock<String>,
    rights: OnceLock<Arc<Rights>>,
}

impl Note {
    /// The name of the request's operation, once it is known.
    pub(crate) fn operation(&self) -> Option<&str> {
        self.0.operation.get().map(String::as_str)
    }

    /// Whether the request's key may do it.
    pub(crate) fn is_granted(&self) -> bool {
        self.0.rights.get().is_some()
    }
}

/// See the [module](self).
#[derive(Clone)]
pub(crate) struct Check {
    keys: Arc<Keys>,
    everything: Arc<Rights>,
}

impl Check {
    /// Checks against these keys.
    #[must_use]
    pub(crate) fn new(keys: Arc<Keys>) -> Self {
        Self { keys, everything: Arc::new(Rights::all()) }
    }
}

fn denied() -> S3Error {
    S3Error::new(S3ErrorCode::AccessDenied)
}

/// Need of an operation, by its name.
fn need_of(operation: &str) -> Need {
    let reads = ["Get", "Head", "List"].iter().any(|begin| operation.starts_with(begin));
    if reads { Need::Read } else { Need::Write }
}

/// Rights of the key of a request.
pub(crate) fn rights_of(extensions: &Extensions) -> Option<Arc<Rights>> {
    extensions.get::<Arc<Rights>>().cloned()
}

/// Checks the rights for another bucket than that of the request.
pub(crate) fn check_source(extensions: &Extensions, bucket: &str, need: Need) -> S3Result<()> {
    let is_allowed = rights_of(extensions).is_some_and(|rights| rights.allow(bucket, need));
    if is_allowed { Ok(()) } else { Err(denied()) }
}

#[async_trait::async_trait]
impl S3Auth for Check {
    async fn get_secret_key(&self, access: &str) -> S3Result<SecretKey> {
        let unknown = || {
            let message = match self.keys.is_empty() {
                true => "the server has no keys: send requests without a signature",
                false => "the server does not know this access key",
            };
            S3Error::with_message(S3ErrorCode::InvalidAccessKeyId, message)
        };
        self.keys.find(access).map(|(secret, _)| secret.clone()).ok_or_else(unknown)
    }
}

#[async_trait::async_trait]
impl S3Access for Check {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let operation = context.s3_op().name().to_owned();
        let note = context.extensions_mut().get::<Note>().cloned().unwrap_or_default();
        let _ = note.0.operation.set(operation.clone());
        let rights = match (context.credentials(), note.0.rights.get()) {
            (None, Some(granted)) => Arc::clone(granted),
            (None, None) if self.keys.is_empty() => {
                signed::check_unsigned(context.uri(), context.headers())?;
                Arc::clone(&self.everything)
            }
            (None, None) => return Err(denied()),
            (Some(credentials), _) => {
                let found = self.keys.find(&credentials.access_key).ok_or_else(denied)?;
                signed::check(context.uri(), context.headers())?;
                Arc::new(found.1.clone())
            }
        };
        // The list of buckets has those that the key may read.
        if let Some(bucket) = context.s3_path().get_bucket_name()
            && !rights.allow(bucket, need_of(&operation))
        {
            return Err(denied());
        }
        let _ = note.0.rights.set(Arc::clone(&rights));
        context.extensions_mut().insert(rights);
        Ok(())
    }
}
