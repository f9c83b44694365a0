//! `terrace import IMAGE DIR`: stores the regular files and symbolic links of a directory tree.
//!
//! - `--exclude` leaves files and directories out ([`Exclude`]), and `--skip-large` files that are
//!   larger than the largest value, which are counted.
//! - The tree is walked twice. The first walk reads no contents: it adds up sizes, and finds files
//!   that are larger than the largest value before anything is stored.
//! - After an error of the second walk, such as a file that cannot be read, a part of the tree is
//!   in the store: the batches that were written before.
//! - Sockets, devices and pipes are skipped and counted.
//! - A path that an earlier import stored, and that is no longer in the tree, stays in the store,
//!   unless the tree has something of another kind in its place: a file that takes the place of a
//!   link or of a directory replaces it, and the other way round.

use std::path::PathBuf;

use serde_json::json;
use terrace_env::ByteCount;

use super::entry::Space;
use super::target::Target;
use super::under::{Consent, Under};
use crate::exclude::Exclude;
use crate::failure::Failure;
use crate::loader::{Loaded, Loader};
use crate::output::{Output, counted};
use crate::progress::Progress;
use crate::tree::{self, Strictness};

/// Store a directory tree: its regular files and symbolic links.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace import drive.img docs --space documents
  terrace import drive.img docs --exclude '*.html' --exclude lab --skip-large")]
pub(crate) struct Import {
    #[command(flatten)]
    target: Target,
    /// The directory
    dir: PathBuf,
    #[command(flatten)]
    exclude: Exclude,
    /// Leave out files that are larger than the largest value, 64 MiB, and count them; without it
    /// such a file is an error before anything is stored
    #[arg(long)]
    skip_large: bool,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    under: Under,
    #[command(flatten)]
    consent: Consent,
}

impl Import {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        self.space.check_for_files()?;
        let size_max = terrace::VALUE_BYTES_MAX as u64;
        // A file that cannot be stored is found before anything is stored; the list is not kept.
        let mut total = 0;
        let strictness = if self.skip_large { Strictness::SkipLarge } else { Strictness::Fail };
        let skipped = tree::visit(&self.dir, &self.exclude, size_max, strictness, |entry| {
            total += entry.content.size();
            Ok(())
        })?;
        let db = self.target.db_made(&self.under, self.consent.create_store)?;
        let mut loader = Loader::new(&db, self.space.make(&db)?)?;
        let progress = Progress::bytes("importing", total);
        tree::visit(&self.dir, &self.exclude, size_max, strictness, |entry| {
            progress.add(loader.entry(&self.dir, &entry)?);
            Ok(())
        })?;
        let finished = loader.finish().and_then(|loaded| Ok(db.close().map(|()| loaded)?));
        let finished = finished.map_err(|failure| self.target.named(failure));
        let Loaded { files, links, bytes } = finished?;
        drop(progress);
        let (skipped, large) = (skipped.special, skipped.too_large);
        let json = json!({
            "files": files,
            "links": links,
            "bytes": bytes,
            "skipped": skipped,
            "skipped_too_large": large,
        });
        output.result(&json, |out| {
            let size = ByteCount(bytes);
            let files = counted(files, "file", "files");
            let links = counted(links, "symbolic link", "symbolic links");
            writeln!(out, "imported {files} of {size} in all, and {links}")?;
            if skipped > 0 {
                writeln!(out, "skipped {skipped} sockets, devices and pipes")?;
            }
            if large > 0 {
                let large = counted(large, "file", "files");
                writeln!(out, "skipped {large} larger than {}", ByteCount(size_max))?;
            }
            Ok(())
        })
    }
}
