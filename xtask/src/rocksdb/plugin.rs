//! The tests of the RocksDB plug-in but for the kills.

use std::process::Command;

use anyhow::{Context, ensure};

use super::kills::Arguments;
use crate::plugin::{Plugin, fresh};
use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// The header with the methods that a file system has.
const HEADER: &str = "/usr/include/rocksdb/file_system.h";
/// Seeds of random calls.
const DIFFERS: std::ops::Range<u64> = 1..6;
/// Entries of the large fills.
const ENTRIES: u32 = 50_000;
/// Entries of the fill that syncs each.
const SYNCED: u32 = 1000;
/// Options of `db_bench` for a small database in which compactions are always running.
const SMALL: [&str; 5] = [
    "--value_size=400",
    "--write_buffer_size=2097152",
    "--target_file_size_base=2097152",
    "--max_bytes_for_level_base=8388608",
    "--stats_interval=0",
];

/// Builds the plug-in and runs all of it, with as many kills as are asked for.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps, kills: Arguments) {
    let tests = Tests(Plugin::debug(workspace, "rocksdb"));
    let mut built = false;
    steps.run("test: RocksDB plug-in, build", || {
        tests.0.build(&["all", "contract"])?;
        built = true;
        Ok(())
    });
    if built {
        steps.run("test: RocksDB plug-in, contract", || tests.contract());
        steps.run("test: RocksDB plug-in, db_bench, ldb and sst_dump", || tests.bench());
        steps.run("test: RocksDB plug-in, a backup on other zones", || tests.moves());
        steps.run("test: RocksDB plug-in, kill -9", || kills.run(&tests));
    }
}

/// The plug-in, under test.
pub(super) struct Tests<'a>(pub(super) Plugin<'a>);

