//! [`Server`]: a store that is open and served, from its start to its end.
//!
//! 1. The store is opened, and its leftovers are removed.
//! 2. The socket listens. From then on requests are answered.
//! 3. At the end no connection is accepted. Requests in flight have a time to finish. Then the
//!    store is closed, so that all writes are durable.
//!
//! Old uploads are forgotten at the start and then once in a while. A server without keys listens
//! on the loopback only.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::Resource;
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::S3ServiceBuilder;
use terrace::Db;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::{task, time};

use crate::access::{Check, Keys};
use crate::admin::Admin;
use crate::http::{Front, Hosts, Limits, Listener, TlsError, XML_MAX, acceptor};
use crate::mending::mend;
use crate::metrics::Metrics;
use crate::objects::{Fault, Objects, ObjectsOptions, Swept};
use crate::s3::{Operations, Places};

/// How a store is served.
#[derive(Debug)]
pub struct ServerOptions {
    /// The address; port 0 is one that is free.
    pub listen: SocketAddr,
    /// Access keys.
    pub keys: Arc<Keys>,
    /// Certificate and key, for TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Largest body that is an entry of the store.
    pub entry_max: u64,
    /// Age at which an unfinished upload is forgotten.
    pub upload_age_max: Duration,
    /// Whether objects are forgotten when files of them are not there.
    pub forget_missing: bool,
    /// Open connections.
    pub connections_max: usize,
    /// Bodies that are being written at a time: at most half of the threads that wait for the
    /// store. On a drive they are at most half of the zones that may be open, too.
    pub bodies_max: usize,
    /// Time for a request's head, and for a client that takes no bytes.
    pub idle_max: Duration,
    /// Time for each piece of a body.
    pub piece_time_max: Duration,
    /// Time for requests in flight at the end.
    pub end_max: Duration,
    /// Whether `/-/` answers clients elsewhere.
    pub admin_open: bool,
    /// Domains: `bucket.example.org` is a bucket below `example.org`.
    pub domains: Vec<String>,
    /// The name of the store, for people: the title of the live page.
    pub title: String,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9000)),
            keys: Arc::default(),
            tls: None,
            entry_max: 64 << 10,
            upload_age_max: Duration::from_secs(7 * 86_400),
            forget_missing: false,
            connections_max: 512,
            bodies_max: 8,
            idle_max: Duration::from_secs(60),
            piece_time_max: Duration::from_secs(60),
            end_max: Duration::from_secs(30),
            admin_open: false,
            domains: Vec::new(),
            title: String::new(),
        }
    }
}

/// Reason why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is not of the loopback, and there are no keys.
    #[error("{0}: expected keys for an address other than the loopback; see --keys")]
    Unsafe(SocketAddr),
    /// The objects cannot be opened.
    #[error("the objects of the store: {0}")]
    Objects(#[from] Fault),
    /// The address cannot be used.
    #[error("{0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// TLS cannot be used.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
}

/// See the [module](self).
pub struct Server {
    objects: Arc<Objects>,
    listener: Listener,
    address: SocketAddr,
    swept: Swept,
    forget_every: Duration,
}

