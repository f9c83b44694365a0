//! [`Admin`]: the pages under `/-/`, which is no bucket's name.
//!
//! | path | answer |
//! |---|---|
//! | `/-/` | the live page: the zones of the store as a moving picture ([`terrace_page`]) |
//! | `/-/live.json` | a frame of the page; `?after=N`: the changes since frame N |
//! | `/-/health` | 200 if the store takes writes; 503 and the reason if it has stopped |
//! | `/-/metrics` | requests and store, in Prometheus' text format |
//! | `/-/stats.json` | the metrics of the store, as JSON |
//!
//! They answer clients of the loopback, and no others unless that was asked for. They have no keys
//! and change nothing. The store measures latencies from the first frame on. Further pages are
//! added in [`Admin::page`].

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use hyper::{Method, Response, StatusCode};
use s3s::Body;
use terrace_page::{Feed, LiveTitle, live_page};
use tokio::task;

use crate::exposition;
use crate::metrics::Metrics;
use crate::objects::Objects;

/// Beginning of the paths.
pub(crate) const PREFIX: &str = "/-/";

/// See the [module](self).
pub(crate) struct Admin {
    pub(crate) objects: Arc<Objects>,
    pub(crate) metrics: Arc<Metrics>,
    /// Whether clients elsewhere are answered.
    pub(crate) is_open: bool,
    /// The name of the store, for people.
    pub(crate) title: String,
    /// Frames of the live page, once one was asked for.
    pub(crate) feed: OnceLock<Feed>,
}

/// A page: status, type and text.
struct Page(StatusCode, &'static str, String);

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

impl Admin {
    /// Answers a request.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        peer: SocketAddr,
        method: &Method,
        path: &str,
        query: Option<&str>,
    ) -> Response<Body> {
        let refused = |status: StatusCode| Page(status, TEXT, format!("{status}\n"));
        let page = if !self.is_open && !peer.ip().to_canonical().is_loopback() {
            refused(StatusCode::FORBIDDEN)
        } else if method != Method::GET && method != Method::HEAD {
            refused(StatusCode::METHOD_NOT_ALLOWED)
        } else {
            let (admin, path) = (Arc::clone(self), path.to_owned());
            let after = query.and_then(after);
            let page = task::spawn_blocking(move || admin.page(&path, after)).await;
            page.unwrap_or_else(|_| refused(StatusCode::INTERNAL_SERVER_ERROR))
        };
        let Page(status, content_type, text) = page;
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, content_type.parse().expect("a type"));
        headers.insert(CACHE_CONTROL, "no-store".parse().expect("a directive"));
        response
    }

    /// `after`: the frame that a live page has.
    fn page(&self, path: &str, after: Option<u64>) -> Page {
        match path.strip_prefix(PREFIX).unwrap_or_default() {
            "" => Page(StatusCode::OK, HTML, self.live_page()),
            "live.json" => self.frame(after),
            "health" => self.health(),
            "metrics" => {
                let mut text = String::new();
                self.metrics.expose(&mut text);
                exposition::expose(&self.objects.db().stats(), &mut text);
                Page(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
            }
            "stats.json" => {
                let stats = serde_json::to_string(&self.objects.db().stats()).unwrap_or_default();
                Page(StatusCode::OK, JSON, stats)
            }
            _ => Page(StatusCode::NOT_FOUND, TEXT, "no such page\n".into()),
        }
    }

    fn live_page(&self) -> String {
        let title = LiveTitle { store: self.title.clone(), ..LiveTitle::of(self.objects.db()) };
        live_page(&title)
    }

    fn frame(&self, after: Option<u64>) -> Page {
        let feed = self.feed.get_or_init(|| Feed::new(self.objects.db().clone()));
        match feed.json(after) {
            Ok(frame) => Page(StatusCode::OK, JSON, frame),
            Err(error) => Page(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
        }
    }

    fn health(&self) -> Page {
        let failure = self.objects.db().stats().failure.map(|failure| failure.to_string());
        match failure.or_else(|| self.objects.buckets().err().map(|fault| fault.to_string())) {
            None => Page(StatusCode::OK, TEXT, "ok\n".into()),
            Some(failure) => Page(StatusCode::SERVICE_UNAVAILABLE, TEXT, failure + "\n"),
        }
    }
}

/// The number in `after=N`.
fn after(query: &str) -> Option<u64> {
    query.split('&').find_map(|part| part.strip_prefix("after="))?.parse().ok()
}
