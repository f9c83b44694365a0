//! Power cuts at every file operation, again during recovery, and in many successive processes.

use terrace_env::random::{Random, Rng};
use terrace_env::test_seeds;
use terrace_fs::dir::MemoryFiles;

use super::client::Client;
use super::world::open;

/// Steps of a client in one life.
const STEPS: usize = 30;

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Bytes that were not synced may be lost.
    PowerCut,
    /// All bytes are kept, and none is more durable than before.
    ProcessDies,
}

/// A directory, and the client that knows its expected state.
struct Lives {
    /// The most handles that may be open. With few, files are synced and closed early.
    handles: usize,
    /// Whether files can be mapped.
    mapped: bool,
    files: MemoryFiles,
    client: Client,
    random: Random,
    steps: usize,
}

impl Lives {
    fn new(seed: u64) -> Self {
        let handles = if seed.is_multiple_of(2) { usize::MAX } else { 6 };
        let mapped = seed % 4 < 3;
        let files = Self::limited(MemoryFiles::new(), handles, mapped);
        let (client, random) = (Client::default(), Random::seeded(seed));
        Self { handles, mapped, files, client, random, steps: STEPS }
    }

    fn limited(files: MemoryFiles, handles: usize, mapped: bool) -> MemoryFiles {
        let files = files.with_handles(handles);
        if mapped { files } else { files.without_mapping() }
    }

    /// Opens the store, checks it, works, and ends at the given operation of this life, or earlier
    /// if the work is done. Returns the number of operations.
    fn live(&mut self, cut_after: Option<u64>, end: End) -> u64 {
        let first = self.files.operations();
        if let Some(after) = cut_after {
            self.files.cut_at(first + after);
        }
        let opened = open(&self.files);
        assert!(opened.is_ok() || !self.files.has_power(), "{:?}", opened.err());
        // An opening may succeed although its last operation fails: removing the old journal.
        if let Some(store) = opened.ok().filter(|_| self.files.has_power()) {
            // With few handles, a read syncs and closes other files. No cut may hit such an
            // operation.
            let _ = self.files.clone().with_handles(usize::MAX);
            self.client.check(&store);
            let _ = self.files.clone().with_handles(self.handles);
            // Only the power cut can cause an error: these files have no other defect.
            let done = self.client.work(&store, &mut self.random, self.steps);
            assert!(done.is_ok() || !self.files.has_power(), "{done:?}");
        }
        let operations = self.files.operations() - first;
        match end {
            End::PowerCut => {
                let files = self.files.power_cut(&mut self.random);
                self.files = Self::limited(files, self.handles, self.mapped);
            }
            End::ProcessDies => self.files.restart(),
        }
        // Now handles of the old process can write no more.
        self.client.dies(end == End::PowerCut);
        operations
    }

    /// Opens the store undisturbed and checks it.
    fn check(&mut self) {
        let store = open(&self.files).expect("the store opens after any cut");
        self.client.check(&store);
    }
}

#[test]
fn power_cuts_at_every_operation_lose_nothing_that_was_acknowledged() {
    for seed in test_seeds(2) {
        let operations = Lives::new(seed).live(None, End::PowerCut);
        assert!(operations > 60, "{operations} operations");
        for cut in 0..=operations {
            let mut lives = Lives::new(seed);
            lives.live(Some(cut), End::PowerCut);
            lives.check();
        }
    }
}

#[test]
fn power_cuts_at_every_operation_of_a_recovery_lose_nothing() {
    for seed in test_seeds(2) {
        for end in [End::PowerCut, End::ProcessDies] {
            // More operations than an opening takes, so that the last cuts come after the recovery.
            for (first, second) in (0..24).flat_map(|f| (0..24).map(move |s| (f, s))) {
                let mut lives = Lives { steps: 8, ..Lives::new(seed) };
                lives.live(None, end);
                lives.steps = 0;
                lives.live(Some(first), end);
                lives.live(Some(second), End::PowerCut);
                lives.check();
            }
        }
    }
}

#[test]
fn power_cuts_in_many_lives_bring_nothing_old_back() {
    for seed in test_seeds(60) {
        let mut lives = Lives::new(seed);
        for _ in 0..6 {
            let cut = lives.random.random_range(0..250);
            let end = if lives.random.random() { End::PowerCut } else { End::ProcessDies };
            lives.live(Some(cut), end);
        }
        lives.check();
    }
}
