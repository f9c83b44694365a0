//! [`Kernel`]: the distribution's kernel for virtual machines, and its modules.
//!
//! The metapackage names the package of the current kernel, whose name changes with each update;
//! so it is asked for, and never written down. The package is downloaded and unpacked, not
//! installed. One that is there already is used again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::step;

/// A kernel that has been unpacked.
pub(super) struct Kernel {
    /// The file that a machine boots.
    pub(super) image: PathBuf,
    /// Modules by name, with `_` for each `-`.
    modules: BTreeMap<String, PathBuf>,
    /// Names of the parts of the kernel itself.
    builtin: Vec<String>,
}

impl Kernel {
    /// Gets the kernel that the metapackage names.
    pub(super) fn provide(metapackage: &str, folder: &Path) -> anyhow::Result<Self> {
        let package = resolve(metapackage)?;
        let unpacked = folder.join(&package);
        if unpacked.is_dir() {
            eprintln!("present: {package}");
        } else {
            std::fs::create_dir_all(folder)?;
            let part = folder.join("part");
            if part.exists() {
                std::fs::remove_dir_all(&part)?;
            }
            std::fs::create_dir(&part)?;
            let mut download = Command::new("apt-get");
            step::command(download.current_dir(&part).args(["--quiet", "download", &package]))?;
            let files: Vec<_> = std::fs::read_dir(&part)?.collect::<Result<_, _>>()?;
            let [file] = &files[..] else {
                bail!("apt-get download {package}: expected one file, found {}", files.len());
            };
            let mut unpack = Command::new("dpkg-deb");
            let into = part.join("unpacked");
            step::command(unpack.arg("--extract").arg(file.path()).arg(&into))?;
            // Only a kernel that is whole gets its name.
            std::fs::rename(&into, &unpacked)?;
            std::fs::remove_dir_all(&part)?;
        }
        Self::read(&unpacked)
    }

    fn read(unpacked: &Path) -> anyhow::Result<Self> {
        let boot = unpacked.join("boot");
        let image = only(&boot, "vmlinuz-")?;
        let modules_folder = only(&unpacked.join("lib/modules"), "")?;
        let mut modules = BTreeMap::new();
        collect(&modules_folder, &mut modules)?;
        ensure!(
            !modules.is_empty(),
            "{}: expected modules that are not compressed (.ko), found none",
            modules_folder.display()
        );
        let builtin = std::fs::read_to_string(modules_folder.join("modules.builtin"))?;
        let builtin = builtin.lines().filter_map(|line| module_name(Path::new(line))).collect();
        Ok(Self { image, modules, builtin })
    }

    /// The files of the modules that are wanted and of those that they need, each after those that
    /// it needs. A part of the kernel itself has no file.
    pub(super) fn in_order(&self, wanted: &[&str]) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let mut order = Vec::new();
        for name in wanted {
            self.visit(name, &mut order)?;
        }
        Ok(order)
    }

    fn visit(&self, name: &str, order: &mut Vec<(String, PathBuf)>) -> anyhow::Result<()> {
        let name = name.replace('-', "_");
        if self.builtin.contains(&name) || order.iter().any(|(there, _)| *there == name) {
            return Ok(());
        }
        let path = self.modules.get(&name).with_context(|| {
            format!("module {name}: expected it in the kernel's package, found none")
        })?;
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        for needed in depends(&bytes) {
            self.visit(&needed, order)?;
        }
        order.push((name, path.clone()));
        Ok(())
    }
}

/// The package that a metapackage depends on today.
fn resolve(metapackage: &str) -> anyhow::Result<String> {
    let ask = || step::output(Command::new("apt-cache").args(["depends", metapackage]));
    let asked = ask();
    let package = match asked.as_deref().ok().and_then(dependency) {
        Some(package) => package,
        // The lists of packages may be missing.
        None => {
            crate::packages::update()?;
            dependency(&ask()?).with_context(|| {
                format!("{metapackage}: expected it to depend on a kernel, found no such package")
            })?
        }
    };
    Ok(package)
}

fn dependency(said: &str) -> Option<String> {
    let mut names = said.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    names.find(|name| name.starts_with("linux-image-")).map(str::to_owned)
}

/// The names after `depends=` in a module.
fn depends(module: &[u8]) -> Vec<String> {
    let mark = b"\0depends=";
    let Some(at) = module.windows(mark.len()).position(|bytes| bytes == mark) else {
        return Vec::new();
    };
    let rest = &module[at + mark.len()..];
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
    let names = String::from_utf8_lossy(&rest[..end]).into_owned();
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".ko")?;
    Some(name.replace('-', "_"))
}

fn collect(folder: &Path, into: &mut BTreeMap<String, PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, into)?;
        } else if let Some(name) = module_name(&path) {
            into.insert(name, path);
        }
    }
    Ok(())
}

/// The only entry of a folder whose name begins so.
fn only(folder: &Path, begin: &str) -> anyhow::Result<PathBuf> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names: Vec<_> = entries.collect::<Result<_, _>>()?;
    let mut fitting =
        names.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with(begin));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one.path()),
        (one, _) => {
            let found = if one.is_some() { "several" } else { "none" };
            bail!("{}: expected one entry `{begin}...`, found {found}", folder.display())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_what_the_metapackage_depends_on() {
        let said = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-9-cloud-amd64\n";
        assert_eq!(dependency(said).as_deref(), Some("linux-image-6.1.0-9-cloud-amd64"));
        assert_eq!(dependency("E: No packages found\n"), None);
    }

    #[test]
    fn modules_come_after_those_that_they_need() {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("lib/modules/6.1/kernel");
        std::fs::create_dir_all(&modules).unwrap();
        std::fs::create_dir(folder.path().join("boot")).unwrap();
        std::fs::write(folder.path().join("boot/vmlinuz-6.1"), "").unwrap();
        std::fs::write(folder.path().join("lib/modules/6.1/modules.builtin"), "kernel/x/nvme.ko\n")
            .unwrap();
        for (name, needs) in [("a-b", "c,d"), ("c", "d"), ("d", ""), ("e", "gone")] {
            let text = format!("ELF\0license=GPL\0depends={needs}\0name=x\0");
            std::fs::write(modules.join(format!("{name}.ko")), text).unwrap();
        }
        let kernel = Kernel::read(folder.path()).unwrap();
        let names = |wanted: &[&str]| {
            let order = kernel.in_order(wanted);
            order.map(|order| order.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["a_b", "nvme", "d"]).unwrap(), ["d", "c", "a_b"]);
        let error = names(&["e"]).unwrap_err().to_string();
        assert!(error.starts_with("module gone: expected it"), "{error}");
    }
}
