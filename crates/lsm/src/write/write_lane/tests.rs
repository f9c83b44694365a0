//! Tests of group commit with a fake log: a list of the groups that were written.

use std::time::Duration;

use terrace_env::runner;

use super::*;
use crate::KeySpaceId;

/// Keys of each group.
type FakeLog = Vec<usize>;

type Lane = Arc<WriteLane<FakeLog>>;

/// An open lane, and the lifecycle of its engine.
fn lane() -> (Lane, Arc<Lifecycle>) {
    let lifecycle = Arc::new(Lifecycle::default());
    let lane = Arc::new(WriteLane::new(Arc::clone(&lifecycle)));
    lane.open(FakeLog::new());
    (lane, lifecycle)
}

fn put(key: u8) -> Unqueued {
    put_of(key, 1)
}

fn put_of(key: u8, bytes: usize) -> Unqueued {
    let mut batch = Batch::new();
    batch.put(KeySpaceId::DEFAULT, &[key], &vec![0; bytes]);
    Unqueued {
        batch,
        durability: Durability::Written,
        errand: Errand::None,
        guard: None,
        memory: None,
    }
}

/// Writes by the lane; a group takes a millisecond.
fn write(lane: &Lane, unqueued: Unqueued) -> Answer {
    let waits = WaitCounts::default();
    lane.write(lane.queue(), unqueued, &waits, |log, group| {
        runner::sleep(Duration::from_millis(1));
        log.push(group.len());
        Vec::new()
    })
}

/// The groups that were written.
fn groups(lane: &Lane) -> FakeLog {
    lane.leading(|log| Ok(log.clone())).unwrap()
}

/// Starts writers one after the other, each of one put.
fn start(lane: &Lane, count: u8) -> Vec<runner::JoinHandle<Answer>> {
    let writer = |key| {
        let lane = Arc::clone(lane);
        let handle = runner::spawn("writer", move || write(&lane, put(key)));
        runner::sleep(Duration::from_micros(1));
        handle
    };
    (0..count).map(writer).collect()
}

#[test]
fn batches_that_come_while_a_group_is_written_are_the_next_group() {
    runner::simulate(1, || {
        let (lane, _) = lane();
        let answers: Vec<Answer> =
            start(&lane, 5).into_iter().map(runner::JoinHandle::join).collect();
        assert!(answers.iter().all(|answer| answer.result.is_ok()));
        assert_eq!(groups(&lane), [1, 4]);
        assert_eq!(answers.iter().filter(|answer| answer.led).count(), 2, "one leader to a group");
        assert_eq!(answers.iter().filter(|answer| answer.led_others).count(), 1);
    });
}

#[test]
fn a_batch_that_failed_gets_its_error_and_the_others_of_its_group_do_not() {
    runner::simulate(1, || {
        let (lane, _) = lane();
        let first = start(&lane, 1);
        let writers: Vec<_> = (1..4)
            .map(|key| {
                let lane = Arc::clone(&lane);
                runner::spawn("writer", move || {
                    let waits = WaitCounts::default();
                    lane.write(lane.queue(), put(key), &waits, |_, group| {
                        let odd = group.iter().filter(|pending| pending.ticket % 2 == 1);
                        odd.map(|pending| (pending.ticket, Error::ReadOnly("a test"))).collect()
                    })
                })
            })
            .collect();
        first.into_iter().for_each(|writer| drop(writer.join()));
        let failed: Vec<bool> =
            writers.into_iter().map(|writer| writer.join().result.is_err()).collect();
        assert_eq!(failed, [true, false, true]);
    });
}

#[test]
fn a_group_ends_with_a_large_batch() {
    runner::simulate(1, || {
        let (lane, _) = lane();
        let first = start(&lane, 1);
        let sizes = [1, GROUP_BYTES_MAX, 1, 1];
        let writers: Vec<_> = (1..)
            .zip(sizes)
            .map(|(key, bytes)| {
                let lane = Arc::clone(&lane);
                let writer = runner::spawn("writer", move || write(&lane, put_of(key, bytes)));
                runner::sleep(Duration::from_micros(1));
                writer
            })
            .collect();
        for writer in first.into_iter().chain(writers) {
            writer.join().result.unwrap();
        }
        assert_eq!(groups(&lane), [1, 2, 2]);
    });
}

