//! Resets of the machine under load, while its devices stay: what a power cut is for a store whose
//! drive loses nothing.
//!
//! The guest tells of each write that has returned (`crates/terrace/tests/it/reset_child.rs` has
//! the lines). At a random moment the host resets the machine. It boots again, compares the stores
//! with their required contents, and tells the number of the last write. A [`Journal`] of the
//! writes acknowledged on the serial line is kept here: none of them may be missing.
//!
//! The devices are the NVMe namespace and the ordinary disk. The others lie in the guest's
//! memory. QEMU keeps the states of zones as long as it runs, so the guest is reset, and QEMU is
//! not killed.
//! The loss of a drive's own cache is tested on the emulator.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::machine::{Machine, Running};
use super::monitor::Monitor;
use crate::random::mixed;

/// The most writes of a boot before the machine is reset.
const WRITES_MAX: u64 = 200;
/// The longest delay between such a write and the reset.
const DELAY_MAX: u64 = 30_000;

/// Resets the machine `rounds` times, and boots it once more.
pub(super) fn run(machine: &Machine, rounds: u32, seed: u64) -> anyhow::Result<()> {
    let socket = machine.folder.join("monitor");
    if socket.exists() {
        std::fs::remove_file(&socket)?;
    }
    let mut qemu = machine.command("terrace.reset")?;
    let path = socket.display().to_string().replace(',', ",,");
    qemu.args(["-qmp", &format!("unix:{path},server=on,wait=off")]);
    eprintln!("{rounds} resets, seed {seed}");
    let log = machine.folder.join("resets.log");
    let mut running = Running::start(&mut qemu, &log)?;
    let mut monitor = None;
    let followed = follow(&mut running, rounds, seed, |order| {
        let monitor = match &mut monitor {
            Some(monitor) => monitor,
            none => none.insert(Monitor::connect(&socket)?),
        };
        monitor.order(order)
    });
    // The machine goes on after an error, too. If it cannot be told to quit, its time will end.
    let quit = match monitor {
        Some(mut monitor) => monitor.order("quit"),
        None => Monitor::connect(&socket).and_then(|mut monitor| monitor.order("quit")),
    };
    let ended = running.end();
    followed.with_context(|| format!("see {}", log.display()))?;
    quit?;
    ended
}

/// Follows the output, and gives the orders to reset.
fn follow(
    running: &mut Running,
    rounds: u32,
    seed: u64,
    mut order: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut journal, mut random, mut resets) = (Journal::default(), Random::seeded(seed), 0);
    let mut target = random.below(WRITES_MAX) + 1;
    while let Some(line) = running.line()? {
        if journal.hear(&line)? == Heard::Other {
            eprintln!("| {line}");
        }
        if journal.is_ready && resets == rounds {
            return Ok(());
        }
        if journal.is_ready && journal.writes >= target {
            std::thread::sleep(Duration::from_micros(random.below(DELAY_MAX)));
            order("system_reset")?;
            eprintln!("reset after {} writes: {:?}", journal.writes, journal.acknowledged);
            resets += 1;
            target = random.below(WRITES_MAX) + 1;
            journal.reset();
        }
    }
    bail!("the guest: expected it to go on after {resets} of {rounds} resets, found its end")
}

/// The lines that the guest has written.
#[derive(Debug, Default)]
struct Journal {
    /// The newest write that has returned, by device.
    acknowledged: BTreeMap<String, u64>,
    /// The devices whose stores have been opened since the last reset.
    found: BTreeSet<String>,
    /// Stores are open, and the load has begun.
    is_ready: bool,
    /// Writes since then.
    writes: u64,
}

/// Kind of a line.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// Of a write.
    Write,
    Other,
}

