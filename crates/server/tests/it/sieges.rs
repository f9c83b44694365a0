//! A siege of the program: malformed and half-sent requests, thousands of idle connections, and
//! clients that read and write slowly, all at a time. Another client is served meanwhile; its
//! latencies are compared with those before and after. The program's memory stays within its cap,
//! nothing panics, and the store is as it was.
//!
//! An ordinary run sends 5,000 malformed requests. `cargo xtask soak server` sends 250,000 in a
//! round, and also asserts that the 99th percentile of the other client's latencies is at most
//! doubled. Both need processors that are not busy with other work.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{env, fs};

use rustix::process::{Pid, Signal, kill_process};
use terrace_env::random::Random;
use terrace_env::runner::{self, JoinHandle};
use terrace_env::test_seeds;

use crate::client::Client;
use crate::crowds::allow_files;
use crate::hostile::{below, check_answer, malformed};
use crate::kills::started_with_log;
use crate::rig::{Medium, Store, bytes};

/// Connections without a request.
const IDLE: usize = 5000;
/// Clients that read slowly, and those that write slowly.
const SLOW: usize = 20;
/// Half-sent requests whose clients stay.
const HALF_SENT: usize = 400;
/// Malformed requests of a seed.
const MALFORMED: u64 = 5000;
/// Malformed requests a second.
const RATE: u64 = 1000;
/// Longest time for a put and a get, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// Percentiles below this one differ by the machine's other work.
const NOISE: Duration = Duration::from_millis(20);
/// Most memory of the program: its store's budget and its own tables; for each connection 32 KiB,
/// and for each slow client three pieces.
const MEMORY_MAX: u64 = (256 << 20) + (6000 * (32 << 10)) + 2 * SLOW as u64 * (3 << 19);

