//! [`Listener`]: accepts connections, serves each one, and ends all of them.
//!
//! - At most a number of connections is open. Further ones wait in the system's queue.
//! - The head of a request must come within a time, which also ends idle connections, and is
//!   limited in size and in its number of headers. So is the handshake of TLS in time. A client
//!   that takes no bytes of an answer for a time is cut off.
//! - HTTP/1.1 only.
//! - At the end, no connection is accepted, idle ones are closed, and requests in flight have a
//!   time to end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time;
use tokio_rustls::TlsAcceptor;

use super::front::Front;
use super::stalls::Stalls;

/// Bytes of a partial head at which it is refused. The last read may complete one of twice as many.
const HEAD_MAX: usize = 32 << 10;
/// Most headers of a request.
const HEADERS_MAX: usize = 128;
/// Pause after an error of accepting, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Limits on connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Open connections.
    pub(crate) connections_max: usize,
    /// Time for a request's head, for a handshake, and without a byte taken.
    pub(crate) idle_max: Duration,
    /// Time for the requests in flight at the end.
    pub(crate) end_max: Duration,
}

/// See the [module](self).
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) front: Arc<Front>,
    pub(crate) limits: Limits,
}

impl Listener {
    /// Serves until `ends` changes, and then until the connections have ended or their time is
    /// over. Returns the number of connections that were cut off.
    pub(crate) async fn serve(self, mut ends: watch::Receiver<bool>) -> usize {
        let limits = self.limits;
        let places = Arc::new(Semaphore::new(limits.connections_max));
        loop {
            let accepted = tokio::select! {
                biased;
                () = ended(&mut ends) => break,
                accepted = accept(&self.socket, &places) => accepted,
            };
            let (place, stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    time::sleep(PAUSE).await;
                    continue;
                }
            };
            let (front, tls, ends) = (Arc::clone(&self.front), self.tls.clone(), ends.clone());
            tokio::spawn(async move {
                front.metrics.opened();
                if let Err(reason) = connection(stream, peer, tls, &front, limits, ends).await {
                    front.metrics.failed();
                    tracing::debug!(%peer, reason, "a connection failed");
                }
                front.metrics.closed();
                drop(place);
            });
        }
        drop(self.socket);
        let all = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
        match time::timeout(limits.end_max, places.acquire_many(all)).await {
            Ok(_) => 0,
            Err(_) => limits.connections_max - places.available_permits(),
        }
    }
}

/// Waits for the end.
async fn ended(ends: &mut watch::Receiver<bool>) {
    // The end, too, if there is no sender any more.
    let _ = ends.wait_for(|ends| *ends).await;
}

async fn accept(
    socket: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(tokio::sync::OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = socket.accept().await?;
    Ok((place, stream, peer))
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    front: &Arc<Front>,
    limits: Limits,
    ends: watch::Receiver<bool>,
) -> Result<(), String> {
    // Answers are written whole, so a delay would only add to latencies.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return requests(stream, peer, front, limits, ends).await };
    let shaken = time::timeout(limits.idle_max, tls.accept(stream)).await;
    let stream = shaken.map_err(|_| "no handshake")?.map_err(|error| error.to_string())?;
    requests(stream, peer, front, limits, ends).await
}

async fn requests<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: T,
    peer: SocketAddr,
    front: &Arc<Front>,
    limits: Limits,
    mut ends: watch::Receiver<bool>,
) -> Result<(), String> {
    let stream = TokioIo::new(Stalls::new(stream, limits.idle_max));
    let answer = service_fn(|request| {
        let front = Arc::clone(front);
        async move { front.answer(peer, request).await }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_max)
        .max_buf_size(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(stream, answer);
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = serving.as_mut() => served,
        () = ended(&mut ends) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    served.map_err(|error| error.to_string())
}
