//! Processor time of puts into a store on an emulated drive: without a [live
//! window](terrace::live), with one, and while another process looks through it as `terrace top`
//! does.
//!
//! `cargo run --release -p terrace --example window [ENTRIES] [ROUNDS]`. The three take turns.
//! Printed are the medians of the rounds, and the median of the ratios within a round.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use terrace::live::Live;
use terrace::{ByteCount, Db, Emulator, ErrorKind, FormatOptions, Geometry, Options};
use terrace_env::runner;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    None,
    Open,
    Watched,
}

/// The client: takes a picture once a second, until the store is closed.
fn look(path: &Path) -> Outcome<()> {
    let mut live = Live::connect(path)?.ok_or("expected a window, found none")?;
    let mut picture = |event| {
        let snapshot = live.snapshot(event)?;
        live.zone_map()?;
        Ok(snapshot.events.iter().map(|event| event.number).max().unwrap_or(event))
    };
    let (mut event, mut pictures) = (0, 0);
    loop {
        let taken: Result<u64, terrace::Error> = picture(event);
        match taken {
            Ok(last) => event = last,
            Err(error) if error.kind() == ErrorKind::Closed => break,
            Err(error) => return Err(error.into()),
        }
        pictures += 1;
        runner::sleep(Duration::from_secs(1));
    }
    println!("{pictures}");
    Ok(())
}

fn client(path: &Path) -> Outcome<Child> {
    let mut client = Command::new(std::env::current_exe()?);
    client.arg("look").arg(path).stdout(Stdio::piped());
    Ok(client.spawn()?)
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Processor time of `entries` puts in random order and of the jobs that they cause, in seconds;
/// and the number of pictures that a client took.
fn fill(window: Window, entries: u64) -> Outcome<(f64, u64)> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("drive.img");
    let geometry = Geometry::uniform(ByteCount::mib(1), 512);
    let drive = Arc::new(Emulator::create_image(&path, geometry, runner::fork_random().uuid())?);
    let options = Options::fitting(ByteCount::mib(512));
    let options = if window == Window::None { options } else { options.live(&path) };
    let db = Db::create_device(drive, &FormatOptions::default(), options)?;
    let client = (window == Window::Watched).then(|| client(&path)).transpose()?;
    let begun = processor_time();
    for entry in 0..entries {
        // Each number once, in an order without a pattern: the factor is odd.
        let key = entry.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        db.put(&key, &[entry as u8; 100])?;
    }
    db.flush()?;
    db.wait_idle()?;
    let spent = (processor_time() - begun).as_secs_f64();
    db.close()?;
    let said = client.map(Child::wait_with_output).transpose()?;
    let pictures = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().parse());
    Ok((spent, pictures.transpose()?.unwrap_or(0)))
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, path] = &arguments[..]
        && word == "look"
    {
        return look(Path::new(path));
    }
    let number = |at: usize, usual| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (entries, rounds): (u64, u64) = (number(0, 1_000_000)?, number(1, 5)?);
    let kinds = [Window::None, Window::Open, Window::Watched];
    let mut all: [Vec<f64>; 3] = Default::default();
    let mut pictures = 0;
    for round in 0..rounds as usize {
        let mut line = String::new();
        for turn in 0..kinds.len() {
            let at = (round + turn) % kinds.len();
            let (spent, seen) = fill(kinds[at], entries)?;
            all[at].push(spent);
            pictures += seen;
            line += &format!("{:?} {spent:.2} s  ", kinds[at]);
        }
        println!("{line}");
    }
    println!("{entries} puts of 8 + 100 bytes, microseconds of processor time for one");
    for (kind, spent) in kinds.iter().zip(&all) {
        let ratios = spent.iter().zip(&all[0]).map(|(spent, without)| spent / without);
        let (each, ratio) =
            (median(spent.clone()) / entries as f64 * 1e6, median(ratios.collect()));
        println!("{kind:?}: {each:.3}, {ratio:.3} of the time without a window");
    }
    println!("{pictures} pictures taken");
    Ok(())
}
