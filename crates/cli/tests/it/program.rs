//! [`Place`]: runs the program in a temporary directory, which goes away at the end of the test. A
//! command line is expected to succeed, to fail with an exit code, or is judged by the test.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use terrace::device::{Access, Emulator, ZoneState};
use terrace_env::ZoneId;

/// A directory that goes away at the end of the test.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    /// With a formatted drive `d.img` of this size, in zones of this size.
    pub(crate) fn formatted(size: &str, zone_size: &str) -> Self {
        let place = Self::new();
        place.ok(&["device", "create", "d.img", "--size", size, "--zone-size", zone_size]);
        place.ok(&["format", "d.img"]);
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command line that is to be run.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command.current_dir(self.path()).args(words).stdin(Stdio::null());
        command
    }

    /// Runs a command line and returns its output.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program")
    }

    /// Runs a command line that must succeed and returns its standard output.
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {}: {error}", output.status);
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs a command line with `--json` and returns the last object, which is the result.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let output = self.run(&words);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let last = text.lines().last().expect("a line");
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{words:?}: {error}: {last}"))
    }

    /// Runs a command line that must fail with this exit code; returns the message.
    pub(crate) fn fails(&self, code: i32, words: &[&str]) -> String {
        let output = self.run(words);
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {error}");
        assert_eq!(output.stdout, b"", "{words:?}");
        error
    }

    /// Makes these zones of an image read-only or offline.
    pub(crate) fn fail_zones(
        &self,
        image: &str,
        zones: impl IntoIterator<Item = u32>,
        state: ZoneState,
    ) {
        let path = self.path().join(image);
        let drive = Emulator::open_image(&path, Access::ReadWrite).expect("the drive");
        for zone in zones {
            drive.set_zone_condition(ZoneId(zone), state).expect("a zone");
        }
        drop(drive);
        // A process that another test has just forked keeps it locked until it runs its program.
        let file = std::fs::File::open(path).expect("the image");
        file.lock().and_then(|()| file.unlock()).expect("a lock");
    }
}
