//! The model of a ZNS SSD: dies behind channels, a controller, a link and a write buffer.
//!
//! | part | content |
//! |---|---|
//! | `parameters` | the parameters in a drive file |
//! | `dies` | what each die and channel is busy with |
//! | `model` | joins them: when commands complete |
//! | `plain` | the same as an SSD that is written anywhere |
//!
//! A drive file that gives an SSD conventional zones is refused. The times of calls must not go
//! back.

mod dies;
mod model;
mod parameters;
mod plain;

pub use model::Flash;
pub(super) use parameters::FlashParameters;
pub(super) use plain::PlainFlash;
