//! Tests of the RocksDB plug-in with the distribution's RocksDB: library, `db_bench`, `ldb` and
//! `sst_dump`. Each works on an emulated drive of its own that allows 14 open zones.
//!
//! 1. The C API, the program `terrace`, the plug-in and its contract program are built.
//! 2. The contract program makes every call of the file system, and a checkpoint and a backup,
//!    which it opens again. It fills a drive, and goes on after deleting.
//! 3. `db_bench` fills, overwrites and reads, with the plug-in by LD_PRELOAD. The reads must find
//!    all that was written. Then `ldb checkconsistency` and `sst_dump --command=verify` must find
//!    nothing wrong.
//! 4. A process that writes is killed, in several rounds. After each, the database must open, with
//!    all synced writes, and `ldb checkconsistency` must find nothing wrong. In every second round
//!    the log is written out at each write, and all writes that have returned must be there.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// How often the writing process is killed.
const KILLS: usize = 6;
/// Entries of the large fills.
const ENTRIES: u32 = 50_000;
/// Entries of the fill that syncs each.
const SYNCED: u32 = 1000;
/// Options of `db_bench` for a small database in which compactions are always under way.
const SMALL: [&str; 5] = [
    "--value_size=400",
    "--write_buffer_size=2097152",
    "--target_file_size_base=2097152",
    "--max_bytes_for_level_base=8388608",
    "--stats_interval=0",
];

/// Builds the plug-in and runs all of it.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps) {
    let plugin = Plugin { workspace, place: workspace.target().join("rocksdb") };
    let mut built = false;
    steps.run("test: RocksDB plug-in, build", || {
        plugin.build()?;
        built = true;
        Ok(())
    });
    if built {
        steps.run("test: RocksDB plug-in, contract", || plugin.contract());
        steps.run("test: RocksDB plug-in, db_bench, ldb and sst_dump", || plugin.bench());
        steps.run("test: RocksDB plug-in, kill -9", || plugin.kills());
    }
}

/// The plug-in, built.
struct Plugin<'a> {
    workspace: &'a Workspace,
    /// Where it is built, and where the drives are.
    place: PathBuf,
}

