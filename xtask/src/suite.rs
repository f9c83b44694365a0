//! `cargo xtask test`: the tests of the workspace, canaries included, the tests on block devices,
//! those of the plug-ins for RocksDB and LevelDB, of RocksDB for the JVM, of the package for
//! Python, of the server with clients from elsewhere, of the live page in a browser and of
//! Cassandra, those in the guest and the examples of the package `terrace`. It first installs
//! packages of the operating system that are missing.
//! Where `losetup` finds no loop device for the user, the tests on block devices are left out, and
//! a line says so. [`demo`] runs the demonstration and checks its result.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::browser;
use crate::built::Built;
use crate::clients;
use crate::cluster;
use crate::leveldb;
use crate::packages;
use crate::python;
use crate::rocksdb;
use crate::rocksdbjni;
use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// The package whose examples are programs for users to read: each runs without arguments.
const WITH_EXAMPLES: &str = "terrace";

/// Runs every test. The guest, whose machine has one processor, runs at the same time as the tests
/// of programs.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps) {
    steps.run("test: packages of the system", || packages::provide(&packages::NEEDED));
    let mut built = None;
    steps.run("test: build", || {
        built = Some(Built::all(workspace)?);
        Ok(())
    });
    rocksdb::test(workspace, steps, rocksdb::Arguments::default());
    rocksdbjni::test(workspace, steps, &rocksdbjni::Arguments::default());
    leveldb::test(workspace, steps, leveldb::Arguments::default());
    python::test(workspace, steps);
    clients::test(workspace, steps);
    browser::test(workspace, steps);
    cluster::test(workspace, steps);
    let (mut guest, output) = (xtask("guest"), workspace.target().join("guest.log"));
    steps.beside("test: zoned block devices in a guest", &mut guest, &output, |steps| {
        // A step for each program, so that the table of steps says which one is dear.
        for program in built.iter().flat_map(Built::all_tests) {
            let name = format!("test: {}", program.name());
            steps.run(&name, || step::command(&mut program.command()));
        }
        steps.run("test: documentation", || {
            let words = ["test", "--workspace", "--doc", "--quiet", "--no-fail-fast"];
            step::command(&mut workspace.cargo(words))
        });
        block_devices(workspace, steps);
        steps.run("test: examples", || examples(workspace));
    });
}

/// A chore in a process of its own. The build of all tests may have replaced the program that runs,
/// so it is found by the name that it was started by.
fn xtask(chore: &str) -> Command {
    let mut command = Command::new(std::env::args_os().next().unwrap_or_else(|| "xtask".into()));
    command.arg(chore);
    command
}

/// Runs the tests that need a block device, where this host lets the user make one out of a file.
fn block_devices(workspace: &Workspace, steps: &mut Steps) {
    const NAME: &str = "test: block devices of the host";
    let found = Command::new("losetup").arg("-f").output();
    if !found.is_ok_and(|found| found.status.success()) {
        eprintln!("== {NAME}: left out, `losetup -f` finds no loop device that this user may use");
        return;
    }
    steps.run(NAME, || {
        let built = Built::all(workspace)?;
        let only = ["block_devices", "--ignored", "--quiet"];
        step::command(Command::new(built.tests("terrace-zone")?).args(only))
    });
}

/// Runs every example, so that none rots.
fn examples(workspace: &Workspace) -> anyhow::Result<()> {
    let built = Built::all(workspace)?;
    let examples = built.examples(WITH_EXAMPLES);
    ensure!(!examples.is_empty(), "{WITH_EXAMPLES}: expected examples, found none");
    examples.into_iter().try_for_each(|(_, path)| step::command(&mut Command::new(path)))
}

/// Runs the demonstration in a release build and checks its own account of itself.
pub(crate) fn demo(workspace: &Workspace, steps: &mut Steps) {
    steps.run("demo", || {
        let words = ["run", "--quiet", "--release", "--", "demo", "--json"];
        let said = step::output(&mut workspace.cargo(words))?;
        check_demo(said.lines().last().unwrap_or_default())
    });
}

fn check_demo(line: &str) -> anyhow::Result<()> {
    let said: Value = serde_json::from_str(line)
        .with_context(|| format!("expected the last line to be a JSON object, found `{line}`"))?;
    let files = said["files"].as_u64().unwrap_or(0);
    ensure!(files > 0, "files: expected at least one, found {}", said["files"]);
    for (field, expected) in [
        ("verified", Value::from(files)),
        ("synced_lost", Value::from(0)),
        ("check", Value::from("clean")),
    ] {
        ensure!(said[field] == expected, "{field}: expected {expected}, found {}", said[field]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_that_lost_something_fails() {
        let good = r#"{"files": 3, "verified": 3, "synced_lost": 0, "check": "clean"}"#;
        check_demo(good).unwrap();
        for (from, to, what) in [
            ("\"verified\": 3", "\"verified\": 2", "verified: expected 3, found 2"),
            ("\"synced_lost\": 0", "\"synced_lost\": 1", "synced_lost: expected 0, found 1"),
            ("clean", "dirty", "check: expected \"clean\", found \"dirty\""),
            ("\"files\": 3", "\"files\": 0", "files: expected at least one, found 0"),
        ] {
            let error = check_demo(&good.replace(from, to)).unwrap_err();
            assert_eq!(error.to_string(), what);
        }
        assert!(check_demo("").is_err());
    }
}
