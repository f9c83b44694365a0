//! Damaged files of experiments.

use std::path::Path;

use terrace_fuzz::{Target, fuzz, specimens_in};

use super::Experiment;

/// An error names a line of the file.
#[test]
fn files_of_experiments() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut files = specimens_in(&folder.join("smrdb"), "fig3-1");
    files.extend(specimens_in(&folder.join("bluefs"), "fig1"));
    files.extend(specimens_in(&folder.join("arrivals"), ""));
    let target = Target::decoding("file of an experiment", files, |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        let read = Experiment::parse("fuzzed", "fuzzed.toml", text);
        read.as_ref().err().inspect(|error| assert!(!error.to_string().is_empty()));
        read.is_ok()
    });
    fuzz!(target.memory(1 << 20, 512).with_seeds(2_000));
}
