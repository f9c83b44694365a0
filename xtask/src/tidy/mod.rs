//! `cargo xtask tidy`: checks that the compiler does not make.
//!
//! The shape - layers, file sizes, heads, names, links - is checked by pure functions over the text
//! of the files, each in its own file with a test that shows it can fail. Formatting, lints and
//! documentation are left to the tools that know them. It never changes anything.

mod finding;
mod index;
mod layers;
mod links;
mod names;
mod openings;
mod retired;
mod run;
mod source;
mod text;

pub(crate) use run::{compile, shape};
