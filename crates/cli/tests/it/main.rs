//! The program from outside: each test runs command lines in a directory of its own ([`program`]),
//! and looks at output, exit codes and files.

mod advise;
mod answers;
mod arrivals;
mod backups;
mod bench;
mod device;
mod directory;
mod dump;
mod durability;
mod examples;
mod experiments;
mod failed_zones;
mod host;
mod hostile_names;
mod images;
mod lab;
mod live;
mod load_ends;
mod load_formats;
mod load_rows;
mod loads;
mod manual;
mod maps;
mod mistakes;
mod named_files;
mod nearly_full;
mod offload;
mod open_files;
mod options;
mod parameters_page;
mod program;
mod store;
mod tree;
mod unfinished_copies;
mod upkeep;
