//! Tests of the LevelDB plug-in with the distribution's library. Each works on an emulated drive of
//! its own that allows 14 open zones.
//!
//! 1. The C API, the program `terrace`, the plug-in and its programs are built.
//! 2. The contract program makes every call of the Env. It fills, overwrites, deletes and compacts,
//!    and compares each value. It fills a drive, opens the database there again and again, deletes
//!    and goes on.
//! 3. A synced insert must be one write to the drive and one flush of it: `strace` counts writes
//!    of blocks to the image, and its syncs.
//! 4. A program that knows nothing of the plug-in runs with it, by LD_PRELOAD: on the drive where
//!    TERRACE_URI says so, on an ordinary directory otherwise.
//! 5. The benchmark runs on a drive and on a directory, with all values checked.
//! 6. A process that writes is killed at moments that follow from a seed. Each time, the database
//!    must hold what a prefix of the operations leaves, with each that was acknowledged as durable.
//!    In every second round the log is written out at each write, and all that have returned must
//!    be there.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::plugin::{Plugin, fresh};
use crate::random::mixed;
use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// Synced inserts that are counted, beyond as many of a first run. All fit a zone, since a new one
/// costs a write of its own.
const SYNCED: u64 = 100;
/// Entries of the program that knows nothing of the plug-in.
const ENTRIES: &str = "2000";
/// The header with the methods that an Env has.
const HEADER: &str = "/usr/include/leveldb/env.h";
/// The longest time until a kill in milliseconds, and the shortest.
const LIFE_MAX: u64 = 900;
const LIFE_MIN: u64 = 30;

/// Kills of processes, as the command line asks for them.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Arguments {
    /// How many times the process that writes is killed
    #[arg(long, default_value_t = Arguments::default().kills)]
    kills: u64,
    /// Seed of the writes and of the moment of the kill
    #[arg(long, default_value_t = Arguments::default().seed)]
    seed: u64,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { kills: 10, seed: 1 }
    }
}

/// Builds the plug-in and runs all of it.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps, arguments: Arguments) {
    let tests = Tests(Plugin::debug(workspace, "leveldb"));
    let mut built = false;
    steps.run("test: LevelDB plug-in, build", || {
        tests.0.build(&["all", "contract", "bench", "stock"])?;
        built = true;
        Ok(())
    });
    if built {
        steps.run("test: LevelDB plug-in, contract", || tests.contract());
        steps.run("test: LevelDB plug-in, writes of synced inserts", || tests.synced());
        steps.run("test: LevelDB plug-in, a program that knows nothing of it", || tests.stock());
        steps.run("test: LevelDB plug-in, benchmark", || tests.bench());
        steps.run("test: LevelDB plug-in, kill -9", || tests.kills(arguments));
    }
}

struct Tests<'a>(Plugin<'a>);

