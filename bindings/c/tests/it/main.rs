//! The C API from outside: the header is that of the sources, and C programs that follow the guide
//! work.

mod example;
mod header;
