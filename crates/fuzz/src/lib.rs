//! Layer 1, for tests alone: a harness that gives damaged inputs to decoders.
//!
//! A [`Target`] is a decoder with some valid inputs, its specimens. A [`mutation`] makes an input
//! from a specimen, as the bytes of a script say, and may then mend its checksums, so that damage
//! reaches the code after the checksum's test. [`fuzz!`] runs a target in an ordinary `cargo test`:
//! first the scripts that are kept as files, then those of the seeds of
//! [`test_seeds`](terrace_env::test_seeds). `cargo xtask fuzz` runs the same targets for a given
//! time, with random scripts of the crate `bolero`, which also shrinks a script that fails.
//!
//! For every input, a target must keep these rules:
//!
//! - The decoder does not panic.
//! - It holds no more memory than a multiple of the length of its input, and needs at most
//!   [`PROCESSOR_TIME_MAX`] for one.
//! - If it accepts an input, and there is an encoder, then the encoded bytes are accepted, too, and
//!   are encoded to the same bytes.
//!
//! A run fails, too, if it accepts no input that differs from the specimens, or refuses none: then
//! it does not reach the decoder's code.
//!
//! This crate replaces the allocator of the test binary by one that counts. It knows no format, and
//! coverage does not guide it.

mod fuzz;
pub mod mutation;
mod script;
mod target;

pub use bolero;

pub use fuzz::{Engine, run, specimens_in};
pub use target::{PROCESSOR_TIME_MAX, Target};
