//! [`Front`]: from a request to its answer: a page under `/-/`, or an operation of S3. It counts
//! and logs each request.
//!
//! A server without keys serves the programs of its own machine. A page in a browser on that
//! machine could send requests, too. So such a server refuses requests that come from a page (with
//! an `Origin`), and those whose `Host` is no name of the loopback. So do the pages under `/-/`,
//! which have no keys, unless they are open to all.
//!
//! A form of a browser is refused by its head. The library would take its whole file into memory,
//! for any client, before it asked for a key.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_RANGE, CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use hyper::{Method, Request, Response, StatusCode};
use s3s::Body;
use s3s::service::S3Service;
use terrace_env::runner;

use super::chunks::{self, Chunks};
use super::explained::{explained, request_id};
use super::fate::{Fate, Watched, refusal};
use super::hoisted::add_hoisted;
use super::hosts::Hosts;
use super::leftover::Leftover;
use super::patience::Patience;
use super::ranges::take_unfit;
use super::references::with_references;
use super::roster::{Answering, Presence};
use crate::access::Note;
use crate::admin::{self, Admin};
use crate::metrics::Metrics;

/// See the [module](self).
pub(crate) struct Front {
    pub(crate) service: S3Service,
    pub(crate) admin: Arc<Admin>,
    pub(crate) metrics: Arc<Metrics>,
    /// Whether there are no keys.
    pub(crate) is_without_keys: bool,
    /// Time for the next bytes of a body.
    pub(crate) idle_max: Duration,
    /// Domains with buckets below them.
    pub(crate) hosts: Hosts,
}

impl Front {
    /// Answers a request.
    pub(super) async fn answer(
        &self,
        peer: SocketAddr,
        presence: &Arc<Presence>,
        mut request: Request<Incoming>,
    ) -> Result<Response<Answering<Body>>, Infallible> {
        let (begun, in_request) = (runner::now(), presence.begin_request());
        let (note, leftover) = (Note::default(), Leftover::of(&request));
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let (id, on_host) = (request_id(), self.hosts.is_of_bucket(request.headers()));
        let is_admin = !on_host && uri.path().starts_with(admin::PREFIX);
        let is_guarded = self.is_without_keys || (is_admin && !self.admin.is_open);
        let unfit = if is_admin { None } else { add_hoisted(&mut request) };
        let mut response = if is_guarded && is_foreign(request.headers()) {
            leftover.keep(request.into_body(), false);
            let text = "requests without a key: expected none from a page of a browser, and a \
                        Host that is a name of the loopback, such as 127.0.0.1\n";
            plain(StatusCode::FORBIDDEN, text)
        } else if is_admin {
            leftover.keep(request.into_body(), false);
            self.admin.answer(peer, &method, uri.path(), uri.query()).await
        } else if method == Method::POST && is_form(request.headers()) {
            leftover.keep(request.into_body(), false);
            let message = "uploads by forms of browsers are not implemented";
            refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
        } else if let Some(refused) = unfit {
            leftover.keep(request.into_body(), false);
            refused
        } else {
            request.extensions_mut().insert(note.clone());
            let whole = take_unfit(&mut request);
            let (presence, fate) = (Arc::clone(presence), Fate::default());
            let watched = Watched::of(&request, on_host, &fate);
            let leftover = leftover.clone();
            let patient = |body| Patience::new(body, self.idle_max, presence, leftover);
            let chunks = chunks::kind_of(request.headers());
            let request = request.map(|body| match chunks {
                None => Body::http_body(watched(patient(body))),
                Some(are_signed) => {
                    Body::http_body(Chunks::new(watched(patient(body)), are_signed))
                }
            });
            let response = self.call(request, &fate).await;
            let response = match whole {
                Some(mut whole) if note.is_granted() && response.status().is_client_error() => {
                    whole.extensions_mut().insert(note.clone());
                    self.call(whole, &fate).await
                }
                _ => response,
            };
            match note.operation() {
                // An object in memory may be a document, too.
                Some("GetObject") => response,
                Some("HeadObject") => with_status_of_part(response),
                _ => with_references(response),
            }
        };
        if !is_admin {
            response = explained(response, &id);
        }
        leftover.read_for(&mut response, self.idle_max);
        let latency = runner::now().since(begun);
        let operation = if is_admin { "admin" } else { note.operation().unwrap_or("none") };
        let status = response.status().as_u16();
        self.metrics.answered(operation, status, latency);
        let path = uri.path();
        tracing::debug!(id, %peer, %method, path, operation, status, ?latency, "request");
        Ok(response.map(|body| Answering::new(body, in_request)))
    }

    /// Calls an operation of S3.
    async fn call(&self, request: Request<Body>, fate: &Fate) -> Response<Body> {
        match self.service.call(request).await {
            Ok(response) if response.status() == StatusCode::INTERNAL_SERVER_ERROR => {
                fate.answer().unwrap_or(response)
            }
            Ok(response) => response,
            Err(error) => {
                tracing::error!(?error, "a request failed");
                plain(StatusCode::INTERNAL_SERVER_ERROR, "the request failed\n")
            }
        }
    }
}

/// The answer to HeadObject. The library has the status of a range for reads only.
fn with_status_of_part(mut response: Response<Body>) -> Response<Body> {
    if response.status() == StatusCode::OK && response.headers().contains_key(CONTENT_RANGE) {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response
}

/// Whether a request is from a page of a browser, or under a foreign name.
fn is_foreign(headers: &HeaderMap) -> bool {
    if headers.contains_key(ORIGIN) {
        return true;
    }
    headers.get_all(HOST).iter().any(|host| !host.to_str().is_ok_and(is_of_loopback))
}

/// Whether the body of a request is a form.
fn is_form(headers: &HeaderMap) -> bool {
    const FORM: &[u8] = b"multipart/form-data";
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    types
        .any(|one| one.as_bytes().get(..FORM.len()).is_some_and(|of| of.eq_ignore_ascii_case(FORM)))
}

/// Whether a `Host` is a name of the loopback, with or without a port.
fn is_of_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    let is_address = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_are_not_foreign() {
        let of = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            is_foreign(&headers)
        };
        for host in ["127.0.0.1:9000", "localhost", "a.localhost:1", "[::1]:9000", "127.9.9.9"] {
            assert!(!of(host), "{host}");
        }
        for host in ["example.org", "localhost.example.org", "10.0.0.1:9000", "[::2]", ""] {
            assert!(of(host), "{host}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, "null".parse().unwrap());
        assert!(is_foreign(&headers));
    }
}
