//! Layer 4: what tells whether the store is any good.
//!
//! [`crash`] is the crash simulator. Workloads, experiments and reports follow.

pub mod crash;
