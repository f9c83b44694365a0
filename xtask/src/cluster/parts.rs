//! The programs and files of a cluster: built from this workspace, or fetched by Maven.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::node::expect;
use crate::built::Built;
use crate::step;
use crate::workspace::Workspace;

/// The directory of the Maven project.
const PROJECT: &str = "bindings/cassandra";

/// All that a node and a client need.
pub(super) struct Parts<'a> {
    workspace: &'a Workspace,
    place: PathBuf,
    is_release: bool,
}

impl<'a> Parts<'a> {
    /// The parts in the build of all tests. Nothing is built yet.
    pub(super) fn debug(workspace: &'a Workspace) -> Self {
        Self { workspace, place: workspace.target().join("cassandra"), is_release: false }
    }

    /// The same, as they are used.
    pub(super) fn release(workspace: &'a Workspace) -> Self {
        Self { is_release: true, ..Self::debug(workspace) }
    }

    /// Builds the program, the C library, the jar and its tests, and fetches Cassandra.
    pub(super) fn build(&self) -> anyhow::Result<()> {
        if self.is_release {
            let words = ["build", "--quiet", "--release"];
            let packages = ["--package", "terrace-c", "--package", "terrace-cli"];
            step::command(self.workspace.cargo(words).args(packages))?;
        } else {
            Built::all(self.workspace)?;
        }
        expect(&self.library())?;
        step::command(self.maven().args(["-DskipTests", "package"]))?;
        step::command(self.maven().arg("dependency:copy-dependencies"))
    }

    /// Runs the tests of the project, in one process with one node.
    pub(super) fn test(&self) -> anyhow::Result<()> {
        step::command(self.maven().arg("test"))
    }

    fn maven(&self) -> Command {
        let mut maven = Command::new("mvn");
        maven.args(["--quiet", "--batch-mode", "--file"]).arg(self.project().join("pom.xml"));
        maven.arg(format!("-Dterrace.library={}", self.library().display()));
        maven
    }

    /// The virtual machine with all classes, before its own options.
    pub(super) fn java(&self) -> Command {
        let conf = self.project().join("conf");
        let built = self.place.join("build");
        let classes = [
            built.join("terrace-cassandra-0.1.0.jar"),
            built.join("test-classes"),
            self.place.join("lib").join("*"),
        ];
        let classes = classes.map(|path| path.display().to_string()).join(":");
        // A process ends with its parent, however that one ends.
        let mut java = Command::new("setpriv");
        java.args(["--pdeathsig", "KILL", "java"]);
        java.arg(format!("@{}", conf.join("jvm17.options").display()));
        java.arg(format!("-Dlogback.configurationFile={}", conf.join("logback.xml").display()));
        java.args(["-cp", &classes]);
        java
    }

    /// The client that writes and reads, which takes the words after.
    pub(super) fn client(&self) -> Command {
        self.client_of("Load")
    }

    /// A client by its class.
    pub(super) fn client_of(&self, class: &str) -> Command {
        let mut java = self.java();
        java.args(["-Xmx128m", &format!("terrace.cassandra.{class}")]);
        java
    }

    /// Cassandra's `nodetool` for the node with this port, which takes the words after.
    pub(super) fn nodetool(&self, port: u16) -> Command {
        let mut java = self.java();
        // It keeps a history in the home directory.
        java.arg(format!("-Duser.home={}", self.place().display()));
        java.args(["-Xmx128m", "org.apache.cassandra.tools.NodeTool", "-p", &port.to_string()]);
        java
    }

    /// A program of the tests that works on a store that no node has open.
    pub(super) fn damage(&self, drive: &Path) -> Command {
        let mut java = self.client_of("Damage");
        java.arg(self.library()).arg(drive);
        java
    }

    /// Where nodes have their files.
    pub(super) fn place(&self) -> PathBuf {
        self.place.join("cluster")
    }

    /// The program `terrace`.
    pub(super) fn terrace(&self) -> PathBuf {
        self.built().join("terrace")
    }

    /// The C library.
    pub(super) fn library(&self) -> PathBuf {
        self.built().join("libterrace_c.so")
    }

    /// The directory of what cargo builds.
    fn built(&self) -> PathBuf {
        self.workspace.target().join(if self.is_release { "release" } else { "debug" })
    }

    fn project(&self) -> PathBuf {
        self.workspace.root().join(PROJECT)
    }

    /// Bytes of memory that are free, by the kernel's estimate; 0 where it does not say.
    pub(super) fn memory_available() -> u64 {
        let text = std::fs::read_to_string(Path::new("/proc/meminfo")).unwrap_or_default();
        available(&text)
    }
}

fn available(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_from_the_kernel() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), 2 << 20);
        assert_eq!(available("MemTotal: 9 kB\n"), 0);
    }
}
