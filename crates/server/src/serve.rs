//! [`serve`]: the program: opens the store, serves it until SIGTERM or SIGINT, and closes it.
//!
//! Events go to standard error. systemd is told when the server answers requests, and when it
//! ends. A second signal ends the process at once: acknowledged changes are durable all the same.
//! The exit codes are those of the program `terrace`: `docs/cli.md` lists them.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::notify::{READY, STOPPING, notify};
use crate::place;
use crate::server::Server;

/// Most files that the process asks for.
const DESCRIPTORS: u64 = 65_536;

/// Serves as the arguments say.
pub fn serve(arguments: &Arguments) -> ExitCode {
    log(arguments.log);
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!("{}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// Sends events to standard error. Other crates log requests of clients as errors, so theirs are
/// shown only with those of debugging.
#[expect(clippy::disallowed_methods, reason = "the layer escapes what a terminal would obey")]
fn log(level: Level) {
    let others = if level >= Level::DEBUG { level.into() } else { LevelFilter::OFF };
    let shown = Targets::new().with_default(others).with_target("terrace", level);
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    tracing_subscriber::registry().with(lines).with(shown).init();
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.options()?;
    if options.keys.is_empty() {
        tracing::warn!("no keys: every program of this machine may read and write");
    }
    if arguments.is_in_the_clear() {
        tracing::warn!("no TLS: others on the way can read objects");
    }
    raise_descriptors();
    let threads = usize::from(arguments.threads);
    let runtime = runtime(threads)?;
    let entered = runtime.enter();
    // A write beyond the largest file that the host allows (`ulimit -f`) is then an error of that
    // write, and does not end the process. The signal itself is not waited for.
    let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
    drop(entered);
    let db = place::open(&arguments.store, arguments.second.as_deref())?;
    runtime.block_on(async {
        let server = Server::start(db, options).await?;
        let swept = server.swept();
        if swept.missing > 0 {
            tracing::error!(files = swept.missing, "objects name files that are not there");
        }
        if swept.forgotten > 0 {
            tracing::warn!(objects = swept.forgotten, "forgotten: their files are not there");
        }
        tracing::info!(
            address = %server.address(),
            removed_files = swept.files,
            forgotten_uploads = swept.uploads,
            "serving"
        );
        let (end, ends) = watch::channel(false);
        tokio::spawn(signals(end));
        notify(READY);
        let cut_off = server.run(ends).await?;
        tracing::info!(cut_off, "closed");
        Ok(())
    })
}

/// Raises the number of files that the process may open to the most that it may ask for, and
/// [`DESCRIPTORS`] at most: the usual limit of 1,024 is for programs that call `select`.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
    if limit.current.is_some_and(|current| current < most) {
        // Without effect where it is not allowed.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit });
    }
}

/// A runtime with a limited number of threads that may wait for the store.
fn runtime(threads: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().max_blocking_threads(threads).build()
}

/// Ends the server at the first signal, and the process at the second one.
async fn signals(end: watch::Sender<bool>) {
    let streams = signal(SignalKind::terminate())
        .and_then(|terminate| Ok((terminate, signal(SignalKind::interrupt())?)));
    let Ok((mut terminate, mut interrupt)) = streams else { return };
    let mut next = async || {
        tokio::select! {
            _ = terminate.recv() => SignalKind::terminate(),
            _ = interrupt.recv() => SignalKind::interrupt(),
        }
    };
    next().await;
    notify(STOPPING);
    tracing::info!("ending: requests in flight are finished");
    let _ = end.send(true);
    let second = next().await;
    // As shells have it.
    std::process::exit(128 + second.as_raw_value());
}
