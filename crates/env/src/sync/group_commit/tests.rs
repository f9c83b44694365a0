//! Tests of group commit over a fake log, which can take time, fail and panic.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::runner;

/// Fate of a group in a log.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Written,
    Failed,
    Panic,
}

/// A log of groups. Each takes a millisecond, and has its fate by its number.
struct FakeLog {
    groups: Vec<Vec<u32>>,
    fate: fn(usize) -> Fate,
}

impl FakeLog {
    fn write(&mut self, group: &[u32]) -> Result<(), &'static str> {
        runner::sleep(Duration::from_millis(1));
        match (self.fate)(self.groups.len()) {
            Fate::Written => {}
            Fate::Failed => return Err("failed"),
            Fate::Panic => panic!("the log panics"),
        }
        self.groups.push(group.to_vec());
        Ok(())
    }
}

#[derive(Default)]
struct Items {
    waiting: Vec<u32>,
    answers: BTreeMap<u32, Result<(), &'static str>>,
    /// Groups in the log when the writer was given back last.
    noted: usize,
    closed: bool,
}

impl CommitQueue for Items {
    type Writer = FakeLog;
    type Error = &'static str;

    fn lose_writer(&mut self) -> &'static str {
        "lost"
    }

    fn note_writer(&mut self, log: &FakeLog) {
        self.noted = log.groups.len();
    }
}

type Commits = GroupCommit<Items>;

fn commits(fate: fn(usize) -> Fate) -> Arc<Commits> {
    Arc::new(GroupCommit::new(Items::default(), Some(FakeLog { groups: Vec::new(), fate })))
}

fn commit_counted(commits: &Commits, item: u32, waits: &WaitCounts) -> Result<(), &'static str> {
    let mut queue = commits.lock();
    queue.waiting.push(item);
    commits.commit(
        queue,
        (waits, WaitCause::Journal),
        |queue| {
            let closed = queue.closed.then_some(Err("closed"));
            queue.answers.remove(&item).or(closed)
        },
        |queue, _| std::mem::take(&mut queue.waiting),
        |lead, group| {
            let written = lead.writer().write(&group);
            lead.publish(|queue| queue.answers.extend(group.iter().map(|item| (*item, written))));
        },
    )
}

fn commit(commits: &Commits, item: u32) -> Result<(), &'static str> {
    commit_counted(commits, item, &WaitCounts::default())
}

/// The answers to items that as many actors commit at once.
fn crowd(commits: &Arc<Commits>, items: std::ops::Range<u32>) -> Vec<Result<(), &'static str>> {
    let (answers, count) = (Arc::new(Mutex::new(Vec::new())), items.len());
    let actors: Vec<_> = items
        .map(|item| {
            let (commits, answers) = (Arc::clone(commits), Arc::clone(&answers));
            runner::spawn("committer", move || {
                let committed = std::panic::AssertUnwindSafe(|| commit(&commits, item));
                // A leader's panic is its own: it has no answer.
                if let Ok(answer) = std::panic::catch_unwind(committed) {
                    answers.lock().push(answer);
                }
            })
        })
        .collect();
    actors.into_iter().for_each(runner::JoinHandle::join);
    let answers = std::mem::take(&mut *answers.lock());
    assert!(answers.len() <= count);
    answers
}

fn written(commits: &Commits) -> Vec<Vec<u32>> {
    commits.leading(|_| Ok::<_, &str>(()), |log| log.groups.clone()).expect("a writer")
}

#[test]
fn committers_that_wait_for_a_leader_are_one_group() {
    runner::simulate(1, || {
        let commits = commits(|_| Fate::Written);
        assert_eq!(crowd(&commits, 0..10), [Ok(()); 10]);
        let groups = written(&commits);
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [1, 9]);
        assert_eq!(commits.lock().noted, 2, "the queue sees the writer that comes back");
        assert_eq!(runner::now(), crate::Time(0) + Duration::from_millis(2));
    });
}

#[test]
fn each_item_is_written_once_on_threads_and_in_any_schedule() {
    let all_once = || {
        let commits = commits(|_| Fate::Written);
        assert_eq!(crowd(&commits, 0..8), [Ok(()); 8]);
        let mut items = written(&commits).concat();
        items.sort_unstable();
        assert_eq!(items, (0..8).collect::<Vec<_>>());
    };
    all_once();
    #[cfg(debug_assertions)]
    for seed in 0..50 {
        runner::SimulationOptions::seeded(seed).explore().run(all_once);
    }
}

#[test]
fn members_of_a_group_that_fails_get_its_error_and_the_next_group_is_written() {
    runner::simulate(1, || {
        static FAILED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        let commits = commits(|groups| {
            let second = groups == 1 && !FAILED.swap(true, std::sync::atomic::Ordering::SeqCst);
            if second { Fate::Failed } else { Fate::Written }
        });
        let answers = crowd(&commits, 0..5);
        let failed = answers.iter().filter(|answer| **answer == Err("failed")).count();
        assert_eq!((failed, answers.len()), (4, 5), "the four that waited for the first");
        assert_eq!(commit(&commits, 9), Ok(()));
        assert_eq!(written(&commits), [vec![0], vec![9]]);
    });
}

