//! The chore `cargo xtask guest`: builds, packs, boots. The head of [`guest`](super) has the steps.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::image::Image;
use super::kernel::Kernel;
use super::machine::Machine;
use super::resets;
use crate::packages;
use crate::step;
use crate::workspace::Workspace;

/// Arguments of `cargo xtask guest`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Seconds after which the machine is stopped, and the run has failed
    #[arg(long, default_value_t = 900)]
    timeout: u32,
    /// How often the machine is reset under load
    #[arg(long, default_value_t = 2)]
    rounds: u32,
    /// Decides the moments of the resets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The metapackage of the kernel
    #[arg(long, default_value = "linux-image-cloud-amd64")]
    kernel: String,
}

impl Default for Arguments {
    fn default() -> Self {
        let kernel = "linux-image-cloud-amd64".to_owned();
        Self { timeout: 900, rounds: 2, seed: 1, kernel }
    }
}

/// Runs the guest.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let (expected, found) = ("x86_64", std::env::consts::ARCH);
    ensure!(found == expected, "the guest: expected a host of {expected}, found {found}");
    packages::provide(&packages::NEEDED)?;
    let folder = workspace.target().join("guest");
    let kernel = Kernel::provide(&arguments.kernel, &folder.join("kernel"))?;
    let zone_tests = ["test", "--package", "terrace-zone", "--test", "it", "--no-run"];
    let zone_tests = executable(workspace, &zone_tests, "it")?;
    let store_tests = ["test", "--package", "terrace", "--test", "it", "--no-run"];
    let store_tests = executable(workspace, &store_tests, "it")?;
    let program = ["build", "--package", "terrace-cli", "--bin", "terrace"];
    let program = executable(workspace, &program, "terrace")?;
    let root = workspace.root().join("guest");
    let mut image = Image::new(&folder.join("root"))?;
    image.add_file(&root.join("init"), "init")?;
    image.add_file(&root.join("work"), "guest/work")?;
    image.add_file(&root.join("resets"), "guest/resets")?;
    image.add_program(&zone_tests, "guest/zone_tests")?;
    image.add_program(&store_tests, "guest/store_tests")?;
    image.add_program(&program, "guest/terrace")?;
    image.add_program(&find("busybox")?, "bin/busybox")?;
    image.add_modules(&kernel)?;
    let archive = folder.join("guest.cpio");
    image.pack(&archive)?;
    let machine = Machine { folder, kernel: kernel.image, archive, timeout: arguments.timeout };
    machine.run()?;
    resets::run(&machine, arguments.rounds, arguments.seed)
}

/// Builds a target and gives the path of its program.
fn executable(workspace: &Workspace, words: &[&str], target: &str) -> anyhow::Result<PathBuf> {
    let json = ["--quiet", "--message-format=json"];
    let words = words.iter().chain(&json).copied();
    let messages = step::output(&mut workspace.cargo(words))?;
    let found = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let path = found
        .filter(|message| message["target"]["name"] == target)
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back();
    path.with_context(|| format!("cargo: expected a program of the target {target}, found none"))
}

/// The path of a program that is on the search path.
fn find(program: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    let found = places.find(|place| place.is_file());
    found.with_context(|| format!("{program}: expected it on the search path, found none"))
}
