//! Tests of the zoned devices, from outside.

mod block_devices;
mod conformance;
mod cut_oracle;
mod drives;
mod faults;
mod geometries;
mod images;
mod power_cuts;
mod state_machine;
mod timing;
mod tracks;
