//! [`Users`]: the users of a thing that one user may change or several may read, such as a device
//! or a store. Two users that write to one device would destroy each other's data.
//!
//! A user takes a [`Claim`] before it uses the thing: one user alone to write, or any number
//! together to read. A call that cannot give a claim returns `None` and does not wait. A claim ends
//! when it is dropped.
//!
//! Claims bind the users that ask for them, within one process. They do not keep other processes
//! out. They may be taken and dropped on any thread.

use std::sync::Arc;

use crate::sync::Mutex;

/// The users of one thing. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Users(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
struct Count {
    readers: usize,
    writer: bool,
}

/// The right to use something, until it is dropped.
#[derive(Debug)]
#[must_use = "a claim ends when it is dropped"]
pub struct Claim {
    users: Users,
    write: bool,
}

impl Users {
    /// Claims it for a user that writes; `None` if there is any other user.
    #[must_use]
    pub fn claim_to_write(&self) -> Option<Claim> {
        let mut count = self.0.lock();
        if count.writer || count.readers > 0 {
            return None;
        }
        count.writer = true;
        Some(Claim { users: self.clone(), write: true })
    }

    /// Claims it for a user that only reads; `None` if there is one that writes.
    #[must_use]
    pub fn claim_to_read(&self) -> Option<Claim> {
        let mut count = self.0.lock();
        if count.writer {
            return None;
        }
        count.readers += 1;
        Some(Claim { users: self.clone(), write: false })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut count = self.users.0.lock();
        if self.write {
            count.writer = false;
        } else {
            count.readers -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use super::*;

    #[test]
    fn one_writes_alone_or_several_read() {
        let users = Users::default();
        let same = users.clone();
        let writer = users.claim_to_write();
        assert!(writer.is_some() && same.claim_to_write().is_none());
        assert!(same.claim_to_read().is_none());
        drop(writer);
        let readers = (users.claim_to_read(), same.claim_to_read());
        assert!(readers.0.is_some() && readers.1.is_some());
        drop(readers.0);
        assert!(users.claim_to_write().is_none());
        drop(readers.1);
        assert!(users.claim_to_write().is_some());
    }

    #[test]
    fn a_panic_ends_a_claim() {
        let users = Users::default();
        let of = users.clone();
        let user = std::panic::catch_unwind(AssertUnwindSafe(move || {
            let _claim = of.claim_to_write();
            panic!("on purpose");
        }));
        assert!(user.is_err() && users.claim_to_write().is_some());
    }
}
