//! [`Image`]: what the guest finds in its memory when it boots: an archive in the format of `cpio`,
//! made from a folder.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::kernel::Kernel;
use crate::step;

/// Modules that the guest loads, with their parameters. `init` makes the devices of `null_blk`.
const MODULES: [(&str, &str); 8] = [
    ("virtio_pci", ""),
    ("virtio_blk", ""),
    ("configfs", ""),
    ("null_blk", "nr_devices=0"),
    ("sd_mod", ""),
    ("ext4", ""),
    // Devices whose writes fail or vanish.
    ("dm_flakey", ""),
    // An SMR disk: 96 zones of 1 MiB, four of them conventional, blocks of 4 KiB.
    (
        "scsi_debug",
        "dev_size_mb=96 zbc=managed zone_size_mb=1 zone_nr_conv=4 zone_max_open=8 sector_size=4096 \
         delay=0",
    ),
];

/// The folder of an image that is being made.
pub(super) struct Image {
    root: PathBuf,
    libraries: BTreeSet<PathBuf>,
}

impl Image {
    /// An empty image.
    pub(super) fn new(root: &Path) -> anyhow::Result<Self> {
        if root.exists() {
            std::fs::remove_dir_all(root)?;
        }
        std::fs::create_dir_all(root)?;
        Ok(Self { root: root.to_owned(), libraries: BTreeSet::new() })
    }

    /// Adds a file, which can be run.
    pub(super) fn add_file(&mut self, from: &Path, to: &str) -> anyhow::Result<()> {
        let to = self.root.join(to);
        std::fs::create_dir_all(to.parent().context("a file in a folder")?)?;
        let copied = std::fs::copy(from, &to);
        copied.with_context(|| format!("{}: expected a file to copy", from.display()))?;
        Ok(std::fs::set_permissions(&to, Permissions::from_mode(0o755))?)
    }

    /// Adds a program without its symbols, and the libraries that it is linked with.
    pub(super) fn add_program(&mut self, from: &Path, to: &str) -> anyhow::Result<()> {
        self.add_file(from, to)?;
        step::command(Command::new("strip").arg(self.root.join(to)))?;
        let linked = Command::new("ldd").arg(from).output().context("ldd: expected to start")?;
        // It fails for a program that needs no libraries.
        for library in libraries(&String::from_utf8_lossy(&linked.stdout)) {
            if self.libraries.insert(library.clone()) {
                let to = library.strip_prefix("/")?.to_string_lossy().into_owned();
                self.add_file(&library, &to)?;
            }
        }
        Ok(())
    }

    /// Adds modules, and the list in the order in which they are to be loaded.
    pub(super) fn add_modules(&mut self, kernel: &Kernel) -> anyhow::Result<()> {
        let mut list = String::new();
        for (name, path) in kernel.in_order(&MODULES.map(|(name, _)| name))? {
            self.add_file(&path, &format!("modules/{name}.ko"))?;
            let parameters = MODULES.iter().find(|(wanted, _)| *wanted == name);
            list += &format!("{name} {}\n", parameters.map_or("", |(_, parameters)| parameters));
        }
        Ok(std::fs::write(self.root.join("modules/order"), list)?)
    }

    /// Makes the archive.
    pub(super) fn pack(&self, archive: &Path) -> anyhow::Result<()> {
        let line = "find . | cpio --quiet --create --format=newc --owner=0:0 >\"$0\"";
        step::command(Command::new("sh").current_dir(&self.root).args(["-c", line]).arg(archive))
    }
}

/// The paths in the output of `ldd`.
fn libraries(said: &str) -> Vec<PathBuf> {
    let paths = said.lines().filter_map(|line| {
        let line = line.split(" => ").last()?.trim();
        line.starts_with('/').then(|| line.split(' ').next())?
    });
    paths.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_the_paths_that_ldd_prints() {
        let said = "\tlinux-vdso.so.1 (0x00007ffe)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(libraries(said), expected.map(PathBuf::from));
        assert!(libraries("\tnot a dynamic executable\n").is_empty());
    }
}