impl Server {
    /// Opens the objects of a store, and listens.
    pub async fn start(db: Db, options: ServerOptions) -> Result<Self, StartError> {
        let listen = options.listen;
        if options.keys.is_empty() && !listen.ip().is_loopback() {
            return Err(StartError::Unsafe(listen));
        }
        let tls = options.tls.as_ref().map(|(certificate, key)| acceptor(certificate, key));
        let tls = tls.transpose()?;
        let upload_age_max = options.upload_age_max;
        let age = u64::try_from(upload_age_max.as_millis()).unwrap_or(u64::MAX);
        let of_objects = ObjectsOptions {
            entry_max: options.entry_max,
            upload_age_max: age,
            forget_missing: options.forget_missing,
        };
        let opened = task::spawn_blocking(move || Objects::open(&db, of_objects)).await;
        let (objects, swept) = opened.expect("an opening does not panic")?;
        let objects = Arc::new(objects);
        let failed = |error| StartError::Listen(listen, error);
        let socket = TcpListener::bind(listen).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let metrics = Arc::new(Metrics::default());
        let front = front(&objects, &metrics, &options);
        let limits = Limits {
            connections_max: connections(options.connections_max),
            idle_max: options.idle_max,
            end_max: options.end_max,
        };
        let listener = Listener { socket, tls, front: Arc::new(front), limits };
        let forget_every = (upload_age_max / 16).clamp(Duration::from_secs(1), HOUR);
        Ok(Self { objects, listener, address, swept, forget_every })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Leftovers that the start has removed.
    #[must_use]
    pub fn swept(&self) -> Swept {
        self.swept
    }

    /// The objects.
    #[must_use]
    pub fn objects(&self) -> &Arc<Objects> {
        &self.objects
    }

    /// Serves until `ends` is true; then ends, and closes the store. Returns the number of
    /// connections that were cut off.
    pub async fn run(self, ends: watch::Receiver<bool>) -> Result<usize, terrace::Error> {
        let forgetting = tokio::spawn(forget(Arc::clone(&self.objects), self.forget_every));
        let mending = tokio::spawn(mend(self.objects.db().clone(), MEND_EVERY));
        let cut_off = self.listener.serve(ends).await;
        forgetting.abort();
        mending.abort();
        let db = self.objects.db().clone();
        let closed = task::spawn_blocking(move || db.close()).await;
        closed.expect("a close does not panic").map(|()| cut_off)
    }
}

/// Open connections: at most half of the descriptors of the process. The store needs the others; it
/// stops writing when it finds none.
fn connections(wanted: usize) -> usize {
    let descriptors = rustix::process::getrlimit(Resource::Nofile).current;
    let most = descriptors.map_or(usize::MAX, |all| (all as usize / 2).saturating_sub(16).max(1));
    if wanted > most {
        tracing::warn!(wanted, most, "fewer connections: the process may open too few files");
    }
    wanted.min(most)
}

const HOUR: Duration = Duration::from_secs(3600);
/// Time between two looks whether the store has stopped.
const MEND_EVERY: Duration = Duration::from_secs(5);

/// Forgets old uploads once in a while.
async fn forget(objects: Arc<Objects>, every: Duration) {
    loop {
        time::sleep(every).await;
        let objects = Arc::clone(&objects);
        match task::spawn_blocking(move || objects.forget_old_uploads()).await {
            Ok(Ok(0)) | Err(_) => {}
            Ok(Ok(uploads)) => tracing::info!(uploads, "forgot old unfinished uploads"),
            Ok(Err(error)) => tracing::warn!(%error, "cannot forget old uploads"),
        }
    }
}

fn front(objects: &Arc<Objects>, metrics: &Arc<Metrics>, options: &ServerOptions) -> Front {
    let (of, counts) = (Arc::clone(objects), Arc::clone(metrics));
    let places = Places::new(options.bodies_max, objects.db().fs().map(|fs| &**fs));
    let operations = Operations::new(of, counts, options.piece_time_max, places);
    let mut builder = S3ServiceBuilder::new(operations);
    let is_without_keys = options.keys.is_empty();
    let check = Check::new(Arc::clone(&options.keys));
    builder.set_auth(check.clone());
    builder.set_access(check);
    let hosts = Hosts::below(&options.domains);
    builder.set_host(hosts.clone());
    let mut config = S3Config::default();
    config.xml_max_body_size = XML_MAX;
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    let (objects, of) = (Arc::clone(objects), Arc::clone(metrics));
    let (is_open, title) = (options.admin_open, options.title.clone());
    let admin = Admin { objects, metrics: of, is_open, title, feed: OnceLock::new() };
    let admin = Arc::new(admin);
    let (service, metrics) = (builder.build(), Arc::clone(metrics));
    let idle_max = options.idle_max;
    Front { service, admin, metrics, is_without_keys, idle_max, hosts }
}
