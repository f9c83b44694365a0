//! The RocksDB plug-in, built, and its tests but for the kills.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::kills::Arguments;
use crate::built::Built;
use crate::step::{self, Steps};
use crate::workspace::Workspace;

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

/// Builds the plug-in and runs all of it, with as many kills as are asked for.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps, kills: Arguments) {
    let plugin = Plugin::debug(workspace);
    let mut built = false;
    steps.run("test: RocksDB plug-in, build", || {
        plugin.build()?;
        built = true;
        Ok(())
    });
    if built {
        steps.run("test: RocksDB plug-in, contract", || plugin.contract());
        steps.run("test: RocksDB plug-in, db_bench, ldb and sst_dump", || plugin.bench());
        steps.run("test: RocksDB plug-in, a backup on other zones", || plugin.moves());
        steps.run("test: RocksDB plug-in, kill -9", || kills.run(&plugin));
    }
}

/// The plug-in, built.
pub(super) struct Plugin<'a> {
    workspace: &'a Workspace,
    /// Where it is built, and where the drives are.
    pub(super) place: PathBuf,
    is_release: bool,
    /// The directory of the C API and of the program `terrace`.
    built: PathBuf,
}

impl<'a> Plugin<'a> {
    /// In the build of all tests.
    fn debug(workspace: &'a Workspace) -> Self {
        let target = workspace.target();
        let (place, built) = (target.join("rocksdb"), target.join("debug"));
        Self { workspace, place, is_release: false, built }
    }

    /// As it is used.
    pub(super) fn release(workspace: &'a Workspace) -> Self {
        let target = workspace.target();
        let (place, built) = (target.join("rocksdb-release"), target.join("release"));
        Self { workspace, place, is_release: true, built }
    }

    pub(super) fn build(&self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.place)
            .with_context(|| format!("making {}", self.place.display()))?;
        if self.is_release {
            let words = ["build", "--quiet", "--release"];
            let packages = ["--package", "terrace-c", "--package", "terrace-cli"];
            step::command(self.workspace.cargo(words).args(packages))?;
        } else {
            Built::all(self.workspace)?;
        }
        let assign = |name: &str, path: &Path| format!("{name}={}", path.display());
        step::command(
            Command::new("make")
                .arg("--directory")
                .arg(self.workspace.root().join("bindings/rocksdb"))
                .args(["--silent", "--jobs=2", "all", "contract"])
                .arg(assign("TERRACE", &self.built))
                .arg(assign("OUT", &self.place)),
        )
    }

    /// A fresh drive, formatted for files; its URI.
    pub(super) fn drive(&self, name: &str, size: &str, zone_size: &str) -> anyhow::Result<String> {
        let shape = ["--zone-size", zone_size, "--max-open", "14", "--max-active", "14"];
        self.drive_of(name, size, &shape)
    }

    /// The same, of any shape.
    fn drive_of(&self, name: &str, size: &str, shape: &[&str]) -> anyhow::Result<String> {
        let image = self.place.join(name);
        if image.exists() {
            std::fs::remove_file(&image)
                .with_context(|| format!("removing {}", image.display()))?;
        }
        let path = image.display().to_string();
        let terrace = || Command::new(self.built.join("terrace"));
        let create = ["device", "create", &path, "--size", size];
        step::command(terrace().args(create).args(shape))?;
        step::command(terrace().args(["format", &path, "--files"]))?;
        Ok(format!("terrace://{path}"))
    }

    /// One of the distribution's tools, with the plug-in loaded before it.
    pub(super) fn tool(&self, name: &str, uri: &str) -> Command {
        let mut tool = Command::new(name);
        tool.env("LD_PRELOAD", self.place.join("libterrace_rocksdb.so"));
        tool.arg(format!("--fs_uri={uri}"));
        tool
    }

    pub(super) fn contract_program(&self) -> Command {
        Command::new(self.place.join("terrace_rocksdb_contract"))
    }

    fn contract(&self) -> anyhow::Result<()> {
        let uri = self.drive("contract.img", "256MiB", "1MiB")?;
        step::command(self.contract_program().args(["files", &uri]))?;
        step::command(self.contract_program().args(["copies", &uri]))?;
        step::command(self.contract_program().args(["writes", &uri]))?;
        let ordinary = self.place.join("logs");
        std::fs::create_dir_all(&ordinary)
            .with_context(|| format!("making {}", ordinary.display()))?;
        step::command(self.contract_program().args(["logs", &uri]).arg(&ordinary))?;
        let zones = ["--zone-size", "1MiB", "--conventional", "8"];
        for (name, shape) in [("conventional.img", &zones[..]), ("plain.img", &["--kind", "plain"])]
        {
            let uri = self.drive_of(name, "128MiB", shape)?;
            step::command(self.contract_program().args(["files", &uri]))?;
            step::command(self.contract_program().args(["copies", &uri]))?;
        }
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
        let benchmarks = "fillrandom,overwrite,readrandom,readseq,seekrandom,readwhilewriting,\
                          deleterandom,compact";
        let said = run("/random", benchmarks, ENTRIES)?;
        for name in benchmarks.split(',') {
            result_of(&said, name)?;
        }
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
        let backup = self.place.join("backup");
        if backup.exists() {
            std::fs::remove_dir_all(&backup)
                .with_context(|| format!("removing {}", backup.display()))?;
        }
        let terrace = |words: [&str; 2], image: &str| {
            let mut terrace = Command::new(self.built.join("terrace"));
            step::command(terrace.args(words).arg(self.place.join(image)).arg(&backup))
        };
        terrace(["fs", "backup"], "bench.img")?;
        let uri = self.drive("moved.img", "1GiB", "16MiB")?;
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
