//! Gives the lab the second thing on which its runs depend, next to their plans: a hash over the
//! sources of the engine, of all below it, and of the lab's own part in a run, and over the
//! versions of libraries.
//!
//! Results are kept under names that depend on the hash. Code that only draws or describes outcomes
//! is not in it, nor are comments and descriptions of experiments. So results stay valid when a
//! plot or a comment changes. The parts of an experiment's description that a run needs are in its
//! plan.

use std::path::{Path, PathBuf};
use std::{fs, io};

use xxhash_rust::xxh3::Xxh3Default;

#[path = "src/code_lines.rs"]
mod code_lines;

/// Sources that a run depends on, from the workspace's root.
const SOURCES: [&str; 10] = [
    "Cargo.lock",
    "crates/env/src",
    "crates/zone/src",
    "crates/policy/src",
    "crates/fs/src",
    "crates/lsm/src",
    "crates/terrace/src",
    "crates/lab/src/arrivals",
    "crates/lab/src/run",
    "crates/lab/src/workload",
];

fn main() -> io::Result<()> {
    let root = Path::new("../..");
    let mut hash = Xxh3Default::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
        let mut files = Vec::new();
        list(&root.join(source), &mut files)?;
        // By name: the order of a directory is arbitrary.
        files.sort();
        for file in files {
            let mut text = fs::read(&file)?;
            if file.extension().is_some_and(|extension| extension == "rs") {
                text = code_lines::code_lines(&text).collect::<Vec<_>>().concat();
            }
            hash.update(file.to_string_lossy().replace('\\', "/").as_bytes());
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(&text);
        }
    }
    println!("cargo::rerun-if-changed=src/code_lines.rs");
    println!("cargo::rustc-env=TERRACE_ENGINE={:016x}", hash.digest());
    Ok(())
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        list(&entry?.path(), files)?;
    }
    Ok(())
}
