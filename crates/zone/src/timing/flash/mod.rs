//! The timing model of an SSD: dies on channels, a controller, a link to the host and a write
//! buffer. It is made for ZNS SSDs.
//!
//! | part | content |
//! |---|---|
//! | `parameters` | the parameters in a drive file |
//! | `dies` | the work of each die and channel |
//! | `model` | joins them: when the commands of a ZNS SSD complete |
//! | `plain` | the same for an SSD without zones, which is written anywhere |
//!
//! Zones are sequential: the parameters of a drive with conventional zones are refused. The times
//! of calls must not go back.

mod dies;
mod model;
mod parameters;
mod plain;

pub use model::Flash;
pub(super) use parameters::FlashParameters;
pub(super) use plain::PlainFlash;
