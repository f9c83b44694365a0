//! Seats that several clients book at once, by transactions and by compare and swap.
//!
//! A client looks for the first free seat of a train, and books it: two key spaces change together,
//! or not at all. If another client was first, the commit finds a conflict, and `transact` tries
//! again. So no seat is sold twice, and no lock is held. Only the part of a range that a scan has
//! read counts: a client that books the first free seat does not conflict over later ones.
//!
//! `cargo run -p terrace --example reservations`

use std::sync::Arc;
use std::thread;

use terrace::{Db, KeySpace, MemoryStore, Options, Swap};

type Outcome<T> = Result<T, terrace::Error>;

const SEATS: u32 = 60;
const CLIENTS: u32 = 4;

/// A train: its free seats by number, and booked seats by passenger.
#[derive(Clone)]
struct Train {
    db: Db,
    free: KeySpace,
    booked: KeySpace,
}

impl Train {
    fn with_seats(db: Db) -> Outcome<Self> {
        let (free, booked) = (db.create_key_space("free")?, db.create_key_space("booked")?);
        for seat in 0..SEATS {
            free.put(&seat.to_be_bytes(), b"")?;
        }
        Ok(Self { db, free, booked })
    }

    /// Books the first free seat; `None` if the train is full.
    fn book(&self, passenger: &str) -> Outcome<Option<Vec<u8>>> {
        self.db.transact(|transaction| {
            let (free, booked) =
                (transaction.key_space(&self.free)?, transaction.key_space(&self.booked)?);
            let Some(first) = free.scan(..)?.next() else { return Ok(None) };
            let (seat, _) = first?;
            free.delete(&seat)?;
            booked.put(passenger.as_bytes(), &seat)?;
            Ok(Some(seat.to_vec()))
        })
    }

    /// Frees a seat, if the passenger has one.
    fn cancel(&self, passenger: &str) -> Outcome<bool> {
        self.db.transact(|transaction| {
            let booked = transaction.key_space(&self.booked)?;
            let Some(seat) = booked.get(passenger.as_bytes())? else { return Ok(false) };
            booked.delete(passenger.as_bytes())?;
            transaction.key_space(&self.free)?.put(&seat, b"")?;
            Ok(true)
        })
    }
}

/// Adds one to a counter, while other clients may do the same.
fn count(db: &Db, key: &[u8]) -> Outcome<()> {
    let mut before: Option<Vec<u8>> = None;
    loop {
        let bytes = before.as_deref().and_then(|bytes| bytes.first_chunk());
        let next = bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes)) + 1;
        match db.compare_and_swap(key, before.as_deref(), Some(&next.to_be_bytes()))? {
            Swap::Swapped => return Ok(()),
            Swap::Kept(found) => before = found.map(Into::into),
        }
    }
}

fn client(train: &Train, number: u32) -> Outcome<()> {
    for passenger in 0..20 {
        let name = format!("passenger {number}.{passenger}");
        if train.book(&name)?.is_some() {
            count(&train.db, b"bookings")?;
            // Every fourth passenger cancels.
            if passenger % 4 == 0 {
                assert!(train.cancel(&name)?);
            }
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a user of the library has threads of its own")]
fn main() -> Outcome<()> {
    let train = Train::with_seats(Db::open(Arc::new(MemoryStore::new()), Options::default())?)?;
    // One client creates the counter for all.
    assert!(train.db.put_if(b"bookings", None, &0u32.to_be_bytes())?);
    assert!(!train.db.put_if(b"bookings", None, &7u32.to_be_bytes())?);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let train = train.clone();
            thread::spawn(move || client(&train, number))
        })
        .collect();
    for client in clients {
        client.join().expect("a client that does not panic")?;
    }
    let count_of = |space: &KeySpace| -> Outcome<usize> { Ok(space.scan(..)?.count()) };
    let (free, booked) = (count_of(&train.free)?, count_of(&train.booked)?);
    let bookings = train.db.get(b"bookings")?.expect("a counter");
    let bookings = u32::from_be_bytes(*bookings.first_chunk().expect("four bytes"));
    println!("{bookings} bookings, {booked} seats taken, {free} free");
    println!("{} commits came too late and were repeated", train.db.stats().conflicts);
    assert_eq!(free + booked, SEATS as usize, "no seat is lost, and none is sold twice");
    train.db.close()
}
