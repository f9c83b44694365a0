//! `--system NAME`: the system that a store is opened under.

use std::fmt::Write;

use terrace::{MEMTABLES_KEPT, System, ZONES_KEPT};

/// A system, as one types it.
#[derive(clap::Args)]
pub(crate) struct Under {
    /// Open the store under this system: NAME, or NAME:FIGURE=VALUE,... The store remembers it;
    /// without this option it is opened under the system it was opened under last
    #[arg(long, value_name = "NAME", long_help = long_help())]
    pub(crate) system: Option<System>,
}

fn long_help() -> String {
    let mut help = "Open the store under this system: NAME, or NAME:FIGURE=VALUE,...\n\n\
                    The store remembers it; without this option it is opened under the system it \
                    was opened under last, and a new one under the first of these:\n"
        .to_owned();
    for system in System::all() {
        let (name, summary, live_max) = (system.name(), system.summary(), system.row.live_max());
        let _ = write!(help, "\n- {name}: {summary} ({live_max} %)");
    }
    let _ = write!(
        help,
        "\n\nIn brackets: of the store without {ZONES_KEPT} zones and {MEMTABLES_KEPT} memtables, \
         the share up to which keys and values can be overwritten in random order without end"
    );
    let figures = System::figures().join(", ");
    let _ = write!(help, "\n\nFigures: {figures}; those that are not given, the system has itself");
    help
}
