//! Operators: an opening without one, an opening with one of another name, and one that refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use terrace_env::runner;
use terrace_env::store::{MemoryStore, Store};
use terrace_lsm::{
    Append, Batch, Bounds, Counter, Durability, Engine, Error, MergeKey, MergeOperator,
    MergeRefused, Operator, ReadOptions,
};

use super::{SPACE, around, entries, merge, open, put, seen, some, try_open_with, write};

#[test]
fn a_store_without_its_operator_keeps_operands_and_reads_other_keys() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        around(&engine);
        put(&engine, "value");
        engine.flush().unwrap();
        merge(&engine, "1");
        engine.flush().unwrap();
        merge(&engine, "2");
        engine.close().unwrap();
        drop(engine);

        let error = try_open_with(&store, Some(Operator::new(Counter))).unwrap_err().to_string();
        assert!(error.contains("terrace.append:,") && error.contains(Counter::NAME), "{error}");

        let engine = try_open_with(&store, None).unwrap();
        let options = ReadOptions::default();
        for compacted in [false, true] {
            if compacted {
                engine.compact_all().unwrap();
            }
            let mut scan = engine.scan(SPACE, &Bounds::all()).unwrap();
            assert_eq!(scan.next().unwrap().unwrap().0, b"a"[..]);
            let mut backward = engine.scan(SPACE, &Bounds::all()).unwrap().rev();
            assert_eq!(backward.next().unwrap().unwrap().0, b"c"[..]);
            let transaction = engine.transaction().unwrap();
            for error in [
                engine.get(SPACE, b"b").unwrap_err(),
                engine.multi_get(SPACE, &[b"a", b"b"], options).unwrap_err(),
                scan.next().unwrap().unwrap_err(),
                backward.next().unwrap().unwrap_err(),
                transaction.get(SPACE, b"b", options).unwrap_err(),
                transaction.merge(SPACE, b"z", b"1").unwrap_err(),
                engine
                    .write(
                        {
                            let mut batch = Batch::new();
                            batch.merge(SPACE, b"z", b"1");
                            batch
                        },
                        Durability::Gathered,
                    )
                    .unwrap_err(),
            ] {
                assert!(matches!(error, Error::NoMergeOperator { .. }), "{error}");
                assert!(error.to_string().contains("terrace.append:,"), "{error}");
            }
            assert!(engine.contains(SPACE, b"b", options).unwrap());
            assert_eq!(engine.get(SPACE, b"a").unwrap().as_deref(), Some(&b"stays"[..]));
            let mut cursor = engine.cursor(SPACE, &Bounds::all()).unwrap();
            assert!(cursor.seek(b"b").is_err() && !cursor.is_on_key());
            assert!(cursor.seek(b"b\0").unwrap() && cursor.key() == b"c");
            write(&engine, |batch| batch.put(SPACE, b"a", b"stays"));
        }
        assert!(entries(&engine) >= 4, "an operand is there, uncombined");
        engine.close().unwrap();
        drop(engine);
        let engine = open(&store);
        assert_eq!(seen(&engine), some("value,1,2"));
        // A put makes the operands go, and the store still has the name.
        put(&engine, "new");
        engine.compact_all().unwrap();
        engine.close().unwrap();
        drop(engine);
        assert!(try_open_with(&store, Some(Operator::new(Counter))).is_err());
        let engine = try_open_with(&store, None).unwrap();
        assert_eq!(seen(&engine), some("new"));
    });
}

#[test]
fn a_store_that_has_never_had_an_operand_takes_any_operator() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let plain = {
            let engine = try_open_with(&store, None).unwrap();
            put(&engine, "value");
            engine.close().unwrap();
            store.info(terrace_env::FileId::STORE).unwrap().annotation.opaque.clone()
        };
        let engine = open(&store);
        engine.close().unwrap();
        drop(engine);
        let opaque = store.info(terrace_env::FileId::STORE).unwrap().annotation.opaque.clone();
        assert_eq!(opaque.len(), plain.len(), "an operator alone leaves no trace");
        let engine = try_open_with(&store, Some(Operator::new(Counter))).unwrap();
        let error = try_name(&engine, "").unwrap_err();
        assert!(matches!(error, Error::Option(_)), "{error}");
        let error = try_name(&engine, &"n".repeat(256)).unwrap_err();
        assert!(error.to_string().contains("merge_operator"), "{error}");
    });
}

