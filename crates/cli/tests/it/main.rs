//! The program from outside: command lines in, output and exit codes out.

mod answers;
mod arrivals;
mod bench;
mod device;
mod directory;
mod dump;
mod durability;
mod examples;
mod experiments;
mod host;
mod images;
mod lab;
mod manual;
mod maps;
mod program;
mod store;
mod tree;
mod upkeep;
