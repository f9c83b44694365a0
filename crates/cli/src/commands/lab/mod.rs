//! `terrace lab`: experiments in virtual time.

mod command;
mod drives;
mod validate_drives;

pub(crate) use command::Lab;
