//! A chore that runs beside the steps of another one, for what keeps no more than one processor
//! busy. It is a process of its own, so its processor time counts in the step that waits for it.
//! What it says goes to a file, and is shown at its end.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

use crate::workspace::Workspace;

/// A chore under way. If it is dropped, the chore is killed.
pub(crate) struct Beside {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Beside {
    /// Starts `cargo xtask NAME`.
    pub(crate) fn start(workspace: &Workspace, name: &'static str) -> anyhow::Result<Self> {
        let log = workspace.target().join(format!("{name}.log"));
        eprintln!("$ cargo xtask {name}, beside what follows; its output is in {}", log.display());
        Self::spawn(name, &mut workspace.cargo(["xtask", name]), log)
    }

    fn spawn(name: &'static str, command: &mut Command, log: PathBuf) -> anyhow::Result<Self> {
        let file = File::create(&log).with_context(|| format!("making {}", log.display()))?;
        let also = file.try_clone().context("the log, once more")?;
        let child = command.stdin(Stdio::null()).stdout(file).stderr(also).spawn();
        Ok(Self { name, child: child.context("cargo")?, log })
    }

    /// Waits for its end, and shows what it has said.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let status = self.child.wait().context("a child")?;
        let said =
            std::fs::read(&self.log).with_context(|| format!("reading {}", self.log.display()))?;
        eprint!("{}", String::from_utf8_lossy(&said));
        ensure!(status.success(), "cargo xtask {}: expected to succeed, found {status}", self.name);
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After its end this does nothing.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chore_beside_others_says_at_its_end_whether_it_has_passed() {
        let place = tempfile::tempdir().unwrap();
        let run = |script: &str| {
            let log = place.path().join("log");
            Beside::spawn("chore", Command::new("sh").args(["-c", script]), log).unwrap().finish()
        };
        run("echo said; echo said >&2").unwrap();
        assert_eq!(std::fs::read_to_string(place.path().join("log")).unwrap(), "said\nsaid\n");
        let error = run("exit 3").unwrap_err().to_string();
        assert!(error.starts_with("cargo xtask chore: expected to succeed, found"), "{error}");
    }
}
