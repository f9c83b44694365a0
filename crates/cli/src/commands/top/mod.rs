//! `terrace top STORE`: shows a store while another process writes it, or as it lies there.
//!
//! | part | content |
//! |---|---|
//! | `command` | the command line, one frame as text or JSON, the loop of keys and frames |
//! | `feed` | the actor that asks for samples: of the owner, or of the store itself |
//! | `sample` | a store at a moment, and rates between two moments |
//! | `view` | the state of the screen: order, pause, the zone that is looked at |
//! | `draw` | the whole screen |
//! | `map` | the zones |
//! | `panels` | levels, jobs, rates, amplification, waits, latencies, events |
//!
//! All text of the store is escaped before it is drawn.

mod command;
mod draw;
mod feed;
#[cfg(test)]
mod goldens;
mod map;
mod panels;
mod sample;
mod view;

pub(crate) use command::Top;
