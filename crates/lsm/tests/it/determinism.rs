//! Same seed, same history.

use terrace_env::runner;

use crate::operations::Run;

/// A digest of all that happened, and the figures at the end.
fn history(seed: u64) -> (Option<u64>, String) {
    runner::simulate(seed, || {
        let mut run = Run::new(seed);
        for _ in 0..1500 {
            run.step();
        }
        run.engine.close().unwrap();
        (runner::history(), format!("{:?} at {}", run.engine.stats(), runner::now()))
    })
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let first = history(5);
    assert!(first.0.is_some());
    assert_eq!(first, history(5));
    assert_ne!(first.0, history(6).0);
}
