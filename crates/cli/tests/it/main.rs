//! The program from outside: command lines in, output and exit codes out.

mod bench;
mod device;
mod directory;
mod dump;
mod durability;
mod experiments;
mod lab;
mod manual;
mod program;
mod store;
mod tree;
mod upkeep;
