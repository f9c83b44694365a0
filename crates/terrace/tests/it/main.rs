//! The library's tests: everything joined, from keys down to emulated zones.

mod cuts;
mod devices;
mod full;
mod systems;
