//! The chore `cargo xtask guest`: builds, packs, boots. The head of [`guest`](super) has the steps.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::image::Image;
use super::kernel::Kernel;
use super::machine::Machine;
use super::resets;
use crate::built::Built;
use crate::packages;
use crate::plugin::Plugin;
use crate::workspace::Workspace;

/// Seconds that a reset of the machine may take, with the boot and the writes that follow.
const RESET_MAX: u32 = 120;

/// Arguments of `cargo xtask guest`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Seconds after which a machine is stopped, and the run has failed. One that is reset has two
    /// minutes more for each reset
    #[arg(long, default_value_t = Self::default().timeout)]
    timeout: u32,
    /// How often the machine is reset under load
    #[arg(long, default_value_t = Self::default().rounds)]
    rounds: u32,
    /// Decides the moments of the resets
    #[arg(long, default_value_t = Self::default().seed)]
    seed: u64,
    /// Instead of the tests: the processor time of synced inserts of RocksDB on zones, and on ext4
    #[arg(long, default_value_t = Self::default().synced)]
    synced: bool,
    /// The metapackage of the kernel
    #[arg(long, default_value_t = Self::default().kernel)]
    kernel: String,
}

impl Default for Arguments {
    fn default() -> Self {
        let kernel = "linux-image-cloud-amd64".to_owned();
        Self { timeout: 1800, rounds: 2, seed: 1, synced: false, kernel }
    }
}

impl Arguments {
    /// Seconds after which a machine that is reset is stopped.
    fn timeout_of_resets(&self) -> u32 {
        self.timeout.saturating_add(self.rounds.saturating_mul(RESET_MAX))
    }
}

/// Runs the guest.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let (expected, found) = ("x86_64", std::env::consts::ARCH);
    ensure!(found == expected, "the guest: expected a host of {expected}, found {found}");
    packages::provide(&packages::NEEDED)?;
    let folder = workspace.target().join("guest");
    let kernel = Kernel::provide(&arguments.kernel, &folder.join("kernel"))?;
    let built = Built::all(workspace)?;
    let root = workspace.root().join("guest");
    let mut image = Image::new(&folder.join("root"))?;
    image.add_file(&root.join("init"), "init")?;
    image.add_file(&root.join("work"), "guest/work")?;
    image.add_file(&root.join("resets"), "guest/resets")?;
    image.add_file(&root.join("synced"), "guest/synced")?;
    image.add_program(built.tests("terrace-zone")?, "guest/zone_tests")?;
    image.add_program(built.tests("terrace")?, "guest/store_tests")?;
    image.add_program(built.tests("terrace-lab")?, "guest/model_tests")?;
    image.add_program(built.terrace()?, "guest/terrace")?;
    let append = built.examples("terrace-zone").into_iter().find(|(name, _)| *name == "append");
    let (_, append) = append.context("cargo: expected an example of the name append")?;
    image.add_program(append, "guest/append")?;
    let plugin = Plugin::debug(workspace, "rocksdb");
    plugin.build(&["all"])?;
    image.add_program(&plugin.shared_object(), "guest/libterrace_rocksdb.so")?;
    for tool in ["db_bench", "ldb", "sst_dump"] {
        image.add_program(&find(tool)?, &format!("guest/{tool}"))?;
    }
    image.add_program(&find("busybox")?, "bin/busybox")?;
    image.add_program(Path::new(packages::DMSETUP), "bin/dmsetup")?;
    image.add_program(Path::new(packages::MKE2FS), "guest/mke2fs")?;
    image.add_modules(&kernel)?;
    let archive = folder.join("guest.cpio");
    image.pack(&archive)?;
    let timeout = arguments.timeout;
    let mut machine = Machine { folder, kernel: kernel.image, archive, timeout };
    if arguments.synced {
        return machine.run_synced();
    }
    machine.run()?;
    machine.timeout = arguments.timeout_of_resets();
    resets::run(&machine, arguments.rounds, arguments.seed)
}

/// The path of a program that is on the search path.
fn find(program: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    let found = places.find(|place| place.is_file());
    found.with_context(|| format!("{program}: expected it on the search path, found none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_resets_have_more_time() {
        let of = |rounds| Arguments { rounds, ..Arguments::default() }.timeout_of_resets();
        assert_eq!(of(0), Arguments::default().timeout);
        assert_eq!(of(200) - of(2), 198 * RESET_MAX);
        assert_eq!(of(u32::MAX), u32::MAX);
    }
}
