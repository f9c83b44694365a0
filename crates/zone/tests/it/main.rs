//! Tests of the zoned devices, from outside.

mod cut_oracle;
mod geometries;
mod power_cuts;
mod state_machine;
