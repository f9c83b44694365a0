//! The C API from outside: the header is that of the sources, C programs that follow the guide
//! work, and every function keeps its promises at its borders.

mod borders;
mod cassandra;
mod example;
mod header;