/// Number of a line in `/proc/PID/status`, in bytes.
fn status(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Puts and gets an object until `ends`, or 100 times at least.
fn times(client: &Client, ends: impl Fn() -> bool) -> Vec<Duration> {
    let mut times = Vec::new();
    while times.len() < 100 || !ends() {
        let (begun, body) = (runner::now(), bytes(times.len() as u64, 10_000));
        client.put("/bucket/key", &body).expect(200);
        assert!(client.get("/bucket/key").expect(200).body == body);
        times.push(runner::now().since(begun));
    }
    times
}

fn percentile(times: &mut [Duration], hundredths: usize) -> Duration {
    times.sort();
    times[(times.len() * hundredths / 100).min(times.len() - 1)]
}

/// The besiegers, until [`Siege::end`].
struct Siege {
    actors: Vec<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
    idle: Vec<TcpStream>,
    sent: Arc<AtomicU64>,
}

/// Ends the siege when it is dropped, by a panic, too.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends malformed requests at the rate; keeps the connections of some that were half sent.
fn send_malformed(address: SocketAddr, random: &mut Random, sent: &AtomicU64, ends: &AtomicBool) {
    let _end = End(ends);
    let mut half_sent = VecDeque::new();
    let begun = runner::now();
    for number in 0..MALFORMED {
        runner::sleep_until(begun + Duration::from_nanos(number * 1_000_000_000 / RATE));
        let Ok(mut stream) = TcpStream::connect(address) else { continue };
        let _ = stream.set_read_timeout(Some(PATIENCE));
        // The server may have refused the request meanwhile.
        let _ = stream.write_all(&malformed(random));
        if below(random, 2) == 0 {
            let _ = stream.shutdown(Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            check_answer(&answer);
        } else {
            half_sent.push_back(stream);
            if half_sent.len() > HALF_SENT {
                half_sent.pop_front();
            }
        }
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends a request, and then takes or sends a few bytes at a time.
fn slow(client: &Client, number: usize, ends: &AtomicBool) {
    let is_reader = number.is_multiple_of(2);
    let mut stream = TcpStream::connect(client.address).unwrap();
    let head = if is_reader {
        client.head("GET", "/bucket/big", &[], &[], 0, b"")
    } else {
        client.head("PUT", &format!("/bucket/slow{number}"), &[], &[], 8 << 20, b"")
    };
    stream.write_all(head.as_bytes()).unwrap();
    let mut piece = [0; 4096];
    while !ends.load(Ordering::Relaxed) {
        let is_done = if is_reader {
            stream.read(&mut piece).is_ok_and(|bytes| bytes > 0)
        } else {
            stream.write_all(&piece).is_ok()
        };
        assert!(is_done, "the server has ended a slow client");
        runner::sleep(Duration::from_millis(100));
    }
}

impl Siege {
    fn begin(client: &Client, seed: u64) -> Self {
        let (ends, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let idle = (0..IDLE).map(|_| TcpStream::connect(client.address).unwrap()).collect();
        let mut actors: Vec<_> = (0..2 * SLOW)
            .map(|number| {
                let (client, ends) = (client.clone(), Arc::clone(&ends));
                runner::spawn("slow", move || slow(&client, number, &ends))
            })
            .collect();
        let (address, mut random) = (client.address, Random::seeded(seed));
        let (counted, end) = (Arc::clone(&sent), Arc::clone(&ends));
        actors.push(runner::spawn("malformed", move || {
            send_malformed(address, &mut random, &counted, &end);
        }));
        Self { actors, ends, idle, sent }
    }

    /// Waits for the end; an idle connection still serves.
    fn end(mut self, client: &Client) -> u64 {
        self.actors.into_iter().for_each(JoinHandle::join);
        let mut stream = self.idle.swap_remove(IDLE / 2);
        stream.write_all(client.head("GET", "/bucket/kept", &[], &[], 0, b"").as_bytes()).unwrap();
        let kept = crate::client::read_answer(&mut stream, "GET").unwrap().expect(200);
        assert_eq!(kept.body, b"kept");
        self.sent.load(Ordering::Relaxed)
    }
}

#[test]
fn a_siege_holds_up_no_others_and_takes_memory_within_the_cap() {
    allow_files(IDLE + HALF_SENT + 2 * SLOW);
    let store = Store::new(Medium::Directory, 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace-serve"));
    command.arg(store.path()).args(["--listen", "127.0.0.1:0", "--connections", "5800"]);
    command.args(["--idle", "3600", "--piece-time", "3600", "--log", "info"]);
    let (mut child, address, log) = started_with_log(&mut command);
    let client = Client { address, key: None };
    client.put("/bucket", b"").expect(200);
    client.put("/bucket/kept", b"kept").expect(200);
    client.put("/bucket/big", &bytes(1, 24 << 20)).expect(200);
    let (mut alone, mut besieged, mut sent) = (Vec::new(), Vec::new(), 0);
    let lull = |alone: &mut Vec<Duration>| {
        let begun = runner::now();
        alone.extend(times(&client, || runner::now().since(begun) > Duration::from_secs(2)));
    };
    for seed in test_seeds(1) {
        lull(&mut alone);
        let siege = Siege::begin(&client, seed);
        besieged.extend(times(&client, || siege.ends.load(Ordering::Relaxed)));
        sent += siege.end(&client);
        assert_eq!(client.get("/-/health").expect(200).text(), "ok\n");
    }
    lull(&mut alone);
    let peak = status(child.id(), "VmHWM");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    let log = log.join();
    let of = |times: &mut [Duration]| [50, 99].map(|hundredths| percentile(times, hundredths));
    let (alone, besieged) = (of(&mut alone), of(&mut besieged));
    println!("{sent} malformed; p50 and p99 alone {alone:?}, besieged {besieged:?}; {peak} bytes");
    assert!(!log.iter().any(|line| line.contains("panicked") || line.contains("ERROR")), "{log:?}");
    assert!(peak < MEMORY_MAX, "{peak} bytes, of at most {MEMORY_MAX}");
    assert!(besieged[1] < PATIENCE, "{besieged:?}");
    if env::var("TERRACE_TEST_ROUND").is_ok() {
        assert!(besieged[1] < 2 * alone[1].max(NOISE), "alone {alone:?}, besieged {besieged:?}");
    }
    store.check();
}
