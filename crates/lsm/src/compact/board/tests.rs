//! Tests of the board without an engine: over a tree without tables, under a decider without plans.

use std::time::Duration;

use terrace_env::{ByteCount, FileId, runner};
use terrace_policy::{Choice, Cut, Input, Merge, Part, Place, Plan, Route, RunId, WriteRule};

use super::*;
use crate::planless::Planless;
use crate::space::no_space;
use crate::tree::empty_tree;

struct Below {
    board: Arc<Board>,
    space: Arc<Space>,
    lifecycle: Arc<Lifecycle>,
    counters: Arc<Counters>,
}

impl Below {
    fn new(jobs_max: usize, heeds_load: bool) -> Self {
        let space = Arc::new(Space::new(WriteRule::Free));
        let lifecycle = Arc::new(Lifecycle::default());
        let counters = Arc::new(Counters::new());
        let signals = Signals {
            tree: Arc::new(empty_tree()),
            space: Arc::clone(&space),
            lifecycle: Arc::clone(&lifecycle),
            counters: Arc::clone(&counters),
            decider: Arc::new(Planless { heeds_load }),
            load: Arc::new(LoadMeter::new(true)),
        };
        let board = Arc::new(Board::new(jobs_max, false, signals));
        lifecycle.register(&board);
        Self { board, space, lifecycle, counters }
    }

    /// The next task, which must be due at once.
    fn task(&self) -> (Task, Choosing<'_>) {
        self.board.await_task().expect("a task")
    }

    /// Takes the task of asking what the shape of the tree needs, and notes that nothing is due.
    fn come_to_rest(&self) {
        let (task, choosing) = self.task();
        assert!(task.is_for_shape(), "{task:?}");
        self.board.note_idle(0, self.counters.scans.get());
        drop(choosing);
        self.board.end_task();
    }
}

fn span(start: &str, end: &str) -> Span {
    Span::new(start.as_bytes(), end.as_bytes())
}

/// A merge of one table of level 1 into level 2.
fn merge(file: u64, start: &str, end: &str) -> Choice {
    let part = Part { file: FileId(file), span: span(start, end) };
    let inputs = vec![Input { place: Place { level: 1, run: RunId(1) }, parts: vec![part] }];
    let to = Place { level: 2, run: RunId(1) };
    let routes = vec![Route { end: None, to, stream: 0, cut: Cut::at(ByteCount::mib(1)) }];
    let plan = Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false });
    Choice { plan, state: file.to_le_bytes().to_vec() }
}

#[test]
fn a_request_goes_before_lack_of_space_and_that_before_the_shape() {
    runner::simulate(1, || {
        let below = Below::new(1, false);
        below.come_to_rest();
        below.space.note(&no_space());
        let board = Arc::clone(&below.board);
        let client = runner::spawn("client", move || board.request(span("a", "b")));
        runner::sleep(Duration::from_millis(1));
        let (task, choosing) = below.task();
        let Task::Request(request) = &task else { panic!("{task:?}") };
        below.board.answer(request, Ok(()));
        drop(choosing);
        below.board.end_task();
        client.join().unwrap();
        let (task, choosing) = below.task();
        assert!(matches!(task, Task::Pick { urgency: Urgency::Space, tree: 0 }), "{task:?}");
        drop(choosing);
        below.board.end_task();
    });
}

#[test]
fn one_actor_at_a_time_chooses_and_plans_that_meet_are_refused() {
    runner::simulate(1, || {
        let below = Below::new(2, false);
        let (_, choosing) = below.task();
        let first = choosing.claim(&merge(1, "a", "f")).expect("nothing else is claimed");
        let (task, choosing) = below.task();
        assert!(matches!(task, Task::PickBeside { tree: 0 }), "{task:?}");
        assert_eq!(below.board.chosen_state(), merge(1, "a", "f").state);
        assert!(choosing.claim(&merge(2, "c", "k")).is_err(), "they share a range");
        below.board.end_task();
        let (_, choosing) = below.task();
        let second = choosing.claim(&merge(2, "g", "k")).expect("free of the first");
        assert!(second.number() > first.number(), "later choices have higher numbers");
        assert!(!below.board.claims().is_empty());
        drop((first, second));
        below.board.end_task();
        below.board.end_task();
        assert!(below.board.claims().is_empty() && !below.board.is_compacting());
    });
}