#[test]
fn followers_of_a_leader_that_panics_get_an_error_and_so_do_all_later_ones() {
    let commits = commits(|groups| if groups == 1 { Fate::Panic } else { Fate::Written });
    assert_eq!(commit(&commits, 100), Ok(()));
    let answers = crowd(&commits, 0..6);
    // One leader panicked. Its group and those that queued meanwhile have no success.
    assert_eq!(answers, [Err("lost"); 5]);
    assert_eq!(commit(&commits, 101), Err("lost"));
    assert_eq!(commits.leading(|_| Ok::<_, &str>(()), |_| ()), Err("lost"));
    // No committer waits for a leader that is gone.
    commits.close(commits.lock(), |queue| queue.closed = true);
}

#[test]
fn a_member_that_was_answered_before_the_panic_keeps_its_answer() {
    let commits = commits(|_| Fate::Written);
    let mut queue = commits.lock();
    queue.waiting.push(1);
    let led = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        commits.commit(
            queue,
            (&WaitCounts::default(), WaitCause::Journal),
            |queue| queue.answers.get(&7).copied(),
            |queue, _| std::mem::take(&mut queue.waiting),
            |lead, group| {
                lead.publish(|queue| queue.answers.extend(group.iter().map(|i| (*i, Ok(())))));
                panic!("after the answers");
            },
        )
    }));
    assert!(led.is_err());
    assert_eq!(commit_waiting_for(&commits, 1), Ok(()), "its group was durable");
    assert_eq!(commit_waiting_for(&commits, 2), Err("lost"));
}

fn commit_waiting_for(commits: &Commits, item: u32) -> Result<(), &'static str> {
    commits.commit(
        commits.lock(),
        (&WaitCounts::default(), WaitCause::Journal),
        |queue| queue.answers.remove(&item),
        |_, _| panic!("no actor leads without a writer"),
        |_, ()| {},
    )
}

#[test]
fn work_between_groups_waits_for_the_leader_and_a_check_ends_the_wait() {
    runner::simulate(1, || {
        let commits = commits(|_| Fate::Written);
        let other = Arc::clone(&commits);
        let committer = runner::spawn("committer", move || commit(&other, 1));
        runner::sleep(Duration::from_micros(1));
        assert_eq!(commits.leading(|_| Err("refused"), |_| ()), Err("refused"));
        assert_eq!(written(&commits), [vec![1]]);
        assert_eq!(runner::now(), crate::Time(0) + Duration::from_millis(1));
        assert_eq!(committer.join(), Ok(()));
    });
}

#[test]
fn a_queue_is_closed_after_the_group_in_flight_and_waiters_learn_it() {
    runner::simulate(1, || {
        let commits = commits(|_| Fate::Written);
        let leader = {
            let commits = Arc::clone(&commits);
            runner::spawn("leader", move || commit(&commits, 1))
        };
        runner::sleep(Duration::from_micros(1));
        let mut answers = Vec::new();
        commits.close(commits.lock(), |queue| queue.closed = true);
        answers.push(commit(&commits, 2));
        assert_eq!(leader.join(), Ok(()), "its group was in flight");
        assert_eq!(answers, [Err("closed")]);
    });
}

#[test]
fn the_wait_of_a_follower_is_counted_and_the_work_of_a_leader_is_not() {
    runner::simulate(1, || {
        let commits = commits(|_| Fate::Written);
        let follower = {
            let commits = Arc::clone(&commits);
            runner::spawn("follower", move || {
                runner::sleep(Duration::from_micros(400));
                let waits = WaitCounts::default();
                commit_counted(&commits, 2, &waits).expect("a commit");
                waits.read().time()
            })
        };
        let waits = WaitCounts::default();
        commit_counted(&commits, 1, &waits).expect("a commit");
        assert!(waits.read().is_empty(), "the leader of the first group");
        assert_eq!(follower.join(), Duration::from_micros(600));
    });
}

#[test]
fn work_at_once_is_done_only_where_nobody_leads() {
    runner::simulate(1, || {
        let commits = Arc::new(GroupCommit::new(Items::default(), None));
        assert_eq!(commits.leading_at_once(|_| ()), None, "there is no writer yet");
        assert!(!commits.lock().is_led());
        commits.open(FakeLog { groups: Vec::new(), fate: |_| Fate::Written }, |_| {});
        assert_eq!(commits.leading_at_once(|log| log.groups.len()), Some(0));
        let other = Arc::clone(&commits);
        let committer = runner::spawn("committer", move || commit(&other, 1));
        runner::sleep(Duration::from_micros(1));
        assert!(commits.lock().is_led());
        assert_eq!(commits.leading_at_once(|_| ()), None, "a leader has it");
        assert_eq!(committer.join(), Ok(()));
        assert_eq!(commits.leading_at_once(|log| log.groups.len()), Some(1));
    });
}

#[test]
fn a_panic_while_a_group_is_taken_loses_the_writer_as_well() {
    let commits = commits(|_| Fate::Written);
    let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        commits.commit(
            commits.lock(),
            (&WaitCounts::default(), WaitCause::Journal),
            |_| None::<Result<(), _>>,
            |_, _| panic!("in the queue"),
            |_, ()| {},
        )
    }));
    assert!(taken.is_err());
    assert_eq!(commit(&commits, 1), Err("lost"));
}