impl Tests<'_> {
    /// One of the distribution's tools, with the plug-in loaded before it.
    pub(super) fn tool(&self, name: &str, uri: &str) -> Command {
        let mut tool = Command::new(name);
        self.0.load_into(&mut tool);
        tool.arg(format!("--fs_uri={uri}"));
        tool
    }

    fn contract(&self) -> anyhow::Result<()> {
        let uri = self.0.drive("contract.img", "256MiB", "1MiB")?;
        step::command(self.0.program("contract").args(["files", &uri]))?;
        step::command(self.0.program("contract").args(["methods", &uri, HEADER]))?;
        for part in ["copies", "writes", "deletion", "plain"] {
            step::command(self.0.program("contract").args([part, &uri]))?;
        }
        let ordinary = self.0.place().join("logs");
        std::fs::create_dir_all(&ordinary)
            .with_context(|| format!("making {}", ordinary.display()))?;
        step::command(self.0.program("contract").args(["logs", &uri]).arg(&ordinary))?;
        let zones = ["--zone-size", "1MiB", "--conventional", "8"];
        for (name, shape) in [("conventional.img", &zones[..]), ("plain.img", &["--kind", "plain"])]
        {
            let uri = self.0.drive_of(name, "128MiB", shape)?;
            step::command(self.0.program("contract").args(["files", &uri]))?;
            step::command(self.0.program("contract").args(["copies", &uri]))?;
        }
        self.differs()?;
        let uri = self.0.drive("logged.img", "256MiB", "1MiB")?;
        step::command(self.0.program("contract").args(["checkpoints", &uri]))?;
        let uri = self.0.drive("full.img", "64MiB", "1MiB")?;
        step::command(self.0.program("contract").args(["full", &format!("{uri}?unsynced")]))
    }

    /// Random calls, on a drive, on one without zones and in a directory, and the same calls of
    /// RocksDB's own file system in another directory. Nearly all of the time is that of syncs, so
    /// the seeds run at the same time, and those of images do not reach the disk.
    fn differs(&self) -> anyhow::Result<()> {
        std::thread::scope(|scope| {
            let seeds: Vec<_> =
                DIFFERS.map(|seed| scope.spawn(move || self.differs_of(seed))).collect();
            seeds.into_iter().try_for_each(|seed| seed.join().expect("a seed that does not panic"))
        })
    }

    fn differs_of(&self, seed: u64) -> anyhow::Result<()> {
        let directory = self.0.place().join(format!("differs-{seed}"));
        let name = |kind: &str| format!("differs-{kind}-{seed}.img");
        let zones = self.0.drive(&name("zones"), "128MiB", "1MiB")?;
        let plain = self.0.drive_of(&name("plain"), "128MiB", &["--kind", "plain"])?;
        fresh(&directory)?;
        fresh(&directory.join("store"))?;
        let inside = format!("terrace://{}", directory.join("store").display());
        for (number, uri) in [zones, plain, inside].iter().enumerate() {
            let model = directory.join(number.to_string());
            let mut program = self.0.program("contract");
            program.args(["differs", &format!("{uri}?unsynced"), &seed.to_string()]).arg(&model);
            step::command(&mut program).with_context(|| format!("seed {seed}, {uri}"))?;
            // What other programs see of the files.
            let backup = directory.join(format!("{number}-backup"));
            let image = uri.trim_start_matches("terrace://");
            step::command(self.0.terrace().args(["fs", "backup", image]).arg(&backup))?;
            let found = backup.join("files/differs");
            step::command(Command::new("diff").arg("-r").arg(&found).arg(&model))
                .with_context(|| format!("seed {seed}, {uri}, backup"))?;
        }
        Ok(())
    }

    fn bench(&self) -> anyhow::Result<()> {
        let uri = self.0.drive("bench.img", "1GiB", "4MiB")?;
        let run = |db: &str, benchmarks: &str, entries: u32| {
            let mut tool = self.tool("db_bench", &uri);
            tool.arg(format!("--db={db}")).arg(format!("--benchmarks={benchmarks}"));
            step::output(tool.arg(format!("--num={entries}")).args(SMALL))
        };
        let said = run("/sequential", "fillseq,readrandom,readseq", ENTRIES)?;
        found_all(&said, ENTRIES)?;
        let benchmarks = "fillrandom,overwrite,readrandom,readseq,seekrandom,readwhilewriting,\
                          deleterandom,compact";
        let said = run("/random", benchmarks, ENTRIES)?;
        for name in benchmarks.split(',') {
            result_of(&said, name)?;
        }
        let mut ahead = self.tool("db_bench", &uri);
        ahead.args(["--db=/random", "--benchmarks=seekrandom", "--use_existing_db=1"]);
        ahead.args(["--async_io=1", "--seek_nexts=1000", "--num=200", "--stats_interval=0"]);
        result_of(&step::output(&mut ahead)?, "seekrandom")?;
        result_of(&run("/synced", "fillsync", SYNCED)?, "fillsync")?;
        // Too little for a table: its entries are in the log.
        self.check_consistency(&uri, "/synced")?;
        self.check(&uri, "/sequential")?;
        self.check(&uri, "/random")?;
        self.looks_only(&uri, "/random")
    }

    /// A tool that reads leaves the image as it is: it recovers nothing.
    fn looks_only(&self, uri: &str, db: &str) -> anyhow::Result<()> {
        let image = uri.strip_prefix("terrace://").context("expected a URI")?;
        let changed = || std::fs::metadata(image).and_then(|found| found.modified());
        let before = changed()?;
        let mut dump = self.tool("sst_dump", &format!("{uri}?read_only"));
        step::output(dump.arg(format!("--file={db}")).arg("--command=verify"))?;
        ensure!(changed()? == before, "{image}: expected no write by a tool that reads");
        Ok(())
    }

    /// Moves the databases of `bench` to a drive of another shape.
    fn moves(&self) -> anyhow::Result<()> {
        let backup = self.0.place().join("backup");
        if backup.exists() {
            std::fs::remove_dir_all(&backup)
                .with_context(|| format!("removing {}", backup.display()))?;
        }
        let terrace = |words: [&str; 2], image: &str| {
            let mut terrace = self.0.terrace();
            step::command(terrace.args(words).arg(self.0.place().join(image)).arg(&backup))
        };
        terrace(["fs", "backup"], "bench.img")?;
        let uri = self.0.drive("moved.img", "1GiB", "16MiB")?;
        terrace(["fs", "restore"], "moved.img")?;
        self.check_consistency(&uri, "/synced")?;
        self.check(&uri, "/sequential")?;
        self.check(&uri, "/random")
    }

    /// Has RocksDB's tools look for anything that is wrong.
    pub(super) fn check(&self, uri: &str, db: &str) -> anyhow::Result<()> {
        self.check_consistency(uri, db)?;
        let mut dump = self.tool("sst_dump", uri);
        let said = step::output(dump.arg(format!("--file={db}")).arg("--command=verify"))?;
        let (tables, sound) =
            (said.matches("Process ").count(), said.matches("The file is ok").count());
        ensure!(tables > 0, "{db}: expected tables, found none:\n{said}");
        ensure!(tables == sound, "{db}: expected {tables} sound tables, found {sound}:\n{said}");
        Ok(())
    }

    pub(super) fn check_consistency(&self, uri: &str, db: &str) -> anyhow::Result<()> {
        let mut ldb = self.tool("ldb", uri);
        let said = step::output(ldb.arg(format!("--db={db}")).arg("checkconsistency"))?;
        ensure!(said.trim() == "OK", "{db}: ldb: expected OK, found {said}");
        Ok(())
    }
}

/// The line of a benchmark's result.
pub(super) fn result_of<'a>(said: &'a str, name: &str) -> anyhow::Result<&'a str> {
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
