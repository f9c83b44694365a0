//! The steps of the demonstration before the burst. A directory tree is loaded, read back and
//! compared. Then, in the order of paths, every third file, from the first on, is overwritten and
//! the next file is deleted. The files that are left are scanned and compared.
//!
//! The load and the changes end with a sync. Symbolic links are loaded and not compared. A file
//! that cannot be read, or is too large for a value, is left out and counted.

use std::path::Path;

use indicatif::HumanCount;
use terrace::{Batch, ByteCount, Db, KeySpace, SpaceInUse, Stats};

use super::model::Model;
use super::outcome::Steps;
use crate::failure::Failure;
use crate::loader::{self, Loaded, Loader};
use crate::progress::Progress;
use crate::tree::{Content, Tree};

/// The key space of the files.
pub(super) const FILES: &str = "files";

/// The store as it is when the power goes.
pub(super) struct Life {
    /// Expected contents.
    pub(super) model: Model,
    pub(super) loaded: Loaded,
    pub(super) verified: u64,
    pub(super) overwritten: u64,
    pub(super) deleted: u64,
    pub(super) stats: Stats,
    pub(super) space_efficiency: f64,
}

/// Carries out the life.
pub(super) fn live(
    db: &Db,
    root: &Path,
    tree: &mut Tree,
    steps: &mut Steps<'_>,
) -> Result<Life, Failure> {
    let files = db.create_key_space(FILES)?;
    let mut model = Model::default();
    let loaded = steps.take(
        "load",
        || load(db, &files, root, tree, &mut model),
        |loaded| {
            let size = ByteCount(loaded.bytes);
            format!("{} files, {size}, into the store", HumanCount(loaded.files))
        },
    )?;
    let verified = steps.take(
        "read",
        || model.read_all(&files),
        |count| format!("{} files back, each the same bit for bit", HumanCount(*count)),
    )?;
    let (overwritten, deleted) = steps.take(
        "change",
        || change(db, &files, &mut model),
        |(overwritten, deleted)| {
            let (overwritten, deleted) = (HumanCount(*overwritten), HumanCount(*deleted));
            format!("{overwritten} files overwritten, {deleted} deleted, compactions done")
        },
    )?;
    steps.take(
        "scan",
        || model.scan_all(&files),
        |count| format!("{} files in order, each with its newest contents", HumanCount(*count)),
    )?;
    let stats = db.stats();
    let space_efficiency = match db.fs() {
        Some(fs) => SpaceInUse::of(fs, &stats)?.efficiency(),
        None => 0.0,
    };
    Ok(Life { model, loaded, verified, overwritten, deleted, stats, space_efficiency })
}

/// Loads the tree. A file that cannot be read, or has grown too large meanwhile, is left out.
fn load(
    db: &Db,
    files: &KeySpace,
    root: &Path,
    tree: &mut Tree,
    model: &mut Model,
) -> Result<Loaded, Failure> {
    let progress = Progress::bytes("loading", tree.bytes());
    let mut loader = Loader::new(db, files.clone())?;
    for entry in &tree.entries {
        if let Content::Link(_) = entry.content {
            loader.entry(root, entry)?;
            continue;
        }
        match loader::read(root, &entry.path) {
            Ok(contents) if contents.len() > terrace::VALUE_BYTES_MAX => {
                tree.skipped.too_large += 1;
            }
            Ok(contents) => {
                loader.file(&entry.path, &contents)?;
                model.put(&entry.path, &contents);
                progress.add(contents.len() as u64);
            }
            Err(_) => tree.skipped.unreadable += 1,
        }
    }
    let loaded = loader.finish()?;
    db.sync()?;
    Ok(loaded)
}

/// Overwrites every third file with other contents and deletes the one after it; then waits until
/// the compactions that follow are done.
fn change(db: &Db, files: &KeySpace, model: &mut Model) -> Result<(u64, u64), Failure> {
    let progress = Progress::pieces("changing", model.len());
    let (mut overwritten, mut deleted) = (0, 0);
    for (number, key) in model.keys().into_iter().enumerate() {
        let mut batch = Batch::new();
        match number % 3 {
            0 => {
                let value: Vec<u8> = match files.get(&key)? {
                    // Another length as well, so that no value can pass for its predecessor.
                    Some(value) => value.iter().rev().copied().chain(*b"\n").collect(),
                    None => Vec::new(),
                };
                // As large as a value can be, it would not fit once more.
                let value = &value[..value.len().min(terrace::VALUE_BYTES_MAX)];
                batch.key_space(files).put(&key, value);
                model.put(&key, value);
                overwritten += 1;
            }
            1 => {
                batch.key_space(files).delete(&key);
                model.delete(&key);
                deleted += 1;
            }
            _ => {}
        }
        if !batch.is_empty() {
            db.write(batch)?;
        }
        progress.add(1);
    }
    db.sync()?;
    db.wait_idle()?;
    Ok((overwritten, deleted))
}
