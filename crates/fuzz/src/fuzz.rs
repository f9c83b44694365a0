//! [`fuzz!`](crate::fuzz!): runs a target in a test.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bolero::{BorrowedInput, ByteSliceGenerator, DefaultEngine, TestTarget};
use terrace_env::random::{Random, Rng};
use terrace_env::test_seeds;

use crate::Target;
use crate::target::processor_time;

/// Bytes of a script of a seed.
const SCRIPT_MAX: usize = 256;
/// Variable with the seconds that each target runs, with scripts at random.
const SECONDS: &str = "TERRACE_FUZZ_SECONDS";

/// The engine of a target.
pub type Engine = TestTarget<ByteSliceGenerator, DefaultEngine, BorrowedInput>;

/// Runs a [`Target`] as the test that it stands in.
///
/// Scripts are kept in `__fuzz__/MODULES__TEST` next to the test's file: in `crashes` those that
/// once failed, in `corpus` those that reach code that few others reach. Each test has one target.
#[macro_export]
macro_rules! fuzz {
    ($target:expr) => {{
        let engine = $crate::bolero::check!();
        $crate::run(engine, env!("CARGO_MANIFEST_DIR"), $target);
    }};
}

/// Runs a target; [`fuzz!`](crate::fuzz!) calls it.
///
/// # Panics
/// When an input breaks a rule, or the inputs did not reach the decoder.
pub fn run(engine: Engine, manifest: &str, target: Target) {
    let workspace = Path::new(manifest).ancestors().nth(2).unwrap_or(Path::new("."));
    let target = AssertUnwindSafe(target.failing_into(&workspace.join("target/fuzz/failed")));
    let check = |script: &[u8]| target.check(script);
    let start = processor_time();
    match seconds() {
        Some(seconds) => engine.with_test_time(Duration::from_secs(seconds)).for_each(check),
        None => {
            // The kept scripts.
            engine.with_iterations(0).for_each(check);
            for seed in test_seeds(target.seeds()) {
                check(&script_of(seed));
            }
        }
    }
    let took = processor_time().saturating_sub(start);
    println!("fuzz: {}", target.report(took));
    target.must_have_reached();
}

fn seconds() -> Option<u64> {
    let text = std::env::var_os(SECONDS)?;
    let number = text.to_str().and_then(|text| text.parse().ok());
    Some(number.unwrap_or_else(|| panic!("{SECONDS}: expected a number, found {text:?}")))
}

fn script_of(seed: u64) -> Vec<u8> {
    let mut random = Random::seeded(seed);
    let mut script = vec![0; random.random_range(1..=SCRIPT_MAX)];
    random.fill(&mut script[..]);
    script
}

/// The files of a folder whose names begin with `prefix`, as specimens, in the order of their
/// names.
///
/// # Panics
/// If the folder cannot be read, or has no such file.
#[must_use]
pub fn specimens_in(folder: &Path, prefix: &str) -> Vec<Vec<u8>> {
    let found =
        std::fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut paths: Vec<_> = found
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .into_iter()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}: expected files {prefix}*, found none", folder.display());
    let read =
        |path: PathBuf| std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    paths.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(input: &mut [u8]) {
        if let Some((sum, text)) = input.split_last_mut() {
            *sum = text.iter().fold(0, |sum, byte| sum ^ byte);
        }
    }

    /// A length, as many bytes, and their sum.
    fn decode(input: &[u8]) -> Option<Vec<u8>> {
        let (sum, text) = input.split_last()?;
        let (length, bytes) = text.split_first()?;
        let sound = text.iter().fold(0, |sum, byte| sum ^ byte) == *sum;
        (sound && bytes.len() == usize::from(*length)).then(|| bytes.to_vec())
    }

    fn encode(bytes: &[u8]) -> Vec<u8> {
        let mut input = [&[bytes.len() as u8], bytes, &[0]].concat();
        mended(&mut input);
        input
    }

    fn target(recode: impl Fn(&[u8]) -> Option<Vec<u8>> + 'static) -> Target {
        let specimens = vec![encode(b"one"), encode(b""), encode(b"seventeen")];
        Target::recoding("fuzz of the harness", specimens, recode)
            .mending(|input| mended(input))
            .with_seeds(2_000)
    }

    fn run_seeds(target: &Target) {
        for seed in 0..target.seeds() {
            target.check(&script_of(seed));
        }
        target.must_have_reached();
    }

    #[test]
    fn a_sound_decoder_passes() {
        crate::fuzz!(target(|input| decode(input).map(|bytes| encode(&bytes))));
    }

    #[test]
    #[should_panic = "out of range"]
    fn a_decoder_that_trusts_a_length_panics() {
        run_seeds(&target(|input| {
            let (length, bytes) = input.split_first()?;
            Some(encode(&bytes[..usize::from(*length)]))
        }));
    }

    #[test]
    #[should_panic = "bytes of memory for"]
    fn a_decoder_that_reserves_memory_for_a_length_is_found() {
        run_seeds(&target(|input| {
            let length = usize::from(*input.first()?);
            let reserved = Vec::<u8>::with_capacity(length << 16);
            decode(input).map(|bytes| encode(&[&reserved[..], &bytes].concat()))
        }));
    }

    #[test]
    #[should_panic = "encoded again"]
    fn an_encoder_that_loses_bytes_is_found() {
        run_seeds(&target(|input| {
            decode(input).map(|bytes| encode(&bytes[..bytes.len().saturating_sub(1)]))
        }));
    }

    #[test]
    #[should_panic = "accepted, refused: [0, "]
    fn a_target_whose_damage_never_passes_the_checksum_is_found() {
        let specimens = vec![b"only this".to_vec()];
        let only = |input: &[u8]| (input == b"only this").then(|| input.to_vec());
        run_seeds(&Target::recoding("only one", specimens, only).with_seeds(500));
    }
}
