//! [`Role`]: a task that one actor at a time may do, and during which the actor may wait. Example:
//! opening a table.
//!
//! A lock must not be held over a call to the store. An actor takes a role instead, and others that
//! want it wait until the [`RoleHolder`] is dropped, also by a panic. No lock is held meanwhile.
//!
//! - Those that wait get the role in no particular order.
//! - An actor that takes a role that it has already waits for ever.
//! - A wait does not end when the engine closes: the holder must come to its end.

use terrace_env::sync::{Condvar, Mutex};

/// Something that one actor at a time does.
#[derive(Debug, Default)]
pub(crate) struct Role {
    taken: Mutex<bool>,
    left: Condvar,
}

impl Role {
    /// Waits until nobody has the role, and takes it.
    pub(crate) fn take(&self) -> RoleHolder<'_> {
        let mut taken = self.taken.lock();
        while *taken {
            self.left.wait(&mut taken);
        }
        *taken = true;
        RoleHolder { role: self }
    }
}

/// Has a role until it is dropped.
#[derive(Debug)]
pub(crate) struct RoleHolder<'a> {
    role: &'a Role,
}

impl Drop for RoleHolder<'_> {
    fn drop(&mut self) {
        *self.role.taken.lock() = false;
        self.role.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;
    use terrace_env::runner;

    #[test]
    fn one_actor_at_a_time_has_the_role_though_it_sleeps_in_it() {
        runner::simulate(1, || {
            let role = Arc::new(Role::default());
            let inside = Arc::new(Mutex::new(0));
            let actors: Vec<_> = (0..5)
                .map(|_| {
                    let (role, inside) = (Arc::clone(&role), Arc::clone(&inside));
                    runner::spawn("actor", move || {
                        let _holder = role.take();
                        *inside.lock() += 1;
                        runner::sleep(Duration::from_millis(1));
                        assert_eq!(*inside.lock(), 1);
                        *inside.lock() -= 1;
                    })
                })
                .collect();
            actors.into_iter().for_each(runner::JoinHandle::join);
        });
    }
}
