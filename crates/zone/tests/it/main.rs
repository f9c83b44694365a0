//! Tests of devices, of the emulator and of the timing models, over the public interface of the
//! crate.

mod block_devices;
mod conformance;
mod cut_oracle;
mod drives;
mod faults;
mod geometries;
mod images;
mod linux_devices;
mod power_cuts;
mod replay;
mod state_machine;
mod timing;
mod tracks;
