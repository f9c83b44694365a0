//! `terrace serve STORE`: becomes the program `terrace-serve`, which is a crate of its own, so that
//! this one does not have its dependencies. It is looked for in the directory of this program, and
//! then on `PATH`. All words after `serve` are passed on as they are.
//!
//! It opens no store itself. Without `terrace-serve` it fails.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Failure, Kind};

/// The program.
const PROGRAM: &str = "terrace-serve";

/// Serve objects on a store by S3, with the program terrace-serve
#[derive(clap::Args)]
#[command(after_help = "\
terrace-serve must lie next to this program, or on PATH. `terrace-serve --help` lists its options.

Examples:
  terrace serve drive.img
  terrace serve drive.img --listen 127.0.0.1:9000 --keys keys.toml")]
pub(crate) struct Serve {
    /// The store: a directory, the image of a drive, or a block device
    store: PathBuf,
    /// Options of terrace-serve
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

impl Serve {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let own = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
        let places = own.as_deref().map(AsRef::<OsStr>::as_ref).into_iter();
        for place in places.chain([OsStr::new(PROGRAM)]) {
            // Returns only if the program was not started.
            let error = Command::new(place).arg(&self.store).args(&self.options).exec();
            if error.kind() != io::ErrorKind::NotFound {
                let message = format!("cannot run {}: {error}", place.display());
                return Err(Failure::new(Kind::Failed, message));
            }
        }
        let message = format!(
            "expected the program {PROGRAM} next to this one or on PATH, found none; build it with \
             `cargo build --release -p terrace-server`, and copy target/release/{PROGRAM} there"
        );
        Err(Failure::new(Kind::NotFound, message))
    }
}
