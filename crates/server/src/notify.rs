//! Tells systemd about the state of the process, by the socket that it names in `NOTIFY_SOCKET`.
//! Nothing happens without that variable. A failure is no error: the unit's start then times out.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The server answers requests.
pub(crate) const READY: &str = "READY=1";
/// The server is ending.
pub(crate) const STOPPING: &str = "STOPPING=1";

/// Sends a state.
pub(crate) fn notify(state: &str) {
    let Some(path) = env::var_os("NOTIFY_SOCKET") else { return };
    let address = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&path),
    };
    let sent = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = sent {
        tracing::warn!(%error, state, "cannot notify systemd");
    }
}
