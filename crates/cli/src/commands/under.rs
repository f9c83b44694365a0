//! The option `--system NAME`, or `--system NAME:PARAMETER=VALUE,...`: the system (where tables go,
//! which are merged, and how space comes back) under which a command opens a store.

use terrace::System;

/// A system, as one types it.
#[derive(clap::Args)]
pub(crate) struct Under {
    /// Open the store under this system, of those that `terrace systems` lists: NAME, or
    /// NAME:PARAMETER=VALUE,... The store remembers it; without this option it is opened under the
    /// one it was opened under last
    #[arg(long, value_name = "NAME", value_parser = System::asked)]
    pub(crate) system: Option<System>,
}