#[test]
fn new_data_below_level_0_keeps_compactions_away_until_it_is_committed() {
    runner::simulate(1, || {
        let below = Below::new(2, false);
        let to = Place { level: 1, run: RunId(1) };
        let admitted = below.board.admit(Claim::of_intake(span("a", "c"), to));
        let admitted = admitted.expect("no plan is in flight");
        assert!(below.board.admit(Claim::of_intake(span("b", "d"), to)).is_none(), "they meet");
        let board = Arc::clone(&below.board);
        let actor = runner::spawn("compaction", move || {
            let (_, choosing) = board.await_task().expect("a task");
            let _claimed = choosing.claim(&merge(1, "a", "c")).expect("nothing is in flight");
            runner::now()
        });
        runner::sleep(Duration::from_millis(5));
        let before = runner::now();
        drop(admitted);
        assert!(actor.join() >= before, "the task waits for the commit");
    });
}

#[test]
fn a_plan_in_flight_that_meets_new_data_keeps_it_on_top() {
    runner::simulate(1, || {
        let below = Below::new(1, false);
        let to = Place { level: 1, run: RunId(1) };
        let (_, choosing) = below.task();
        let claimed = choosing.claim(&merge(1, "a", "c")).expect("nothing else is claimed");
        assert!(below.board.admit(Claim::of_intake(span("b", "d"), to)).is_none());
        assert!(below.board.admit(Claim::of_intake(span("x", "z"), to)).is_some());
        drop(claimed);
        below.board.end_task();
    });
}

#[test]
fn a_request_that_finds_no_space_again_and_again_gets_the_error() {
    runner::simulate(1, || {
        let below = Below::new(1, false);
        let board = Arc::clone(&below.board);
        let client = runner::spawn("client", move || board.request(span("a", "b")));
        runner::sleep(Duration::from_millis(1));
        for _ in 0..3 {
            let (task, choosing) = below.task();
            let Task::Request(request) = &task else { panic!("{task:?}") };
            drop(choosing);
            below.board.end_task();
            below.board.note_no_space(request, no_space(), 3);
        }
        assert!(client.join().is_err_and(|error| error.is_space()));
    });
}

#[test]
fn a_failure_answers_requests_and_gives_out_no_task_until_it_is_taken_back() {
    runner::simulate(1, || {
        let below = Below::new(1, false);
        let board = Arc::clone(&below.board);
        let client = runner::spawn("client", move || board.request(span("a", "b")));
        runner::sleep(Duration::from_millis(1));
        below.lifecycle.fail("a test", Error::ReadOnly("a test"));
        assert!(matches!(client.join(), Err(Error::Stopped { .. })));
        let board = Arc::clone(&below.board);
        let actor = runner::spawn("compaction", move || board.await_task().is_some());
        runner::sleep(Duration::from_millis(1));
        assert!(!below.board.is_compacting(), "no task is given out");
        assert!(below.lifecycle.take_failure_back().unwrap());
        assert!(actor.join());
    });
}

#[test]
fn scans_wake_the_actors_where_the_decider_heeds_them() {
    runner::simulate(1, || {
        let below = Below::new(1, true);
        below.come_to_rest();
        let board = Arc::clone(&below.board);
        let actor = runner::spawn("compaction", move || board.await_task().is_some());
        runner::sleep(Duration::from_millis(1));
        assert!(!below.board.is_compacting());
        for scans in 1..=2 * SCANS_PER_LOOK {
            below.counters.scans.add(1);
            below.board.scan_begins(scans);
        }
        assert!(actor.join(), "the load has multiplied");
    });
}

#[test]
fn the_decider_is_asked_again_once_more_entries_have_expired() {
    runner::simulate(1, || {
        let below = Below::new(1, false);
        below.board.note_next_expiry(Some(runner::date() + Duration::from_secs(60)));
        below.come_to_rest();
        let board = Arc::clone(&below.board);
        let actor = runner::spawn("compaction", move || board.await_task().is_some());
        for _ in 0..59 {
            runner::sleep(Duration::from_secs(1));
            below.board.wake();
        }
        assert!(!below.board.is_compacting(), "nothing has expired yet");
        runner::sleep(Duration::from_secs(1));
        below.board.wake();
        assert!(actor.join());
    });
}
