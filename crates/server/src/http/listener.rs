//! [`Listener`]: accepts connections, serves each one, and ends all of them.
//!
//! - At most a number of connections is open. For a further one, the connection that has waited
//!   longest for its client is ended ([`Roster`]). If none waits, the further ones stay in the
//!   system's queue.
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
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time;
use tokio_rustls::TlsAcceptor;

use super::front::Front;
use super::roster::{Presence, Roster};
use super::stalls::Stalls;

/// Bytes of a partial head at which it is refused. The last read may complete one of twice as many.
const HEAD_MAX: usize = 32 << 10;
/// Most headers of a request.
const HEADERS_MAX: usize = 128;
/// Pause after an error of accepting, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);
/// Pause between connections that are ended for the same new one.
const NEXT_END: Duration = Duration::from_millis(20);

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
        let roster = Arc::new(Roster::default());
        loop {
            let accepted = tokio::select! {
                biased;
                () = ended(&mut ends) => break,
                accepted = accept(&self.socket, &places, &roster) => accepted,
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
            let seat = roster.enter();
            tokio::spawn(async move {
                front.metrics.opened();
                let presence = seat.presence();
                let serving = connection(stream, (peer, presence), tls, &front, limits, ends);
                let served = tokio::select! {
                    served = serving => served,
                    () = presence.ended() => Err("ended for another connection".to_owned()),
                };
                if let Err(reason) = served {
                    front.metrics.failed();
                    tracing::debug!(%peer, reason, "a connection failed");
                }
                front.metrics.closed();
                drop((seat, place));
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
    roster: &Roster,
) -> io::Result<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let (stream, peer) = socket.accept().await?;
    loop {
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Ok((place, stream, peer));
        }
        roster.end_longest_wait();
        let place = time::timeout(NEXT_END, Arc::clone(places).acquire_owned()).await;
        if let Ok(place) = place {
            return Ok((place.map_err(io::Error::other)?, stream, peer));
        }
    }
}

async fn connection(
    stream: TcpStream,
    of: (SocketAddr, &Arc<Presence>),
    tls: Option<TlsAcceptor>,
    front: &Arc<Front>,
    limits: Limits,
    ends: watch::Receiver<bool>,
) -> Result<(), String> {
    // Answers are written whole, so a delay would only add to latencies.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return requests(stream, of, front, limits, ends).await };
    let shaken = time::timeout(limits.idle_max, tls.accept(stream)).await;
    let stream = shaken.map_err(|_| "no handshake")?.map_err(|error| error.to_string())?;
    requests(stream, of, front, limits, ends).await
}

async fn requests<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: T,
    (peer, presence): (SocketAddr, &Arc<Presence>),
    front: &Arc<Front>,
    limits: Limits,
    mut ends: watch::Receiver<bool>,
) -> Result<(), String> {
    let stream = TokioIo::new(Stalls::new(stream, limits.idle_max, Arc::clone(presence)));
    let answer = service_fn(|request| {
        let (front, presence) = (Arc::clone(front), Arc::clone(presence));
        async move { front.answer(peer, &presence, request).await }
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
