//! The C API from outside: the header is that of the sources, and a program in C does with it what
//! the guide says.

mod example;
mod header;
