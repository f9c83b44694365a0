//! [`Program`]: a program of tests in the copy, built and run under a limit of time.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use cargo_metadata::Message;
use cargo_metadata::diagnostic::DiagnosticLevel;

use super::bug::Bug;
use crate::REGENERATE;

/// Time between two looks at a program that runs.
const LOOK: Duration = Duration::from_millis(20);

/// Characters of a message that are printed: some messages have a whole state.
const MESSAGE_CHARS: usize = 160;

/// A program of tests.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    /// The package's directory, where cargo would start it.
    place: PathBuf,
}

/// The end of a run of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All tests passed.
    Passed,
    /// A test failed, or the program did; the first message.
    Failed(String),
    /// The limit of time passed before.
    Late,
}

impl Program {
    /// Builds the program with the tests for a bug; `None` if it does not build.
    pub(super) fn build(root: &Path, bug: &Bug) -> anyhow::Result<Option<Self>> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--no-run", "--quiet", "--package", &bug.package]);
        match &*bug.target {
            "lib" => cargo.arg("--lib"),
            "bin" => cargo.arg("--bins"),
            name => cargo.args(["--test", name]),
        };
        // A bug may leave something unused: warnings say nothing about it.
        cargo.arg("--message-format=json").env("CARGO_INCREMENTAL", "0");
        cargo.env("CARGO_TARGET_DIR", root.join("target"));
        let output = cargo.current_dir(root).stdin(Stdio::null()).output().context("cargo")?;
        let mut said = String::new();
        for message in Message::parse_stream(&*output.stdout) {
            match message.context("messages of cargo")? {
                Message::CompilerArtifact(artifact) if artifact.profile.test => {
                    if let Some(path) = artifact.executable {
                        let place =
                            artifact.manifest_path.parent().context("a manifest's place")?;
                        return Ok(Some(Self { path: path.into(), place: place.into() }));
                    }
                }
                Message::CompilerMessage(told) if told.message.level == DiagnosticLevel::Error => {
                    said.extend(told.message.rendered);
                }
                _ => {}
            }
        }
        ensure!(!output.status.success(), "{}: expected a program of tests", bug.package);
        if said.is_empty() {
            bail!("cargo: {}", String::from_utf8_lossy(&output.stderr));
        }
        eprint!("{said}");
        Ok(None)
    }

    /// Runs these tests until the first fails, or a limit of time has passed.
    pub(super) fn run(&self, tests: &[String], limit: Duration) -> anyhow::Result<Ended> {
        let mut command = Command::new(&self.path);
        command.arg("--exact").args(tests).current_dir(&self.place);
        command.env_remove(REGENERATE).env("RUST_BACKTRACE", "0");
        ended(&mut command, tests.len(), limit)
    }
}

/// Runs a command that runs `count` tests.
fn ended(command: &mut Command, count: usize, limit: Duration) -> anyhow::Result<Ended> {
    let begun = Instant::now();
    let (mut output, writer) = std::io::pipe()?;
    let mut child =
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The command holds the other end of the pipe.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        output.read_to_end(&mut said).map(|_| String::from_utf8_lossy(&said).into_owned())
    });
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::Late);
        }
        std::thread::sleep(LOOK);
    };
    let said = reader.join().map_err(|_| anyhow::anyhow!("the reader of a program panicked"))??;
    if !status.success() {
        return Ok(Ended::Failed(first_message(&said).unwrap_or_else(|| status.to_string())));
    }
    let expected = format!("running {count} test");
    ensure!(said.contains(&expected), "expected `{expected}`, found {said}");
    Ok(Ended::Passed)
}

/// The place and the message of the first panic in the output of a program of tests.
fn first_message(said: &str) -> Option<String> {
    let (_, told) = said.split_once(" panicked at ")?;
    let mut lines = told.lines();
    let place = lines.next()?;
    let message = lines.next().unwrap_or_default();
    Some(format!("{place} {}", message.chars().take(MESSAGE_CHARS).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: u64) -> anyhow::Result<Ended> {
        ended(Command::new("sh").args(["-c", script]), 1, Duration::from_secs(limit))
    }

    #[test]
    fn a_program_passes_fails_or_is_late() {
        assert_eq!(shell("echo running 1 test", 60).unwrap(), Ended::Passed);
        assert_eq!(shell("exec sleep 100", 0).unwrap(), Ended::Late);
        let failed =
            "echo \"thread 'a' panicked at src/a.rs:1:2:\nno zone\nnote: b\" >&2; exit 101";
        let message = "src/a.rs:1:2: no zone".to_owned();
        assert_eq!(shell(failed, 60).unwrap(), Ended::Failed(message));
        assert!(
            matches!(shell("kill -9 $$", 60).unwrap(), Ended::Failed(said) if said.contains('9'))
        );
        let error = shell("echo running 0 tests", 60).unwrap_err().to_string();
        assert!(error.starts_with("expected `running 1 test`"), "{error}");
    }
}
