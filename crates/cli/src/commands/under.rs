//! `--system NAME`: chooses the system under which a command opens a store. The store remembers it,
//! with its parameters, for later openings. Commands that only read a store do not have the option.

use terrace::System;

/// A system, as one types it.
#[derive(clap::Args)]
pub(crate) struct Under {
    /// Open the store under this system, of those that `terrace systems` lists: NAME, or
    /// NAME:PARAMETER=VALUE,... The store remembers it; without this option it is opened under the
    /// one it was opened under last
    #[arg(long, value_name = "NAME")]
    pub(crate) system: Option<System>,
}
