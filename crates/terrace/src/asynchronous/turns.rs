//! How an actor does the operations of a turn: gets by one `multi_get` for each key space and
//! options, writes by one call that queues all of them.
//!
//! - If a read of several keys fails, for example at a damaged block, its keys are read one by one:
//!   only those get an error that have one.
//! - Each write is a batch of its own for the engine, with its own durability and its own answer.
//! - Futures are woken when the engine is no longer in use here. So a waker that drops the last
//!   handle of the store ends it.
//!
//! Threads: an actor, which holds no lock.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use terrace_lsm::{Engine, Error as EngineError, KeySpaceId, ReadOptions};

use super::answer::Wakers;
use super::waiting::{Get, Long, ReadTurn, Write};

/// Does the reads of a turn. `before_waking` is called when the last of them is done.
pub(super) fn read(engine: &Weak<Engine>, turn: ReadTurn, before_waking: impl FnOnce()) {
    match turn {
        ReadTurn::Long(long) => call(engine, long, before_waking),
        ReadTurn::Gets(gets) => {
            for gets in groups(gets) {
                let answers = with(engine, |engine| group(engine, &gets));
                // An engine that is gone: the promises are dropped, which is an answer.
                let mut wakers = Wakers::default();
                for (get, answer) in gets.into_iter().zip(answers.into_iter().flatten()) {
                    wakers.add(get.sought.leave(answer));
                }
                wakers.wake();
            }
            before_waking();
        }
    }
}

/// Does a long read or another call. `before_waking` is called when it is done.
pub(super) fn call(engine: &Weak<Engine>, call: Long, before_waking: impl FnOnce()) {
    let delivery = with(engine, call);
    before_waking();
    if let Some(deliver) = delivery {
        deliver();
    }
}

/// Does the writes of a turn.
pub(super) fn write(engine: &Weak<Engine>, turn: Vec<Write>) {
    let (syncs, writes): (Vec<_>, Vec<_>) = turn.into_iter().partition(|write| write.syncs);
    let (mut batches, mut promises) = (Vec::new(), Vec::new());
    for Write { batch, durability, promise, .. } in writes {
        batches.push((batch, durability));
        promises.push(promise);
    }
    let answers = with(engine, |engine| {
        let written = engine.write_each(batches);
        let synced = if syncs.is_empty() { Ok(()) } else { engine.sync() };
        (written, synced)
    });
    let Some((written, synced)) = answers else { return };
    let mut wakers = Wakers::default();
    for (promise, answer) in promises.into_iter().zip(written) {
        wakers.add(promise.leave(answer));
    }
    for Write { promise, .. } in syncs {
        wakers.add(promise.leave(synced.clone()));
    }
    wakers.wake();
}

/// Calls the engine, if it is there.
fn with<T>(engine: &Weak<Engine>, work: impl FnOnce(&Engine) -> T) -> Option<T> {
    let engine: Arc<Engine> = engine.upgrade()?;
    Some(work(&engine))
}

/// The gets of each key space and options, in their order.
fn groups(gets: Vec<Get>) -> Vec<Vec<Get>> {
    let of = |get: &Get| -> (KeySpaceId, ReadOptions) { (get.space, get.reads) };
    let mut groups: Vec<Vec<Get>> = Vec::new();
    for get in gets {
        match groups.iter_mut().find(|group| of(&group[0]) == of(&get)) {
            Some(group) => group.push(get),
            None => groups.push(vec![get]),
        }
    }
    groups
}

/// The answers to gets of one key space.
fn group(engine: &Engine, gets: &[Get]) -> Vec<Result<Option<Bytes>, EngineError>> {
    let (space, reads) = (gets[0].space, gets[0].reads);
    if gets.len() > 1 {
        let keys: Vec<&[u8]> = gets.iter().map(|get| &*get.key).collect();
        if let Ok(values) = engine.multi_get(space, &keys, reads) {
            return values.into_iter().map(Ok).collect();
        }
    }
    gets.iter().map(|get| engine.get_with(space, &get.key, reads)).collect()
}
