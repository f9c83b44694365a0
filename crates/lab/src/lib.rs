//! Layer 4: what tells whether the store is any good.
//!
//! [`crash`] is the crash simulator; [`model`] plays scripts of all operations against ordered
//! maps; [`bench`] measures what operations cost in real time. Virtual time and reports follow.

pub mod bench;
pub mod crash;
pub mod model;
