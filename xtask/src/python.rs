//! Tests of the package for Python, which is a workspace of its own in `bindings/python`.
//!
//! 1. maturin, pytest and mypy are installed from the package index into the target directory.
//! 2. maturin builds the wheel, hardly optimised, as no test measures speed. It is installed next
//!    to them.
//! 3. pytest runs the tests against the installed wheel, and mypy checks the stubs by a program
//!    that uses them.
//!
//! Nothing is installed for the user or the system.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// Tools of the tests, as the package index names them.
const TOOLS: [&str; 5] =
    ["maturin>=1.7,<2", "pytest>=8", "mypy>=1.10", "typing_extensions", "pyarrow>=17"];

/// Builds the wheel and tests it.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps) {
    let python = Python {
        package: workspace.root().join("bindings/python"),
        target: workspace.target().join("python"),
    };
    let mut is_installed = false;
    steps.run("test: Python, build", || {
        python.install()?;
        is_installed = true;
        Ok(())
    });
    if is_installed {
        steps.run("test: Python", || python.test());
    }
}

struct Python {
    /// Directory of the package.
    package: PathBuf,
    /// Directory of all that is built and installed.
    target: PathBuf,
}

impl Python {
    fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    fn install(&self) -> anyhow::Result<()> {
        let (tools, wheels) = (self.tools(), self.target.join("wheels"));
        step::command(pip(&tools).args(TOOLS))?;
        // Wheels of earlier builds must not be installed for this one.
        match std::fs::remove_dir_all(&wheels) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| wheels.display().to_string());
            }
            _ => {}
        }
        let mut build = Command::new(tools.join("bin/maturin"));
        build.args(["build", "--quiet", "--profile", "dev", "--interpreter", "python3", "--out"]);
        build.arg(&wheels).current_dir(&self.package).env("PYTHONPATH", &tools);
        step::command(build.env("CARGO_TARGET_DIR", self.target.join("build")))?;
        let entries = std::fs::read_dir(&wheels).with_context(|| wheels.display().to_string())?;
        let wheels: Vec<PathBuf> =
            entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        step::command(pip(&tools).arg("--no-deps").args(wheels))
    }

    fn test(&self) -> anyhow::Result<()> {
        let mut tests = self.python("pytest");
        step::command(tests.args(["-q", "-p", "no:cacheprovider", "tests"]))?;
        let mut types = self.python("mypy");
        types.env("MYPYPATH", "python");
        types.args(["--strict", "--cache-dir"]).arg(self.target.join("mypy"));
        step::command(types.args([
            "tests/typed.py",
            "python/terrace/aio.py",
            "python/terrace/lab.py",
        ]))
    }

    /// A module of the tools, run in the directory of the package.
    fn python(&self, module: &str) -> Command {
        let mut command = Command::new("python3");
        command.args(["-m", module]).current_dir(&self.package);
        command.env("PYTHONPATH", self.tools()).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// An installation into a directory.
fn pip(to: &Path) -> Command {
    let mut command = Command::new("pip3");
    command.args(["install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"]);
    command.arg(to);
    command
}
