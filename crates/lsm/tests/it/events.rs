//! Tests of the events for listeners: begin and end of every flush and compaction, a failure and
//! its end, and a write that took [`Event::STALL_MIN`] or longer, with its waits. Each comes once,
//! and the metrics agree.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{Failure, Latency, MemoryStore};
use terrace_env::sync::Mutex;
use terrace_env::wait::{WaitCause, Waits};
use terrace_env::{Cause, runner};
use terrace_lsm::{Durability, Engine, Event, Job, KeySpaceId, Listener};

use crate::model::{self, Write, batch};

#[derive(Default)]
struct Heard(Mutex<Vec<Event>>);

impl Listener for Heard {
    fn notice(&self, event: &Event) {
        self.0.lock().push(event.clone());
    }
}

fn listen(engine: &Engine) -> Arc<Heard> {
    let heard = Arc::new(Heard::default());
    engine.listen(Arc::clone(&heard) as Arc<dyn Listener>);
    heard
}

fn write(engine: &Engine, number: u64) -> Result<(), terrace_lsm::Error> {
    let key = (number * 7919 % 500).to_be_bytes().to_vec();
    let writes: [Write; 1] = [(KeySpaceId::DEFAULT, key, Some(vec![number as u8; 200]))];
    engine.write(batch(&writes), Durability::Gathered)
}

#[test]
fn every_job_is_told_when_it_begins_and_when_it_ends_and_the_metrics_agree() {
    runner::simulate(3, || {
        let engine = model::open(&model::slow_store(3));
        let heard = listen(&engine);
        (0..3000).for_each(|number| write(&engine, number).unwrap());
        engine.compact_all().unwrap();
        let (mut flushing, mut compacting) = (None, None);
        let (mut flushes, mut compactions, mut bytes) = (0, 0, 0);
        for event in heard.0.lock().iter() {
            let is_flush = |job: &Job| matches!(job, Job::Flush { .. });
            match event {
                Event::Began { job } => {
                    let slot = if is_flush(job) { &mut flushing } else { &mut compacting };
                    assert_eq!(slot.replace(*job), None, "two at a time");
                }
                Event::Ended { job, written, .. } => {
                    let slot = if is_flush(job) { &mut flushing } else { &mut compacting };
                    assert_eq!(slot.take(), Some(*job));
                    let count = if is_flush(job) { &mut flushes } else { &mut compactions };
                    *count += 1;
                    bytes += written.expect("nothing fails").0;
                }
                other => panic!("{other:?}"),
            }
        }
        let stats = engine.stats();
        assert_eq!((flushing, compacting), (None, None));
        assert_eq!((flushes, compactions), (stats.flushes, stats.compactions));
        assert!(flushes > 10 && compactions > 5, "{stats:?}");
        let written: u64 = stats.process.levels.iter().map(|level| level.bytes_written).sum();
        assert_eq!(bytes, written);
    });
}

#[test]
fn a_failure_and_its_end_are_told_once() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = model::open(&store);
        let heard = listen(&engine);
        store.fail_at(store.operations() + 100, Failure::Once);
        let mut number = 0;
        while engine.stats().failure.is_none() {
            let _ = write(&engine, number);
            number += 1;
        }
        engine.flush().unwrap_err();
        engine.resume().unwrap();
        engine.resume().unwrap();
        let heard = heard.0.lock();
        let told = |wanted: fn(&Event) -> bool| heard.iter().filter(|event| wanted(event)).count();
        assert_eq!(told(|event| matches!(event, Event::Stopped { .. })), 1);
        assert_eq!(told(|event| matches!(event, Event::Resumed)), 1);
    });
}

#[test]
fn a_write_that_waits_for_a_second_is_told_with_what_it_waited_for() {
    runner::simulate(5, || {
        let commit = Duration::from_secs(8);
        let latency = Latency { commit, ..Latency::uniform(Duration::from_millis(900)) };
        let engine = model::open(&MemoryStore::new().with_latency(5, latency));
        let heard = listen(&engine);
        let mut longest = Duration::ZERO;
        let mut stalls = 0;
        for number in 0..300 {
            let start = runner::now();
            write(&engine, number).unwrap();
            let took = runner::now().since(start);
            longest = longest.max(took);
            stalls += u64::from(took >= Event::STALL_MIN);
        }
        let heard = heard.0.lock();
        let told: Vec<(Duration, Waits)> = heard
            .iter()
            .filter_map(|event| match event {
                Event::Stalled { time, waits } => Some((*time, waits.clone())),
                _ => None,
            })
            .collect();
        assert!(stalls > 0 && told.len() as u64 == stalls, "{stalls} stalls: {told:?}");
        for (time, waits) in &told {
            // The rest is the processor's time.
            let rest = *time - waits.time();
            assert!(*time >= Event::STALL_MIN && rest < Duration::from_millis(1), "{waits:?}");
        }
        let stats = engine.stats();
        let (time, waits) = told.iter().max_by_key(|(time, _)| *time).unwrap();
        assert_eq!(stats.longest_write_nanos as u128, time.as_nanos());
        assert_eq!(&stats.longest_write_waits, waits);
        assert!(longest - *time < Duration::from_millis(1), "{longest:?}, of which {time:?} told");
        let all = told.iter().fold(Waits::default(), |all, (_, waits)| all.and(waits));
        let causes: Vec<WaitCause> = all.iter().map(|(cause, _)| cause).collect();
        let expected = [WaitCause::MemoryDelay, WaitCause::Device(Cause::Log)];
        assert!(expected.iter().all(|cause| causes.contains(cause)), "{causes:?}");
    });
}
