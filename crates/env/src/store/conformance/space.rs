//! Conformance checks of space: live and pinned bytes, reservations, and writes counted by cause.
//!
//! They need an empty store without other writers, in which 200,000 bytes can be reserved.

use std::sync::Arc;

use super::actions::{commit, note, pattern, refused, sealed};
use super::suite::Check;
use crate::store::{CreateOptions, FileKind, PlacementHint, Rank, StoreError};
use crate::{ByteCount, Cause, Store};

pub(super) const CHECKS: &[Check] = &[
    ("live bytes follow the files that exist", live_bytes),
    ("a deleted file is pinned while it is read", pinned_bytes),
    ("a reservation is used up by its writer and comes back", reservation),
    ("more than everything cannot be reserved", too_much),
    ("a reservation of another store is refused", foreign_reservation),
    ("writes are counted by cause", counted_by_cause),
];

fn live_bytes(store: &Arc<dyn Store>) {
    let before = store.space();
    let id = sealed(store, &pattern(1, 100_000));
    let with = store.space();
    assert!(with.live.0 >= before.live.0 + 100_000, "{before:?} and then {with:?}");
    assert!(with.capacity == before.capacity && with.free < with.capacity);
    commit(store, |t| t.delete(id));
    assert_eq!(store.space().live, before.live);
}

fn pinned_bytes(store: &Arc<dyn Store>) {
    let id = sealed(store, &pattern(1, 100_000));
    let reader = store.open(id).expect("the file opens");
    assert_eq!(store.space().pinned, ByteCount(0));
    commit(store, |t| t.delete(id));
    assert!(store.space().pinned.0 >= 100_000, "{:?}", store.space());
    drop(reader);
    assert_eq!(store.space().pinned, ByteCount(0));
}

fn reservation(store: &Arc<dyn Store>) {
    let before = store.space().reserved;
    let reservation = store.reserve(Rank::Flush, ByteCount(200_000)).expect("room");
    assert!(reservation.remaining().0 >= 200_000);
    assert!(store.space().reserved.0 >= before.0 + 200_000);
    let options = CreateOptions {
        kind: FileKind::Table,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Flush,
        reservation: Some(&reservation),
        group: None,
        offload: false,
        cause: Cause::Flush,
    };
    let mut writer = store.create(&options).expect("room for a file");
    writer.append(&pattern(1, 150_000)).expect("an append");
    writer.finish().expect("a finish");
    commit(store, |t| t.seal(writer.id(), note("sealed")));
    drop(writer);
    let left = reservation.remaining();
    assert!(left.0 <= 60_000, "150,000 bytes of 200,000 are used, {left} are left");
    drop(reservation);
    assert_eq!(store.space().reserved, before);
}

fn too_much(store: &Arc<dyn Store>) {
    let capacity = store.space().capacity;
    refused!(
        store.reserve(Rank::Log, ByteCount(capacity.0.saturating_mul(2))),
        StoreError::NoSpace { .. }
    );
    assert_eq!(store.space().reserved, ByteCount(0));
}

fn foreign_reservation(store: &Arc<dyn Store>) {
    let other = crate::store::MemoryStore::new();
    let reservation = other.reserve(Rank::Flush, ByteCount(1000)).expect("room");
    let options = CreateOptions {
        kind: FileKind::Table,
        hint: PlacementHint::default(),
        size: None,
        rank: Rank::Flush,
        reservation: Some(&reservation),
        group: None,
        offload: false,
        cause: Cause::Flush,
    };
    refused!(store.create(&options), StoreError::Invalid(_));
}

fn counted_by_cause(store: &Arc<dyn Store>) {
    let before = store.io();
    sealed(store, &pattern(1, 100_000));
    let after = store.io();
    let flushed = after.written(Cause::Flush).0 - before.written(Cause::Flush).0;
    assert!((100_000..200_000).contains(&flushed), "100,000 bytes written as {flushed}");
    assert_eq!(after.written(Cause::Client), before.written(Cause::Client));
    assert!(after.writes[Cause::Journal as usize] > before.writes[Cause::Journal as usize]);
}
