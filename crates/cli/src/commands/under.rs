//! The option `--system NAME`, or `--system NAME:PARAMETER=VALUE,...`: the system (where tables go,
//! which are merged, and how space comes back) under which a command opens a store. The option
//! `--compaction-rate BYTES`: how fast its compactions may be. The option `--create-store`: whether
//! a command makes a store where files without a store lie. Other commands take the text of a
//! system by [`known_system`].

use terrace::{ByteCount, ParseSystemError, System};

/// A system, as one types it.
#[derive(Default, clap::Args)]
pub(crate) struct Under {
    /// Open the store under this system, of those that `terrace systems` lists: NAME, or
    /// NAME:PARAMETER=VALUE,... The store remembers it; without this option it is opened under the
    /// one it was opened under last
    #[arg(long, value_name = "NAME", value_parser = System::asked)]
    pub(crate) system: Option<System>,
    /// Let compactions go through at most this number of bytes of keys and values a second, such as
    /// 20MB, while no writer waits for them and space is not short [default: no limit]
    #[arg(long, value_name = "BYTES")]
    pub(crate) compaction_rate: Option<ByteCount>,
}

/// Whether a store is made, as one types it.
#[derive(clap::Args)]
pub(crate) struct Consent {
    /// Make a store of a drive that was formatted for files with names (`format --files`) and has
    /// none. Without this word such a drive is refused
    #[arg(long)]
    pub(crate) create_store: bool,
}

/// A system that is known, as its text: experiments name systems as they were typed.
pub(crate) fn known_system(text: &str) -> Result<String, ParseSystemError> {
    System::asked(text).map(|_| text.to_owned())
}
