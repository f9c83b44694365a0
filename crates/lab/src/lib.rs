//! Layer 4: what tells whether the store is any good.
//!
//! [`crash`] is the crash simulator, [mod@bench] the measuring instrument. Experiments and reports
//! follow.

pub mod bench;
pub mod crash;
