//! The store in a plain directory.

mod client;
mod conformance;
mod crowd;
mod cuts;
mod damage;
mod full;
mod gathered;
mod golden;
mod handles;
mod opening;
mod specimen;
mod tail;
mod views;
mod world;
