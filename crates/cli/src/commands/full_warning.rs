//! [`FullWarning`]: warns on standard error that a store is nearly full, while a command writes it.
//!
//! The store tells it once, and again only after much has been freed. It may be told by any thread.

use std::path::PathBuf;

use terrace::{Event, Listener};

use crate::escape::Visible;
use crate::screen::Screen;

/// See the [module](self).
pub(super) struct FullWarning {
    /// The path of the store, as it was typed.
    pub(super) path: PathBuf,
}

impl Listener for FullWarning {
    fn notice(&self, event: &Event) {
        let Event::NearlyFull { live, room } = event else { return };
        let path = self.path.display().to_string();
        // The command does its work whether or not the warning can be printed.
        let _ = writeln!(
            Screen::errors(),
            "warning: {}: nearly full: it holds {live}, and has room for about {room} more; when \
             that is used up, puts are refused until something is deleted",
            Visible(&path)
        );
    }
}
