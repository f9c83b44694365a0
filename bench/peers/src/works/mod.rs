//! The loads, and their order in one child process, which measures one engine once.
//!
//! | file | content |
//! |---|---|
//! | `work` | names of the loads |
//! | `round` | their order, and the state of the store that each finds |
//! | `line` | results |
//! | `load` | a store with the numbers that are in it, and threads that carry out operations |
//! | `writes`, `reads`, `large`, `opening` | the loads |

mod large;
mod line;
mod load;
mod opening;
mod reads;
mod round;
mod work;
mod writes;

pub(crate) use line::{Line, Round};
pub(crate) use load::Setting;
pub(crate) use opening::fill_and_die;
pub(crate) use round::run;
pub(crate) use work::Work;