struct Named(String);

impl MergeOperator for Named {
    fn name(&self) -> &str {
        &self.0
    }

    fn merge(
        &self,
        _: MergeKey<'_>,
        _: Option<Vec<u8>>,
        newer: &[u8],
    ) -> Result<Vec<u8>, MergeRefused> {
        Ok(newer.to_vec())
    }
}

fn try_name(_: &Engine, name: &str) -> Result<Engine, Error> {
    try_open_with(&MemoryStore::new(), Some(Operator::new(Named(name.to_owned()))))
}

/// Appends, unless it is told to fail, by a refusal or a panic.
struct Moody {
    refuses: Arc<AtomicBool>,
    panics: bool,
}

impl MergeOperator for Moody {
    fn name(&self) -> &str {
        "moody"
    }

    fn merge(
        &self,
        key: MergeKey<'_>,
        older: Option<Vec<u8>>,
        newer: &[u8],
    ) -> Result<Vec<u8>, MergeRefused> {
        assert_eq!((key.key_space, key.key), ("default", &b"b"[..]));
        match self.refuses.load(Ordering::Relaxed) {
            true if self.panics => panic!("as the test asks"),
            true => Err(format!("in a bad mood at {}", newer.escape_ascii()).into()),
            false => Append::new(b",").merge(key, older, newer),
        }
    }
}

#[test]
fn jobs_keep_operands_that_the_operator_refuses_and_reads_tell_why() {
    runner::simulate(1, || {
        for panics in [false, true] {
            let refuses = Arc::new(AtomicBool::new(true));
            let moody = Moody { refuses: Arc::clone(&refuses), panics };
            let engine = try_open_with(&MemoryStore::new(), Some(Operator::new(moody))).unwrap();
            around(&engine);
            put(&engine, "value");
            for operand in ["1", "2", "3"] {
                merge(&engine, operand);
            }
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| {}));
            engine.compact_all().unwrap();
            let error = engine.get(SPACE, b"b").unwrap_err();
            std::panic::set_hook(hook);
            assert!(matches!(error, Error::MergeRefused { .. }), "{error}");
            let reason = if panics { "it panicked" } else { "in a bad mood at 1" };
            for part in ["moody", "\"b\"", "default", reason] {
                assert!(error.to_string().contains(part), "{error}");
            }
            assert_eq!(entries(&engine), 6, "all entries are there");
            refuses.store(false, Ordering::Relaxed);
            assert_eq!(seen(&engine), some("value,1,2,3"));
            write(&engine, |batch| batch.put(SPACE, b"a", b"stays"));
            merge(&engine, "4");
            engine.compact_all().unwrap();
            assert_eq!(seen(&engine), some("value,1,2,3,4"));
            assert_eq!(entries(&engine), 3);
        }
    });
}

#[test]
fn an_operand_that_is_no_operand_is_refused_when_it_is_written() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = try_open_with(&store, Some(Operator::new(Counter))).unwrap();
        let good = Counter::bytes(5);
        for operands in [[&b"abc"[..], &good], [&good, b"abc"]] {
            let mut batch = Batch::new();
            batch.put(SPACE, b"a", b"first").merge(SPACE, b"b", operands[0]);
            batch.merge(SPACE, b"b", operands[1]);
            let error = engine.write(batch, Durability::Gathered).unwrap_err();
            assert!(matches!(error, Error::MergeRefused { .. }), "{error}");
            for part in ["\"b\"", "default", "8 bytes, found 3"] {
                assert!(error.to_string().contains(part), "{error}");
            }
        }
        let transaction = engine.transaction().unwrap();
        transaction.merge(SPACE, b"b", b"abc").unwrap();
        let error = transaction.commit(Durability::Gathered).unwrap_err();
        assert!(matches!(error, Error::MergeRefused { .. }), "{error}");
        assert_eq!(engine.get(SPACE, b"a").unwrap(), None, "nothing of a refused batch is there");
        assert_eq!(engine.get(SPACE, b"b").unwrap(), None);
        write(&engine, |batch| batch.merge(SPACE, b"b", &good));
        assert_eq!(engine.get(SPACE, b"b").unwrap().as_deref(), Some(&good[..]));
    });
}
