//! Integration tests of the lab: the store as a whole under power cuts, damage, failures, scripts
//! and threads; models of drives; runs in virtual time; plots and reports.

mod bands;
mod block_file_system;
#[cfg(debug_assertions)]
mod canary;
mod checkpoints;
mod crowd;
mod cuts;
mod drives;
mod flips;
mod golden;
mod linearizability;
mod linux_devices;
mod load;
mod model;
mod open_loop;
mod papers;
mod places;
mod plots;
mod queue_depth;
mod report;
mod run;
mod serial;
mod simulate;
mod specimen;
mod statistics;
mod sweep;
mod syncs;
mod workload;
