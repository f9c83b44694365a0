//! The store in a plain directory.

mod conformance;
mod world;
