//! The cargo feature `tracing`: events of a store reach a subscriber, with fields, in the
//! span in which the store was opened. Simulated, on one thread, which alone has the subscriber.
//!
//! The tests run in a separate process, one after the other. `tracing` decides once for all threads
//! whether a subscriber wants the events of a place in the code. If another thread reaches the
//! place first while a subscriber is being installed, the answer can be no, for good.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::process::Command;
use std::sync::Arc;

use terrace::{ByteCount, Compression, Db, FormatOptions, MemoryStore, Options};
use terrace_env::runner;
use terrace_env::store::Failure;
use terrace_env::sync::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_core::span::Current;

use crate::devices::{drive, options};

/// An event as the subscriber gets it.
#[derive(Clone, Debug)]
struct Heard {
    level: Level,
    parent: Option<u64>,
    fields: BTreeMap<&'static str, String>,
}

impl Heard {
    fn message(&self) -> &str {
        &self.fields["message"]
    }

    fn number(&self, field: &str) -> f64 {
        self.fields[field].parse().unwrap_or_else(|_| panic!("{field} of {self:?}"))
    }
}

impl Visit for Heard {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

/// The only span.
const SPAN: u64 = 7;

/// Keeps the events of the store, and knows one span.
#[derive(Clone, Default)]
struct Collector {
    heard: Arc<Mutex<Vec<Heard>>>,
    span: Arc<Mutex<OneSpan>>,
}

#[derive(Default)]
struct OneSpan {
    metadata: Option<&'static Metadata<'static>>,
    entered: bool,
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.span.lock().metadata = Some(attributes.metadata());
        Id::from_u64(SPAN)
    }

    fn current_span(&self) -> Current {
        let span = self.span.lock();
        match span.metadata.filter(|_| span.entered) {
            Some(metadata) => Current::new(Id::from_u64(SPAN), metadata),
            None => Current::none(),
        }
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() != "terrace" {
            return;
        }
        let (level, parent) = (*event.metadata().level(), event.parent().map(Id::into_u64));
        let mut heard = Heard { level, parent, fields: BTreeMap::new() };
        event.record(&mut heard);
        self.heard.lock().push(heard);
    }

    fn enter(&self, _: &Id) {
        self.span.lock().entered = true;
    }

    fn exit(&self, _: &Id) {
        self.span.lock().entered = false;
    }
}

/// Events of the store while this runs on one thread.
fn heard(run: fn()) -> Vec<Heard> {
    let collector = Collector::default();
    tracing::subscriber::with_default(collector.clone(), || runner::simulate(1, run));
    let heard = collector.heard.lock();
    heard.clone()
}

#[test]
fn both_tests_pass_in_a_process_without_other_threads() {
    let names = [
        "tracing_events::jobs_are_told_with_their_sizes_in_the_span_of_the_opening",
        "tracing_events::errors_are_told_with_their_kinds_and_a_stop_as_an_error",
    ];
    let out = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--ignored", "--exact", "--test-threads=1"])
        .args(names)
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains("2 passed"), "{said}");
}

#[test]
#[ignore = "needs a process without other threads, and gets it by the test of both"]
fn jobs_are_told_with_their_sizes_in_the_span_of_the_opening() {
    let heard = heard(|| {
        let device = drive(ByteCount::mib(1), 64, 1);
        // The span is made here, and never entered on this thread again.
        let span = tracing::info_span!("store", name = "accounts");
        let options = options().compression(Compression::None);
        let db = span
            .in_scope(|| Db::create_device(device, &FormatOptions::default(), options).unwrap());
        // In no order: tables in the order of keys would only be moved.
        for number in 0..4000_u32 {
            let key = number * 1237 % 4000;
            db.put(&key.to_be_bytes(), &[7; 300]).unwrap();
        }
        db.compact_all().unwrap();
        let (flushes, merges) = {
            let stats = db.stats();
            (stats.process.flushes, stats.process.compactions)
        };
        assert!(flushes > 2 && merges > 0, "{flushes} flushes, {merges} merges");
        db.close().unwrap();
    });
    let of = |message: &str| -> Vec<&Heard> {
        heard.iter().filter(|heard| heard.message() == message).collect()
    };
    let (began, ended) = (of("a flush began"), of("a flush ended"));
    assert!(ended.len() > 2 && began.len() >= ended.len(), "{heard:?}");
    for flush in ended {
        assert_eq!((flush.level, flush.parent), (Level::DEBUG, Some(SPAN)), "{flush:?}");
        assert_eq!(flush.fields["job"], "\"flush\"");
        assert!(flush.number("written") > 1000.0 && flush.number("seconds") >= 0.0, "{flush:?}");
    }
    let merges = of("a compaction ended");
    assert!(!merges.is_empty() && of("a compaction began").len() >= merges.len());
    for merge in merges {
        assert!(merge.number("inputs") >= 1.0 && merge.number("to") >= merge.number("from"));
        assert!(merge.number("written") > 1000.0, "{merge:?}");
    }
}

#[test]
#[ignore = "needs a process without other threads, and gets it by the test of both"]
fn errors_are_told_with_their_kinds_and_a_stop_as_an_error() {
    let heard = heard(|| {
        let store = Arc::new(MemoryStore::new());
        let db = Db::open(store.clone(), Options::default()).unwrap();
        db.put(&[0; 70_000], b"value").unwrap_err();
        db.put(b"key", b"value").unwrap();
        store.fail_at(store.operations(), Failure::Sticky);
        db.sync().unwrap_err();
        db.put(b"other", b"value").unwrap_err();
    });
    let with_kind = |kind: &str| {
        let is_of = |heard: &&Heard| heard.fields.get("kind").is_some_and(|of| of == kind);
        heard.iter().find(is_of).unwrap_or_else(|| panic!("no {kind} in {heard:?}"))
    };
    let long = with_kind("TooLarge");
    assert_eq!(long.level, Level::DEBUG);
    assert_eq!(long.fields["error"], "a key of 70000 bytes: expected at most 65535");
    let stopped = with_kind("Stopped");
    assert_eq!((stopped.level, &stopped.fields["origin"][..]), (Level::ERROR, "Io"));
    let stop = heard.iter().find(|heard| heard.message() == "writing has stopped");
    assert_eq!(stop.expect("the stop itself").level, Level::ERROR, "{heard:?}");
}
