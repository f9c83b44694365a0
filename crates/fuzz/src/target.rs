//! [`Target`]: a decoder with specimens and limits, and the rules that one input checks.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::mutation::{as_script, mutated};

/// The most processor time that one input may take.
pub const PROCESSOR_TIME_MAX: Duration = Duration::from_secs(2);

/// Memory that a decoder may hold for an input of any length.
const MEMORY_BASE: u64 = 64 << 10;
/// Memory that a decoder may hold for each byte of its input.
const MEMORY_FACTOR: u64 = 32;

/// Seeds of an ordinary run.
const SEEDS: u64 = 50_000;

type Decode = Box<dyn Fn(&[u8]) -> Option<Vec<u8>>>;
type Mend = Box<dyn Fn(&mut Vec<u8>)>;

/// A decoder with its specimens; see the [crate].
pub struct Target {
    name: &'static str,
    specimens: Vec<Vec<u8>>,
    mend: Mend,
    decode: Decode,
    /// Whether `decode` returns the bytes of an encoder.
    encodes: bool,
    memory: (u64, u64),
    seeds: u64,
    counts: Counts,
    failed: Option<PathBuf>,
}

/// How many inputs there were.
#[derive(Default)]
struct Counts {
    inputs: AtomicU64,
    /// Those that were accepted and are no specimens.
    accepted: AtomicU64,
    refused: AtomicU64,
}

impl Target {
    /// A decoder with an encoder. `recode` decodes an input and returns the encoded bytes of the
    /// value; `None` if it refuses the input.
    ///
    /// # Panics
    /// If there are no specimens, or one is refused.
    pub fn recoding(
        name: &'static str,
        specimens: Vec<Vec<u8>>,
        recode: impl Fn(&[u8]) -> Option<Vec<u8>> + 'static,
    ) -> Self {
        Self::new(name, specimens, Box::new(recode), true)
    }

    /// A decoder alone. `decode` returns whether it accepts the input.
    ///
    /// # Panics
    /// If there are no specimens, or one is refused.
    pub fn decoding(
        name: &'static str,
        specimens: Vec<Vec<u8>>,
        decode: impl Fn(&[u8]) -> bool + 'static,
    ) -> Self {
        let decode = move |input: &[u8]| decode(input).then(Vec::new);
        Self::new(name, specimens, Box::new(decode), false)
    }

    fn new(name: &'static str, specimens: Vec<Vec<u8>>, decode: Decode, encodes: bool) -> Self {
        assert!(!specimens.is_empty(), "{name}: no specimens");
        for (at, specimen) in specimens.iter().enumerate() {
            assert!(decode(specimen).is_some(), "{name}: specimen {at} is refused");
        }
        Self {
            name,
            specimens,
            mend: Box::new(|_| {}),
            decode,
            encodes,
            memory: (MEMORY_BASE, MEMORY_FACTOR),
            seeds: SEEDS,
            counts: Counts::default(),
            failed: None,
        }
    }

    /// Mends the checksums of an input that was changed.
    #[must_use]
    pub fn mending(mut self, mend: impl Fn(&mut Vec<u8>) + 'static) -> Self {
        self.mend = Box::new(mend);
        self
    }

    /// The memory that the decoder may hold: `base` bytes, and `factor` bytes for each of its
    /// input.
    #[must_use]
    pub fn memory(mut self, base: u64, factor: u64) -> Self {
        self.memory = (base, factor);
        self
    }

    /// How many seeds an ordinary run tries.
    #[must_use]
    pub fn with_seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    pub(crate) fn seeds(&self) -> u64 {
        self.seeds
    }

    /// A folder for the input that fails.
    pub(crate) fn failing_into(mut self, folder: &Path) -> Self {
        self.failed = Some(folder.join(self.name));
        self
    }

    /// Checks the rules for the input of a script.
    ///
    /// # Panics
    /// When a rule is broken.
    pub fn check(&self, script: &[u8]) {
        let input = mutated(&self.specimens, script, &*self.mend);
        let keep = KeepIfFailed { input: &input, path: self.failed.as_deref() };
        let encoded = self.decode_within_limits(&input);
        if let (Some(encoded), true) = (&encoded, self.encodes) {
            let again = self.decode_within_limits(encoded);
            let again = again.as_deref().map(|bytes| Bytes(bytes).to_string());
            let expected = Some(Bytes(encoded).to_string());
            assert_eq!(again, expected, "{}: encoded again", self.name);
        }
        drop(keep);
        self.counts.inputs.fetch_add(1, Ordering::Relaxed);
        let count = match encoded {
            Some(_) if self.specimens.contains(&input) => return,
            Some(_) => &self.counts.accepted,
            None => &self.counts.refused,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn decode_within_limits(&self, input: &[u8]) -> Option<Vec<u8>> {
        let start = processor_time();
        let mut decoded = None;
        let allocated = allocation_counter::measure(|| decoded = (self.decode)(input));
        let (name, len) = (self.name, input.len());
        let (base, factor) = self.memory;
        let limit = base + factor * len as u64;
        let held = allocated.bytes_max;
        assert!(
            held <= limit,
            "{name}: {held} bytes of memory for {len}, expected at most {limit}"
        );
        let took = processor_time().saturating_sub(start);
        assert!(took <= PROCESSOR_TIME_MAX, "{name}: {took:?} of processor time for {len} bytes");
        decoded
    }

    /// One line: the name, how many inputs there were in this processor time, and how many of them
    /// were accepted that are no specimens.
    pub(crate) fn report(&self, took: Duration) -> String {
        let Counts { inputs, accepted, .. } = &self.counts;
        let [inputs, accepted] = [inputs, accepted].map(|count| count.load(Ordering::Relaxed));
        let seconds = took.as_secs_f64();
        let rate = inputs as f64 / seconds.max(1e-9);
        let name = self.name;
        format!(
            "{name}: {inputs} inputs in {seconds:.2} s, {rate:.0} a second, {accepted} accepted"
        )
    }

    /// Checks that the inputs reached the decoder.
    ///
    /// # Panics
    /// When no input was accepted that is not a specimen, or none was refused.
    pub(crate) fn must_have_reached(&self) {
        let (accepted, refused) = (&self.counts.accepted, &self.counts.refused);
        let counts = [accepted, refused].map(|count| count.load(Ordering::Relaxed));
        assert!(
            counts.iter().all(|count| *count > 0),
            "{}: accepted, refused: {counts:?}",
            self.name
        );
    }
}

/// Writes the input to a file when its check panics.
struct KeepIfFailed<'a> {
    input: &'a [u8],
    path: Option<&'a Path>,
}

impl Drop for KeepIfFailed<'_> {
    fn drop(&mut self) {
        let Some(path) = self.path.filter(|_| std::thread::panicking()) else { return };
        let folder = path.parent().unwrap_or(path);
        let written = std::fs::create_dir_all(folder);
        // The panic is what a developer must see, not a full disk.
        let _ = written.and_then(|()| std::fs::write(path, as_script(self.input)));
    }
}

/// Bytes for an error: escaped, and the front of many.
struct Bytes<'a>(&'a [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes: {}", self.0.len(), self.0.escape_ascii())
    }
}

/// Processor time of this thread.
pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
