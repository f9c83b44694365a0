//! The program is killed under puts, deletes and uploads in parts, a few times for each medium.
//! Afterwards each acknowledged object is there, whole; the last change of a key that was not
//! acknowledged has happened or not; and the store is sound, without a file that no entry names.
//!
//! The host goes on: there is no power cut here.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::random::{Random, RngCore};
use terrace_env::runner;

use crate::client::Client;
use crate::rig::{MEDIA, Store, bytes};

const LIVES: u64 = 4;
const WORKERS: u64 = 4;
const KEYS: usize = 6;
/// Acknowledged changes before a kill.
const LEAST: u64 = 60;
const PART: usize = 5 << 20;

/// The state of a key: seed and size of its bytes, or nothing.
type State = Option<(u64, usize)>;

/// Knowledge of a key: its acknowledged state, and the change in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    is: State,
    perhaps: Option<State>,
}

fn start(path: &Path) -> (Child, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace-serve"));
    started(command.arg(path).args(["--listen", "127.0.0.1:0", "--log", "info"]))
}

/// Starts the program, and waits until it listens.
pub(crate) fn started(command: &mut Command) -> (Child, SocketAddr) {
    let (child, address, _) = started_with_log(command);
    (child, address)
}

/// The same; the further lines of its log come when it has ended.
pub(crate) fn started_with_log(
    command: &mut Command,
) -> (Child, SocketAddr, runner::JoinHandle<Vec<String>>) {
    command.env_remove("TERRACE_ACCESS_KEY").stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let address = loop {
        let line = lines.next().expect("an address").expect("a line");
        if let Some((_, rest)) = line.split_once("address=") {
            let word = rest.split(' ').next().unwrap_or_default();
            break word.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    };
    // The rest is read, so that the program does not wait for a reader.
    let log = runner::spawn("log", move || lines.map_while(Result::ok).collect());
    (child, address, log)
}

fn change(client: &Client, path: &str, to: State, parts: bool) -> std::io::Result<u16> {
    let Some((seed, size)) = to else {
        return Ok(client.send("DELETE", path, &[], &[], b"")?.status);
    };
    let body = bytes(seed, size);
    if !parts {
        return Ok(client.send("PUT", path, &[], &[], &body)?.status);
    }
    let begun = client.send("POST", path, &[("uploads", "")], &[], b"")?;
    let id = begun.all("UploadId").pop().unwrap_or_default();
    let mut chosen = String::new();
    for (at, part) in body.chunks(PART).enumerate() {
        let number = (at + 1).to_string();
        let query = [("partNumber", number.as_str()), ("uploadId", id.as_str())];
        let put = client.send("PUT", path, &query, &[], part)?;
        let etag = put.headers.get("etag").cloned().unwrap_or_default();
        chosen += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
    }
    let chosen = format!("<CompleteMultipartUpload>{chosen}</CompleteMultipartUpload>");
    let query = [("uploadId", id.as_str())];
    Ok(client.send("POST", path, &query, &[], chosen.as_bytes())?.status)
}

/// Changes keys at random until the server is gone.
fn work(client: &Client, of: u64, random: &mut Random, known: &mut [Known], done: &AtomicU64) {
    loop {
        let key = (random.next_u64() % known.len() as u64) as usize;
        let seed = random.next_u64();
        let (to, parts) = match random.next_u64() % 10 {
            0..3 => (Some((seed, (seed % 60_000) as usize)), false),
            3..7 => (Some((seed, 100_000 + (seed % 700_000) as usize)), false),
            7 => (Some((seed, PART + (seed % 100_000) as usize)), true),
            _ => (None, false),
        };
        known[key].perhaps = Some(to);
        match change(client, &format!("/bucket/{of}/{key}"), to, parts) {
            Ok(200 | 204) => {
                known[key] = Known { is: to, perhaps: None };
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(status) => panic!("a change was refused with {status}"),
            Err(_) => return,
        }
    }
}

/// Reads a key, and compares with its states.
fn look(client: &Client, path: &str, known: &mut Known) {
    let got = client.get(path);
    let is = |state: State| match state {
        None => got.status == 404,
        Some((seed, size)) => got.status == 200 && got.body == bytes(seed, size),
    };
    let states = [Some(known.is), known.perhaps];
    let found = states.into_iter().flatten().find(|state| is(*state));
    let (status, size) = (got.status, got.body.len());
    let state = found.unwrap_or_else(|| panic!("{path}: {known:?}, found {status}, {size} bytes"));
    *known = Known { is: state, perhaps: None };
}

#[test]
fn acknowledged_objects_outlive_a_killed_server_whole() {
    for (seed, medium) in (0..).zip(MEDIA) {
        let store = Store::new(medium, 512);
        let mut known = vec![[Known::default(); KEYS]; WORKERS as usize];
        for life in 0..LIVES {
            let (mut child, address) = start(&store.path());
            let client = Client { address, key: None };
            if life == 0 {
                client.put("/bucket", b"").expect(200);
            }
            for (of, keys) in known.iter_mut().enumerate() {
                for (key, known) in keys.iter_mut().enumerate() {
                    look(&client, &format!("/bucket/{of}/{key}"), known);
                }
            }
            let done = Arc::new(AtomicU64::new(0));
            let workers: Vec<_> = (0..WORKERS)
                .map(|of| {
                    let (client, done) = (client.clone(), Arc::clone(&done));
                    let mut keys = known[of as usize];
                    let mut random = Random::seeded((seed * LIVES + life) * WORKERS + of);
                    runner::spawn("worker", move || {
                        work(&client, of, &mut random, &mut keys, &done);
                        keys
                    })
                })
                .collect();
            while done.load(Ordering::Relaxed) < LEAST {
                runner::sleep(Duration::from_millis(7));
            }
            child.kill().expect("a kill");
            child.wait().expect("an end");
            known = workers.into_iter().map(runner::JoinHandle::join).collect();
        }
        store.check();
        // Another server finds the same.
        let (mut child, address) = start(&store.path());
        let client = Client { address, key: None };
        for (of, keys) in known.iter_mut().enumerate() {
            for (key, known) in keys.iter_mut().enumerate() {
                look(&client, &format!("/bucket/{of}/{key}"), known);
            }
        }
        child.kill().expect("a kill");
        child.wait().expect("an end");
    }
}
