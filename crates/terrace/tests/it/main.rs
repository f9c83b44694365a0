//! The library's tests, over all layers: from keys down to emulated zones. Each module has one
//! subject; `kills_child` and `resident_child` are processes that tests start, and
//! `reset_child` one of the virtual machine of `cargo xtask guest`.

#[cfg(feature = "async")]
mod async_db;
mod backup;
mod backup_cuts;
mod backup_model;
mod checkpoint;
mod compaction_filter;
mod compaction_rate;
mod cuts;
mod delete_only;
mod devices;
mod errors;
mod expiry;
mod extremes;
mod fills;
mod flakey;
mod full;
mod geardb;
mod handles;
mod ingest;
mod kept_stores;
mod key_space_options;
mod kills;
mod kills_child;
mod kinds;
mod lifetime;
mod linux_devices;
mod live;
mod log_device;
mod mapped;
mod merging;
mod named_files;
mod nearly_full;
mod no_threads;
mod offload;
mod old_versions;
mod puts;
mod ranges;
mod reader;
mod reads;
mod reset_child;
mod resident;
mod resident_child;
mod rows;
mod sets;
mod smrdb;
mod spaces;
mod synced_handles;
mod systems;
mod table_options;
mod throttle;
#[cfg(feature = "tracing")]
mod tracing_events;
mod tracks;
mod tracks_full;
mod transactions;
mod unlogged;
mod worn;
