//! The model of a ZNS SSD: dies behind channels, a controller, a link and a write buffer.
//!
//! | part | what it knows |
//! |---|---|
//! | `parameters` | what a drive file says |
//! | `dies` | what each die and channel is busy with |
//! | `model` | joins them: when commands complete |
//!
//! The times of calls never go back. An SSD has no conventional zones: a drive file with both is
//! refused.

mod dies;
mod model;
mod parameters;

pub use model::Flash;
pub(super) use parameters::FlashParameters;