impl Journal {
    /// Takes a line over; an error if something is missing that was acknowledged.
    fn hear(&mut self, line: &str) -> anyhow::Result<Heard> {
        ensure!(!line.starts_with("guest: failed"), "found `{line}`");
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["found", device, number] => {
                let number: u64 = number.parse().with_context(|| format!("found `{line}`"))?;
                ensure!(!self.is_ready, "the guest has booted without a reset");
                let least = self.acknowledged.entry(device.to_owned()).or_default();
                ensure!(
                    number >= *least,
                    "{device}: expected the {least} writes that were acknowledged, found {number}"
                );
                *least = number;
                self.found.insert(device.to_owned());
            }
            ["ready"] => {
                let missing = self.acknowledged.keys().find(|one| !self.found.contains(*one));
                ensure!(missing.is_none(), "expected a store on {missing:?}, found none");
                ensure!(!self.found.is_empty(), "expected stores, found none");
                (self.is_ready, self.writes) = (true, 0);
            }
            ["done", device, number] => {
                // A line that another one has cut in two acknowledges nothing.
                let newest = number.parse::<u64>().ok();
                if let (Some(newest), Some(last)) = (newest, self.acknowledged.get_mut(device))
                    && newest == *last + 1
                {
                    *last = newest;
                    self.writes += 1;
                }
                return Ok(Heard::Write);
            }
            _ => {}
        }
        Ok(Heard::Other)
    }

    /// The machine has been reset. Lines that it has written before may still come.
    fn reset(&mut self) {
        self.is_ready = false;
        self.found.clear();
    }
}

/// Numbers that a seed decides.
struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    fn seeded(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// A number below a limit.
    fn below(&mut self, limit: u64) -> u64 {
        let number = mixed(self.seed, self.drawn);
        self.drawn += 1;
        number % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hear(journal: &mut Journal, lines: &[&str]) -> Result<(), String> {
        let mut heard = lines.iter().map(|line| journal.hear(line).map(drop));
        heard.find_map(Result::err).map_or(Ok(()), |error| Err(error.to_string()))
    }

    fn loaded() -> Journal {
        let mut journal = Journal::default();
        let lines = ["Linux", "found /dev/a 0", "found /dev/b 0", "ready"];
        hear(&mut journal, &lines).unwrap();
        assert!(journal.is_ready);
        let writes = ["done /dev/a 1", "done /dev/b 1", "done /dev/a 2", "done /dev/a 2x"];
        hear(&mut journal, &writes).unwrap();
        assert_eq!(journal.writes, 3);
        journal
    }

    #[test]
    fn writes_that_were_acknowledged_must_be_found() {
        let mut journal = loaded();
        journal.reset();
        // This line was on its way when the machine was reset.
        hear(&mut journal, &["done /dev/b 2", "found /dev/a 3", "found /dev/b 2"]).unwrap();
        assert!(!journal.is_ready);
        hear(&mut journal, &["ready"]).unwrap();
        assert_eq!(journal.acknowledged.values().collect::<Vec<_>>(), [&3, &2]);
    }

    #[test]
    fn what_is_missing_is_told() {
        for (lines, expected) in [
            (&["found /dev/a 1"][..], "expected the 2 writes"),
            (&["found /dev/a 2", "ready"], "expected a store on"),
            (&["guest: failed: the work ended with code 1"], "guest: failed"),
            (&["found /dev/a x"], "found `found /dev/a x`"),
        ] {
            let mut journal = loaded();
            journal.reset();
            let error = hear(&mut journal, lines).unwrap_err();
            assert!(error.contains(expected), "{lines:?}: {error}");
        }
        let error = hear(&mut loaded(), &["found /dev/a 2"]).unwrap_err();
        assert!(error.contains("without a reset"), "{error}");
        let error = hear(&mut Journal::default(), &["ready"]).unwrap_err();
        assert!(error.contains("expected stores"), "{error}");
    }

    #[test]
    fn moments_follow_from_the_seed() {
        let draw = |seed| {
            let mut random = Random::seeded(seed);
            [(); 4].map(|()| random.below(1000))
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_ne!(draw(1)[..2], draw(1)[2..]);
    }
}
