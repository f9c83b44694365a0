//! Thousands of clients that say nothing: others are served as before, and a connection takes
//! little memory.
//!
//! Each test runs its crowd in a process of its own: the memory of the whole process is measured,
//! and other tests of this binary would count, too.

use std::fs;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;
use std::{env, str};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use terrace_env::runner;

use crate::rig::{Medium, Rig, Store, bytes};

/// Connections without a request.
const IDLE: usize = 5000;
/// Longest time for a put and a get meanwhile, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most memory of an idle connection: both ends and the task, with the buffers of the kernel left
/// out.
const BYTES_MAX: u64 = 32 << 10;

/// Lets this process, and those that it starts, have both ends of this number of connections.
pub(crate) fn allow_files(connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let enough = 2 * connections as u64 + 1000;
    assert!(limit.maximum.is_none_or(|maximum| maximum >= enough), "`ulimit -Hn` below {enough}");
    if limit.current.is_some_and(|current| current < enough) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(enough), ..limit }).unwrap();
    }
}

/// Resident bytes of this process.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Times of 100 puts and gets, in order.
fn times(rig: &Rig) -> Vec<Duration> {
    let client = rig.client();
    let mut times: Vec<Duration> = (0..100)
        .map(|number| {
            let (begun, body) = (runner::now(), bytes(number, 10_000));
            client.put("/bucket/key", &body).expect(200);
            assert!(client.get("/bucket/key").expect(200).body == body);
            runner::now().since(begun)
        })
        .collect();
    times.sort();
    times
}

/// Opens idle connections to a server that allows `most`, and measures other clients.
fn crowd(most: usize) {
    allow_files(IDLE);
    let store = Store::new(Medium::Directory, 0);
    let rig = Rig::start_with(&store, |options| options.connections_max = most);
    rig.client().put("/bucket", b"").expect(200);
    let (alone, before) = (times(&rig), resident());
    let crowd: Vec<TcpStream> =
        (0..IDLE).map(|_| TcpStream::connect(rig.address).unwrap()).collect();
    let in_crowd = times(&rig);
    let each = resident().saturating_sub(before) / IDLE as u64;
    let of = |times: &[Duration]| (times[50], times[98]);
    println!(
        "p50 and p99 alone {:?}, in a crowd {:?}, {each} bytes each",
        of(&alone),
        of(&in_crowd)
    );
    assert!(in_crowd[99] < PATIENCE, "{:?}", in_crowd[99]);
    assert!(each < BYTES_MAX, "{each} bytes for a connection");
    drop(crowd);
    rig.client().get("/bucket/key").expect(200);
    assert_eq!(rig.stop(), 0);
    store.check();
}

/// Set in the process that holds the crowd: the connections that its server allows.
const ALLOWED: &str = "TERRACE_TEST_CROWD";

/// Runs [`crowd`] in a process of its own: this binary, with `test` alone.
fn crowd_apart(test: &str, most: usize) {
    if env::var(ALLOWED).is_ok() {
        return crowd(most);
    }
    let output = Command::new(env::current_exe().unwrap())
        .args([&format!("crowds::{test}"), "--exact", "--nocapture"])
        .env(ALLOWED, most.to_string())
        .output()
        .unwrap();
    let said = str::from_utf8(&output.stdout).unwrap();
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("in a crowd"), "{}", output.status);
}

#[test]
fn five_thousand_idle_connections_hold_up_no_others() {
    crowd_apart("five_thousand_idle_connections_hold_up_no_others", IDLE + 100);
}

#[test]
fn a_server_that_allows_fewer_connections_ends_idle_ones_for_others() {
    crowd_apart("a_server_that_allows_fewer_connections_ends_idle_ones_for_others", 512);
}
