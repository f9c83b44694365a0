//! The model of a ZNS SSD: dies behind channels, a controller, a link and a write buffer.
//!
//! | part | what it knows |
//! |---|---|
//! | `parameters` | what a drive file says |
//! | `dies` | what each die and channel is busy with |
//! | `model` | joins them: when commands complete |
//! | `plain` | the same as an SSD that is written anywhere |
//!
//! The times of calls never go back. An SSD has no conventional zones: a drive file with both is
//! refused.

mod dies;
mod model;
mod parameters;
mod plain;

pub use model::Flash;
pub(super) use parameters::FlashParameters;
pub(super) use plain::PlainFlash;