impl Plugin<'_> {
    fn build(&self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.place)
            .with_context(|| format!("making {}", self.place.display()))?;
        let words = ["build", "--quiet", "--package", "terrace-c", "--package", "terrace-cli"];
        step::command(&mut self.workspace.cargo(words))?;
        let libraries = self.built();
        let assign = |name: &str, path: &Path| format!("{name}={}", path.display());
        step::command(
            Command::new("make")
                .arg("--directory")
                .arg(self.workspace.root().join("bindings/rocksdb"))
                .args(["--silent", "all", "contract"])
                .arg(assign("TERRACE", &libraries))
                .arg(assign("OUT", &self.place)),
        )
    }

    /// The directory of what cargo builds.
    fn built(&self) -> PathBuf {
        self.workspace.target().join("debug")
    }

    /// A fresh drive, formatted for files; its URI.
    fn drive(&self, name: &str, size: &str, zone_size: &str) -> anyhow::Result<String> {
        let image = self.place.join(name);
        if image.exists() {
            std::fs::remove_file(&image)
                .with_context(|| format!("removing {}", image.display()))?;
        }
        let path = image.display().to_string();
        let terrace = || Command::new(self.built().join("terrace"));
        let create = ["device", "create", &path, "--size", size, "--zone-size", zone_size];
        let limits = ["--max-open", "14", "--max-active", "14"];
        step::command(terrace().args(create).args(limits))?;
        step::command(terrace().args(["format", &path, "--files"]))?;
        Ok(format!("terrace://{path}"))
    }

    /// One of the distribution's tools, with the plug-in loaded before it.
    fn tool(&self, name: &str, uri: &str) -> Command {
        let mut tool = Command::new(name);
        tool.env("LD_PRELOAD", self.place.join("libterrace_rocksdb.so"));
        tool.arg(format!("--fs_uri={uri}"));
        tool
    }

    fn contract_program(&self) -> Command {
        Command::new(self.place.join("terrace_rocksdb_contract"))
    }

    fn contract(&self) -> anyhow::Result<()> {
        let uri = self.drive("contract.img", "256MiB", "1MiB")?;
        step::command(self.contract_program().args(["files", &uri]))?;
        step::command(self.contract_program().args(["copies", &uri]))?;
        let uri = self.drive("full.img", "64MiB", "1MiB")?;
        step::command(self.contract_program().args(["full", &format!("{uri}?unsynced")]))
    }

    fn bench(&self) -> anyhow::Result<()> {
        let uri = self.drive("bench.img", "1GiB", "4MiB")?;
        let run = |db: &str, benchmarks: &str, entries: u32| {
            let mut tool = self.tool("db_bench", &uri);
            tool.arg(format!("--db={db}")).arg(format!("--benchmarks={benchmarks}"));
            step::output(tool.arg(format!("--num={entries}")).args(SMALL))
        };
        let said = run("/sequential", "fillseq,readrandom,readseq", ENTRIES)?;
        found_all(&said, ENTRIES)?;
        let benchmarks = "fillrandom,overwrite,readrandom,readseq,seekrandom,deleterandom,compact";
        let said = run("/random", benchmarks, ENTRIES)?;
        for name in benchmarks.split(',') {
            result_of(&said, name)?;
        }
        result_of(&run("/synced", "fillsync", SYNCED)?, "fillsync")?;
        // Too little for a table: its entries are in the log.
        self.check_consistency(&uri, "/synced")?;
        self.check(&uri, "/sequential")?;
        self.check(&uri, "/random")
    }

    /// Has RocksDB's tools look for anything that is wrong.
    fn check(&self, uri: &str, db: &str) -> anyhow::Result<()> {
        self.check_consistency(uri, db)?;
        let mut dump = self.tool("sst_dump", uri);
        let said = step::output(dump.arg(format!("--file={db}")).arg("--command=verify"))?;
        let (tables, sound) =
            (said.matches("Process ").count(), said.matches("The file is ok").count());
        ensure!(tables > 0, "{db}: expected tables, found none:\n{said}");
        ensure!(tables == sound, "{db}: expected {tables} sound tables, found {sound}:\n{said}");
        Ok(())
    }

    fn check_consistency(&self, uri: &str, db: &str) -> anyhow::Result<()> {
        let mut ldb = self.tool("ldb", uri);
        let said = step::output(ldb.arg(format!("--db={db}")).arg("checkconsistency"))?;
        ensure!(said.trim() == "OK", "{db}: ldb: expected OK, found {said}");
        Ok(())
    }

    fn kills(&self) -> anyhow::Result<()> {
        let uri = self.drive("kills.img", "256MiB", "1MiB")?;
        let mut next = 0;
        for round in 0..KILLS {
            let written = format!("{uri}?written");
            let of_writer = if round % 2 == 0 { &uri } else { &written };
            let told = self.write_until_killed(of_writer, next, 100 + 173 * round)?.to_string();
            let said = step::output(self.contract_program().args(["verify", &uri, &told]))?;
            next = said.trim().parse().with_context(|| format!("expected a number: {said}"))?;
            self.check_consistency(&uri, "/db")?;
        }
        self.check(&uri, "/db")
    }

    /// Writes from the number `from` on, kills the process after it has told of so many writes, and
    /// returns the last that it has told of.
    fn write_until_killed(&self, uri: &str, from: u64, writes: usize) -> anyhow::Result<u64> {
        let mut program = self.contract_program();
        let program = program.args(["write", uri, &from.to_string()]).stdout(Stdio::piped());
        let mut child = program.stdin(Stdio::null()).spawn().context("the program that writes")?;
        let told = child.stdout.take().context("its output")?;
        let mut last = None;
        for (index, line) in BufReader::new(told).lines().enumerate() {
            // The last line may be cut.
            if let Ok(number) = line?.parse() {
                last = last.max(Some(number));
            }
            if index == writes {
                child.kill().context("killing it")?;
            }
        }
        let status = child.wait()?;
        ensure!(status.code().is_none(), "expected a process that was killed, found {status}");
        last.context("expected writes, found none")
    }
}

/// The line of a benchmark's result.
fn result_of<'a>(said: &'a str, name: &str) -> anyhow::Result<&'a str> {
    // Progress is overwritten by returns of the carriage.
    let lines = said.split(['\n', '\r']);
    let of_name = |line: &&str| line.split(':').next().is_some_and(|word| word.trim() == name);
    let mut results = lines.filter(of_name).filter(|line| line.contains("micros/op"));
    results.next().with_context(|| format!("expected a result of {name}, found none:\n{said}"))
}

/// Checks that the reads found all entries of the fill before them.
fn found_all(said: &str, entries: u32) -> anyhow::Result<()> {
    for (name, expected) in [
        ("readrandom", format!("({entries} of {entries} found)")),
        ("readseq", format!(" {entries} operations;")),
    ] {
        let found = result_of(said, name)?;
        ensure!(found.contains(&expected), "expected {expected}, found {found}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_miss_an_entry_are_noticed() {
        let good = "... finished 100 ops\rDB path: [/db]\n\
            readrandom   :      20.9 micros/op 47 ops/sec; (100 of 100 found)\n\
            readseq      :       2.2 micros/op 448 ops/sec 0.2 seconds 100 operations;\n";
        found_all(good, 100).unwrap();
        assert!(found_all(&good.replace("(100 of", "(99 of"), 100).is_err());
        assert!(found_all(&good.replace("readseq", "readsome"), 100).is_err());
        assert!(found_all(&good.replace(" 100 operations", " 98 operations"), 100).is_err());
    }
}
