//! The same seed gives the same history: the runner's digest of the actors' steps, the metrics and
//! the virtual time, over random operations with one, two and four compactions at once. Another
//! seed or another number of compactions gives another history.

use terrace_env::runner;

use crate::model;
use crate::operations::Run;

/// A digest of all steps, and the metrics at the end.
fn history(seed: u64, jobs: usize) -> (Option<u64>, String) {
    runner::simulate(seed, || {
        let mut run = Run::under(seed, vec![model::decider_of(jobs)]);
        for _ in 0..1500 {
            run.step();
        }
        run.engine.close().unwrap();
        (runner::history(), format!("{:?} at {}", run.engine.stats(), runner::now()))
    })
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for jobs in [1, 2, 4] {
        let first = history(5, jobs);
        assert!(first.0.is_some());
        assert_eq!(first, history(5, jobs));
        assert_ne!(first.0, history(6, jobs).0);
    }
    assert_ne!(history(5, 1).0, history(5, 4).0, "compactions go side by side");
}
