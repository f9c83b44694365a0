//! Plug-ins for storage engines, as their tests use them: built with `make`, drives to run them on,
//! and programs that are killed while they write.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::built::Built;
use crate::step;
use crate::workspace::Workspace;

/// The plug-in for one engine.
pub(crate) struct Plugin<'a> {
    workspace: &'a Workspace,
    engine: &'static str,
    /// Where it is built, and where the drives are.
    place: PathBuf,
    is_release: bool,
}

impl<'a> Plugin<'a> {
    /// The plug-in in `bindings/ENGINE`, in the build of all tests.
    pub(crate) fn debug(workspace: &'a Workspace, engine: &'static str) -> Self {
        let place = workspace.target().join(engine);
        Self { workspace, engine, place, is_release: false }
    }

    /// The same, as it is used.
    pub(crate) fn release(workspace: &'a Workspace, engine: &'static str) -> Self {
        let place = workspace.target().join(format!("{engine}-release"));
        Self { workspace, engine, place, is_release: true }
    }

    /// Builds the crates, and these targets of the plug-in's Makefile.
    pub(crate) fn build(&self, targets: &[&str]) -> anyhow::Result<()> {
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
                .arg(self.workspace.root().join("bindings").join(self.engine))
                .args(["--silent", "--jobs=2"])
                .args(targets)
                .arg(assign("TERRACE", &self.built()))
                .arg(assign("OUT", &self.place)),
        )
    }

    /// The directory of what cargo builds.
    fn built(&self) -> PathBuf {
        self.workspace.target().join(if self.is_release { "release" } else { "debug" })
    }

    /// The program `terrace`.
    pub(crate) fn terrace(&self) -> Command {
        Command::new(self.built().join("terrace"))
    }

    /// Where the plug-in is built; a place for files of its tests.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// A fresh drive that allows 14 open zones, formatted for files; its URI.
    pub(crate) fn drive(&self, name: &str, size: &str, zone_size: &str) -> anyhow::Result<String> {
        let shape = ["--zone-size", zone_size, "--max-open", "14", "--max-active", "14"];
        self.drive_of(name, size, &shape)
    }

    /// The same, of any shape.
    pub(crate) fn drive_of(
        &self,
        name: &str,
        size: &str,
        shape: &[&str],
    ) -> anyhow::Result<String> {
        let image = self.place.join(name);
        if image.exists() {
            std::fs::remove_file(&image)
                .with_context(|| format!("removing {}", image.display()))?;
        }
        let path = image.display().to_string();
        let create = ["device", "create", &path, "--size", size];
        step::command(self.terrace().args(create).args(shape))?;
        step::command(self.terrace().args(["format", &path, "--files"]))?;
        Ok(format!("terrace://{path}"))
    }

    /// One of the programs of the Makefile, such as `contract`.
    pub(crate) fn program(&self, name: &str) -> Command {
        Command::new(self.place.join(format!("terrace_{}_{name}", self.engine)))
    }

    /// The plug-in itself.
    pub(crate) fn shared_object(&self) -> PathBuf {
        self.place.join(format!("libterrace_{}.so", self.engine))
    }

    /// Loads the plug-in into a program.
    pub(crate) fn load_into(&self, program: &mut Command) {
        program.env("LD_PRELOAD", self.shared_object());
    }

    /// Runs the contract program with these arguments and kills it after `millis`.
    /// Returns the last number that it has printed.
    pub(crate) fn killed(&self, arguments: &[&str], millis: u64) -> anyhow::Result<Option<u64>> {
        let mut timeout = Command::new("timeout");
        timeout.args(["--signal=KILL", &format!("{}.{:03}", millis / 1000, millis % 1000)]);
        timeout.arg(self.program("contract").get_program()).args(arguments);
        let output = timeout.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.context("timeout, which starts the program and kills it")?;
        // A shell's code for SIGKILL, or that signal where `timeout` dies of it as well. Where the
        // program crashes, `timeout` dies of another signal.
        let status = output.status;
        let killed = status.code() == Some(137) || status.signal() == Some(9);
        ensure!(killed, "expected a program that was killed, found {status}");
        last_number(&String::from_utf8(output.stdout).context("expected numbers")?)
    }
}

/// An empty directory.
pub(crate) fn fresh(directory: &Path) -> anyhow::Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)
            .with_context(|| format!("removing {}", directory.display()))?;
    }
    std::fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))
}

/// The number on the last whole line; the line after it may be cut.
fn last_number(said: &str) -> anyhow::Result<Option<u64>> {
    let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let last = whole.lines().next_back();
    last.map(|line| line.parse().with_context(|| format!("expected a number, found {line}")))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_does_not_count() {
        assert_eq!(last_number("1\n27\n3").unwrap(), Some(27));
        assert_eq!(last_number("1\n27\n").unwrap(), Some(27));
        assert_eq!(last_number("12").unwrap(), None);
        assert!(last_number("told\n1").is_err());
    }
}
