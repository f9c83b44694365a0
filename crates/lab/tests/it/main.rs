//! The store as a whole, on an emulated drive, against everything that can happen to it.

#[cfg(feature = "canary")]
mod canary;
mod cuts;
mod drives;
mod flips;
mod linearizability;
mod load;
mod model;
mod run;
mod serial;
mod workload;