impl Tests<'_> {
    fn contract(&self) -> anyhow::Result<()> {
        let run = |what: &str, uri: &str| {
            step::command(self.0.program("contract").args([what, &format!("{uri}?unsynced")]))
        };
        let uri = self.0.drive("contract.img", "256MiB", "1MiB")?;
        run("files", &uri)?;
        step::command(self.0.program("contract").args(["methods", &uri, HEADER]))?;
        run("loads", &uri)?;
        // As much is kept as a compaction of LevelDB takes.
        let uri = self.0.drive("full.img", "64MiB", "1MiB")?;
        let uri = format!("{uri}?unsynced&reserve=12582912");
        step::command(self.0.program("contract").args(["full", &uri]))
    }

    /// Checks that more synced inserts make just as many more writes and syncs.
    fn synced(&self) -> anyhow::Result<()> {
        let uri = self.0.drive("synced.img", "64MiB", "1MiB")?;
        let few = self.calls_of_synced(&uri, SYNCED)?;
        let uri = self.0.drive("synced.img", "64MiB", "1MiB")?;
        let many = self.calls_of_synced(&uri, 2 * SYNCED)?;
        for (name, few, many) in
            [("writes", few.writes, many.writes), ("syncs", few.syncs, many.syncs)]
        {
            let more = many.saturating_sub(few);
            eprintln!("{name}: {few} for {SYNCED} inserts, {many} for {}", 2 * SYNCED);
            ensure!(more == SYNCED, "{name}: expected {SYNCED} more, found {more}");
        }
        Ok(())
    }

    fn calls_of_synced(&self, uri: &str, inserts: u64) -> anyhow::Result<Calls> {
        let trace = self.0.place().join("synced.strace");
        let program = self.0.program("contract");
        let mut strace = Command::new("strace");
        strace.args(["--follow-forks", "--decode-fds=path", "--output"]).arg(&trace);
        strace.arg("--trace=pwrite64,pwritev,pwritev2,write,fdatasync,fsync,msync");
        strace.arg(program.get_program()).args(["synced", uri, &inserts.to_string()]);
        step::command(&mut strace)?;
        let lines = std::fs::read_to_string(&trace)
            .with_context(|| format!("reading {}", trace.display()))?;
        Ok(Calls::to(uri.trim_start_matches("terrace://"), &lines))
    }

    fn stock(&self) -> anyhow::Result<()> {
        let uri = self.0.drive("stock.img", "64MiB", "1MiB")?;
        let ordinary = self.0.place().join("ordinary");
        fresh(&ordinary)?;
        let path = ordinary.join("db").display().to_string();
        let stock = |what: &str, uri: Option<&str>| {
            let mut stock = self.0.program("stock");
            self.0.load_into(&mut stock);
            stock.args([what, &path, ENTRIES]).env("TERRACE_INFO_LOGS", &ordinary);
            stock.envs(uri.map(|uri| ("TERRACE_URI", uri)));
            stock
        };
        step::command(&mut stock("put", Some(&uri)))?;
        ensure!(!Path::new(&path).exists(), "{path}: expected the database on the drive only");
        let name = path.trim_start_matches('/').replace('/', "_");
        let log = ordinary.join(format!("{name}_LOG"));
        ensure!(log.is_file(), "{}: expected the info log, found none", log.display());
        step::command(&mut stock("get", Some(&uri)))?;
        // There is none on the ordinary file system yet.
        let refused = stock("get", None).output().context("the program")?;
        ensure!(!refused.status.success(), "expected no database in {path}, found one");
        step::command(&mut stock("put", None))?;
        step::command(&mut stock("get", None))?;
        let wrong = stock("get", Some("terrace://none.img")).output().context("the program")?;
        let said = String::from_utf8_lossy(&wrong.stderr);
        ensure!(
            wrong.status.code() == Some(1) && said.starts_with("TERRACE_URI: terrace://none.img: "),
            "expected an error about TERRACE_URI, found {} and {said}",
            wrong.status
        );
        Ok(())
    }

    fn bench(&self) -> anyhow::Result<()> {
        let uri = self.0.drive("bench.img", "256MiB", "1MiB")?;
        let ordinary = self.0.place().join("bench");
        fresh(&ordinary)?;
        let mut bench = self.0.program("bench");
        let said = step::output(bench.args(["--num=5000", &uri]).arg(&ordinary))?;
        for name in [
            "fillseq",
            "readseq",
            "fillsync",
            "fillrandom",
            "overwrite",
            "readrandom",
            "readmissing",
            "deleterandom",
            "compact",
        ] {
            let lines = said.lines().filter(|line| line.split(' ').next() == Some(name)).count();
            ensure!(lines == 2, "{name}: expected two results, found {lines}:\n{said}");
        }
        Ok(())
    }

    fn kills(&self, Arguments { kills, seed }: Arguments) -> anyhow::Result<()> {
        eprintln!("{kills} kills, seed {seed}");
        // A kill leaves the host's memory as it is, so nothing has to be synced for it.
        let uri = format!("{}?unsynced", self.0.drive("kills.img", "256MiB", "1MiB")?);
        let (mut next, mut longer) = (0, 1);
        for round in 0..kills {
            let left = self.life(&uri, seed, round, next, longer).with_context(|| {
                format!(
                    "round {round}; again by: cargo xtask leveldb --kills {kills} --seed {seed}"
                )
            })?;
            // On a machine where a life ends before it has added anything, lives get longer.
            if left == next {
                longer = (longer * 2).min(32);
            }
            next = left;
        }
        ensure!(next > 0 || kills < 5, "expected operations left by {kills} lives, found none");
        Ok(())
    }

    /// Carries the history on from operation `next` until the kill; returns how many operations
    /// there are then. A life is `longer` times as long as drawn.
    fn life(
        &self,
        uri: &str,
        seed: u64,
        round: u64,
        next: u64,
        longer: u64,
    ) -> anyhow::Result<u64> {
        let of_writer =
            if round.is_multiple_of(2) { uri.to_owned() } else { format!("{uri}&written") };
        let millis = longer * (LIFE_MIN + mixed(seed, round) % (LIFE_MAX - LIFE_MIN));
        let (history, from) = (seed.to_string(), next.to_string());
        let told = self.0.killed(&["write", &of_writer, &history, &from], millis)?;
        // What the last life left was read, and so is durable.
        let told = told.or(next.checked_sub(1));
        let told = told.map_or_else(|| "-1".to_owned(), |number| number.to_string());
        let mut verify = self.0.program("contract");
        let said = step::output(verify.args(["verify", uri, &history, &told]))?;
        let left = said.trim().parse().with_context(|| format!("expected a number: {said}"))?;
        eprintln!("killed after {millis} ms: {told} was told of, {left} operations are there");
        Ok(left)
    }
}