#[test]
fn work_in_the_lead_keeps_groups_from_being_written() {
    runner::simulate(1, || {
        let (lane, _) = lane();
        let writers = lane
            .leading(|log| {
                let writers = start(&lane, 3);
                runner::sleep(Duration::from_millis(9));
                assert!(log.is_empty(), "they wait");
                Ok(writers)
            })
            .unwrap();
        writers.into_iter().for_each(|writer| writer.join().result.unwrap());
        assert_eq!(groups(&lane), [3]);
    });
}

/// A writer that leads, and panics after a millisecond.
fn start_lost(lane: &Lane) -> runner::JoinHandle<Answer> {
    let leading = Arc::clone(lane);
    let leader = runner::spawn("leader", move || {
        let waits = WaitCounts::default();
        leading.write(leading.queue(), put(0), &waits, |_, _| {
            runner::sleep(Duration::from_millis(1));
            panic!("a test")
        })
    });
    runner::sleep(Duration::from_micros(1));
    leader
}

#[test]
fn a_leader_that_panics_fails_its_group_and_all_later_writes() {
    runner::simulate(1, || {
        let (lane, lifecycle) = lane();
        let leader = start_lost(&lane);
        let followers = start(&lane, 2);
        assert!(leader.try_join().is_err());
        for follower in followers {
            let result = follower.join().result;
            assert!(matches!(result, Err(Error::Stopped { .. })), "{result:?}");
        }
        assert!(lifecycle.failure().is_some_and(|failure| failure.is_panic()));
        assert!(lane.leading(|_| Ok(())).is_err(), "the end of the log is not known");
    });
}

#[test]
fn a_lane_that_is_closed_answers_all_writes_by_that() {
    runner::simulate(1, || {
        let (lane, _) = lane();
        let writers = start(&lane, 1);
        lane.refuse_clients();
        assert!(matches!(lane.queue().check_clients(), Err(Error::Closed)));
        lane.close();
        writers.into_iter().for_each(|writer| writer.join().result.unwrap());
        let late = write(&lane, put(9)).result;
        assert!(matches!(late, Err(Error::Closed)), "{late:?}");
        lane.leading_at_once(|_| panic!("there is no log"));
    });
}

/// Writes batches of these sizes next to each other; tickets that `fails` names get an error.
fn write_each(lane: &Lane, sizes: &[usize], fails: fn(u64) -> bool) -> Vec<bool> {
    let unqueued = (1..).zip(sizes).map(|(key, bytes)| put_of(key, *bytes)).collect();
    let waits = WaitCounts::default();
    let (answers, _) = lane.write_each(lane.queue(), unqueued, &waits, |log, group| {
        runner::sleep(Duration::from_millis(1));
        log.push(group.len());
        let failed = group.iter().filter(|pending| fails(pending.ticket));
        failed.map(|pending| (pending.ticket, Error::ReadOnly("a test"))).collect()
    });
    answers.into_iter().map(|answer| answer.is_ok()).collect()
}

#[test]
fn batches_of_one_writer_are_in_one_group_and_each_has_its_own_answer() {
    runner::simulate(1, || {
        let (lane, _) = lane();
        assert_eq!(write_each(&lane, &[], |_| true), []);
        assert_eq!(write_each(&lane, &[1; 4], |ticket| ticket == 2), [true, true, false, true]);
        assert_eq!(groups(&lane), [4]);
    });
}

#[test]
fn batches_of_one_writer_that_are_large_are_in_several_groups() {
    runner::simulate(1, || {
        let (lane, _) = lane();
        let sizes = [1, GROUP_BYTES_MAX, 1, GROUP_BYTES_MAX, 1];
        assert_eq!(
            write_each(&lane, &sizes, |ticket| ticket < 2),
            [false, false, true, true, true]
        );
        assert_eq!(groups(&lane), [2, 2, 1]);
    });
}

#[test]
fn all_batches_of_one_writer_get_the_error_of_a_lane_that_is_lost_or_closed() {
    runner::simulate(1, || {
        let (lane, _) = lane();
        let leader = start_lost(&lane);
        let of = Arc::clone(&lane);
        let writer = runner::spawn("writer", move || write_each(&of, &[1; 3], |_| false));
        assert!(leader.try_join().is_err());
        assert_eq!(writer.join(), [false; 3]);
    });
    runner::simulate(1, || {
        let (lane, _) = lane();
        lane.close();
        assert_eq!(write_each(&lane, &[1; 3], |_| false), [false; 3]);
    });
}
