//! The library's tests: everything joined, from keys down to emulated zones.

mod devices;
mod full;