/// Calls of the system about one image.
#[derive(Debug, PartialEq, Eq)]
struct Calls {
    /// Writes of whole blocks, which are those of the drive. The image's own notes are shorter.
    writes: u64,
    syncs: u64,
}

impl Calls {
    /// Counts the calls about the image of this path in what `strace` has written.
    fn to(path: &str, trace: &str) -> Self {
        const BLOCK: u64 = 4096;
        let about = format!("<{path}>");
        let mut calls = Self { writes: 0, syncs: 0 };
        for line in trace.lines().filter(|line| line.contains(&about)) {
            // Each line begins with the number of the thread, and the bytes end with a quote.
            let name = line.split(['(', ' ']).find(|word| word.contains(char::is_alphabetic));
            let (_, behind) = line.rsplit_once('"').unwrap_or_default();
            let length = behind.split([',', ')']).find_map(|word| word.trim().parse().ok());
            match (name, length) {
                (Some("pwrite64"), Some(0..BLOCK)) => {}
                (Some("pwrite64" | "pwritev" | "pwritev2" | "write"), _) => calls.writes += 1,
                (Some("fdatasync" | "fsync" | "msync"), _) => calls.syncs += 1,
                _ => {}
            }
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_file_and_kind() {
        let trace = "12 pwrite64(3</a/drive.img>, \"x, 1\"..., 4096, 8192) = 4096\n\
            12 pwrite64(3</a/drive.img>, \"x\", 16, 4096) = 16\n\
            13 fdatasync(3</a/drive.img>) = 0\n\
            12 pwrite64(4</a/other>, \"x\"..., 4096, 0) = 4096\n\
            12 pwrite64(3</a/drive.img>, \"x\"..., 8192, 0 <unfinished ...>\n\
            12 <... pwrite64 resumed>) = 8192\n\
            12 +++ exited with 0 +++\n";
        assert_eq!(Calls::to("/a/drive.img", trace), Calls { writes: 2, syncs: 1 });
    }
}
