//! [`Company`]: the entries of a group of bodies that were published together. They are committed
//! together, when all members have brought theirs, or have left.
//!
//! Any thread may call. A commit waits for the other members and for the device.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::{Db, Error, StoreError, Transaction};
use terrace_env::sync::{CommitQueue, GroupCommit};
use terrace_env::wait::{WaitCause, WaitCounts};

use super::moving::Move;

/// The entries of a group. There is a writer when no member is missing.
pub(super) struct Company {
    /// Members that have neither brought their entry nor left.
    missing: usize,
    waiting: Vec<(u64, Transaction)>,
    next: u64,
    committed: BTreeMap<u64, Result<(), Error>>,
}

/// The place of a put in its group. A put that fails before its entry is there drops it.
pub(super) struct Member {
    company: Arc<GroupCommit<Company>>,
    waits: Arc<WaitCounts>,
    /// The put, which is on its way until its entry is committed.
    moving: Option<Move>,
}

/// The error of the members of a group whose leader panicked.
pub(super) fn leader_panicked() -> Error {
    let panicked = std::io::Error::other("a bug: its leader panicked");
    StoreError::io("a group of bodies", panicked).into()
}

impl CommitQueue for Company {
    type Writer = ();
    type Error = Error;

    fn lose_writer(&mut self) -> Error {
        leader_panicked()
    }
}

impl Company {
    /// The members of a group, one for each of these puts.
    pub(super) fn of(puts: Vec<Move>, waits: &Arc<WaitCounts>) -> impl Iterator<Item = Member> {
        let missing = puts.len();
        let company = Self { missing, waiting: Vec::new(), next: 0, committed: BTreeMap::new() };
        let company = Arc::new(GroupCommit::new(company, None));
        let waits = Arc::clone(waits);
        puts.into_iter().map(move |put| Member {
            company: Arc::clone(&company),
            waits: Arc::clone(&waits),
            moving: Some(put),
        })
    }
}

impl Member {
    /// Commits a transaction together with those of the other members.
    pub(super) fn commit(mut self, db: &Db, transaction: Transaction) -> Result<(), Error> {
        let (company, waits) = (Arc::clone(&self.company), Arc::clone(&self.waits));
        let _moving = self.moving.take();
        let mut queue = company.lock();
        let ticket = queue.next;
        queue.next += 1;
        queue.waiting.push((ticket, transaction));
        drop(queue);
        drop(self);
        company.commit(
            company.lock(),
            (&waits, WaitCause::Queue),
            |queue| queue.committed.remove(&ticket),
            |queue, ()| std::mem::take(&mut queue.waiting),
            |lead, group| {
                let (tickets, transactions): (Vec<_>, Vec<_>) = group.into_iter().unzip();
                let answers = db.commit_each(transactions);
                lead.publish(|queue| queue.committed.extend(tickets.into_iter().zip(answers)));
            },
        )
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut queue = self.company.lock();
        queue.missing -= 1;
        let is_last = queue.missing == 0;
        drop(queue);
        if is_last {
            self.company.open((), |_| {});
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace::{MemoryStore, Options};
    use terrace_env::runner;

    use super::super::moving::Moving;
    use super::*;

    /// Members that bring their entries, or leave, after these milliseconds; returns the time at
    /// which each has its answer.
    fn answers(members: &[(u32, bool)]) -> Vec<u128> {
        let members = members.to_vec();
        runner::simulate(1, move || {
            let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).expect("a store");
            let moving = Arc::<Moving>::default();
            let moves = members.iter().map(|_| moving.begin()).collect();
            let (waits, begun) = (Arc::default(), runner::now());
            let company: Vec<Member> = Company::of(moves, &waits).collect();
            let come = |(number, (member, (after, stays))): (usize, (Member, (u32, bool)))| {
                let db = db.clone();
                runner::spawn("member", move || {
                    runner::sleep(Duration::from_millis(after.into()));
                    if stays {
                        let transaction = db.transaction().expect("a transaction");
                        transaction.put(&[number as u8], b"entry").expect("a put");
                        member.commit(&db, transaction).expect("a commit");
                        assert!(db.contains(&[number as u8]).expect("a read"));
                    }
                    (runner::now() - begun).as_millis()
                })
            };
            let actors: Vec<_> = company.into_iter().zip(members).enumerate().map(come).collect();
            let times = actors.into_iter().map(runner::JoinHandle::join).collect();
            db.close().expect("a close");
            times
        })
    }

    #[test]
    fn entries_are_committed_when_the_last_member_has_come_or_left() {
        for (members, expected) in [
            (&[(3, true)][..], &[3][..]),
            (&[(3, true), (9, true), (5, true)], &[9, 9, 9]),
            // The first one leaves, the last one, and all but one.
            (&[(1, false), (9, true), (5, true)], &[1, 9, 9]),
            (&[(3, true), (9, false), (5, true)], &[9, 9, 9]),
            (&[(7, false), (2, true), (9, false)], &[7, 9, 9]),
            (&[(7, false), (9, false)], &[7, 9]),
        ] {
            assert_eq!(answers(members), expected, "{members:?}");
        }
    }
}
