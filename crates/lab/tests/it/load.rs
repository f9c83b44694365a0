//! A drive nearly filled in random order, a 32nd of the size that `terrace bench load` has, in
//! simulated time: the waits of writers are those of the engine, and not of the machine.

use std::sync::Arc;

use terrace::Options;
use terrace_env::{ByteCount, runner, test_seeds};
use terrace_lab::bench::{Load, Loaded, Size};
use terrace_zone::{Device, Emulator, Geometry};

use crate::serial::Serial;

fn load(seed: u64) -> Loaded {
    let geometry = Geometry::uniform(ByteCount::mib(2), 312_000_000 / (2 << 20));
    let options = Options::fitting(geometry.capacity());
    let drive = Emulator::in_memory(geometry, 1).expect("a usual geometry");
    drive.set_timing(Some(Box::<Serial>::default()));
    let size = Size { entries: 250_000_000 / 1040, key_size: 16, value_size: 1024 };
    let drive: Arc<dyn Device> = Arc::new(drive);
    let load = Load { size, seed, options };
    runner::simulate(seed, || load.run(&drive, &mut |_, _, _| ())).expect("a load that fits")
}

#[test]
fn a_random_load_ends_within_its_memory_and_no_put_waits_longer_than_a_compaction_step() {
    for seed in test_seeds(2) {
        let loaded = load(seed);
        let (wait, step) = (loaded.latency.max / 1e6, loaded.step_seconds_max);
        println!(
            "seed {seed}: loaded in {:.1} s, longest put {wait:.2} s, slowest step {step:.2} s",
            loaded.load_seconds
        );
        assert!(loaded.check.is_clean());
        assert!(loaded.memory.peak <= loaded.memory.budget, "seed {seed}: {loaded:#?}");
        assert!(step > 0.0 && wait <= step, "seed {seed}: {wait} s, {step} s: {loaded:#?}");
    }
}
