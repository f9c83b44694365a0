//! Packages of the operating system that the tests need, beyond the Rust toolchain.
//!
//! Each entry of the list ([`NEEDED`]) has a program that the package brings, or a file of its own
//! by the whole path, and the reason why it is needed. A package whose program is not on the path,
//! or whose file is not there, is installed with apt. Without apt, an
//! error names the package. Nothing asks a question: where sudo wants a password, the step fails.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::step;

/// One package of the operating system.
pub(crate) struct Package {
    /// Its name for apt.
    pub(crate) name: &'static str,
    /// A program that it brings; or another file, by its whole path.
    pub(crate) program: &'static str,
    /// Tests that need it.
    pub(crate) why: &'static str,
}

/// A program for devices over other devices. It is not on the search path of every user.
pub(crate) const DMSETUP: &str = "/usr/sbin/dmsetup";
/// Likewise.
pub(crate) const MKE2FS: &str = "/usr/sbin/mke2fs";

/// Packages that the suite needs today: `cc` links every Rust program, so a machine that can build
/// the project has it already, except for the slimmest of images.
pub(crate) const NEEDED: [Package; 19] = [
    Package { name: "gcc", program: "cc", why: "the Rust toolchain links with it" },
    Package { name: "strace", program: "strace", why: "tests look at what is written and synced" },
    Package { name: "g++", program: "c++", why: "the plug-ins are C++" },
    Package { name: "make", program: "make", why: "the plug-ins are built by it" },
    Package {
        name: "librocksdb-dev",
        program: "/usr/include/rocksdb/db.h",
        why: "the RocksDB plug-in is built against it",
    },
    Package {
        name: "rocksdb-tools",
        program: "db_bench",
        why: "the RocksDB plug-in is tested with it",
    },
    Package {
        name: "libleveldb-dev",
        program: "/usr/include/leveldb/db.h",
        why: "the LevelDB plug-in is built against it",
    },
    Package {
        name: "openjdk-17-jdk-headless",
        program: "javac",
        why: "RocksDB for the JVM and Cassandra are run by it",
    },
    Package { name: "maven", program: "mvn", why: "it fetches Cassandra and RocksDB for the JVM" },
    Package {
        name: "qemu-system-x86",
        program: "qemu-system-x86_64",
        why: "the guest has zoned block devices",
    },
    Package { name: "busybox-static", program: "busybox", why: "the guest has no other shell" },
    Package { name: "e2fsprogs", program: MKE2FS, why: "the guest compares with ext4" },
    Package { name: "dmsetup", program: DMSETUP, why: "the guest has devices that fail" },
    Package { name: "cpio", program: "cpio", why: "the guest boots from such an archive" },
    Package { name: "python3-pip", program: "pip3", why: "the package for Python is tested" },
    Package { name: "rclone", program: "rclone", why: "the server is tested with it" },
    Package { name: "chromium", program: "chromium", why: "the live page is looked at with it" },
    Package { name: "openssl", program: "openssl", why: "it makes a certificate for the server" },
    Package { name: "s3cmd", program: "s3cmd", why: "the server is tested with it" },
];

/// Makes sure that every package of the list is there.
pub(crate) fn provide(needed: &[Package]) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<_> = std::env::split_paths(&path).collect();
    let missing = missing(needed, &directories);
    if missing.is_empty() {
        let names: Vec<_> = needed.iter().map(|package| package.name).collect();
        eprintln!("present: {}; nothing to install", names.join(", "));
        return Ok(());
    }
    let wanted: Vec<_> =
        missing.iter().map(|package| format!("{} ({})", package.name, package.why)).collect();
    let wanted = wanted.join(", ");
    if !has_program("apt-get", &directories) {
        bail!(
            "expected {wanted} to be installed; found no such program, and no apt to get it with"
        );
    }
    eprintln!("installing {wanted}");
    update()?;
    step::command(
        apt()
            .args(["install", "--yes", "--no-install-recommends"])
            .args(missing.iter().map(|package| package.name)),
    )
}

/// Has apt fetch its lists of packages.
pub(crate) fn update() -> anyhow::Result<()> {
    step::command(apt().arg("update"))
}

fn missing<'a>(needed: &'a [Package], directories: &[std::path::PathBuf]) -> Vec<&'a Package> {
    needed.iter().filter(|package| !has_program(package.program, directories)).collect()
}

fn has_program(name: &str, directories: &[impl AsRef<Path>]) -> bool {
    directories.iter().any(|directory| directory.as_ref().join(name).is_file())
}

/// apt; through sudo unless the effective user is root. It asks no question.
fn apt() -> Command {
    let user = Command::new("id").arg("-u").output();
    let is_root = user.is_ok_and(|user| user.stdout.trim_ascii() == b"0");
    let mut command = Command::new(if is_root { "apt-get" } else { "sudo" });
    if !is_root {
        command.args(["--non-interactive", "apt-get"]);
    }
    command.arg("--quiet").env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("here"), "").unwrap();
        let needed = [
            Package { name: "a", program: "here", why: "" },
            Package { name: "b", program: "gone", why: "" },
            Package { name: "c", program: "/none/at/all.h", why: "" },
            Package {
                name: "d",
                program: concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
                why: "",
            },
        ];
        let missing = missing(&needed, &[directory.path().to_path_buf()]);
        assert_eq!(missing.iter().map(|package| package.name).collect::<Vec<_>>(), ["b", "c"]);
    }
}
