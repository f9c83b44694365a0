//! The store as a whole, on an emulated drive, against everything that can happen to it.

mod cuts;
mod flips;
