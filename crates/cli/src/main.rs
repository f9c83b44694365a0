//! The `terrace` program.

fn main() {}
