//! [`TerraceIngest`]: sorted input that becomes tables directly, and visible as a whole; and
//! checkpoints and backups, which copy a store while it is written.

use std::mem::MaybeUninit;
use std::path::Path;

use terrace::Ingest;

use crate::TerraceCode;
use crate::failure::{Failure, given, guard};
use crate::key_space::TerraceKeySpace;
use crate::slice::TerraceSlice;
use crate::store::TerraceStore;
use crate::value::{clear, hand_over};

/// Sorted input on its way into a store.
pub struct TerraceIngest(Ingest);

/// Begins an ingest. To be ended by `terrace_ingest_finish` or `terrace_ingest_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_ingest_begin(
    store: Option<&TerraceStore>,
    ingest: Option<&mut MaybeUninit<*mut TerraceIngest>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(ingest, "ingest")?;
        hand_over(out, TerraceIngest(given(store, "store")?.db.ingest()?));
        Ok(())
    })
}

/// Adds a key, which must come after all others of its key space; its key space must not be older
/// than that of the last key. `TERRACE_CODE_OUT_OF_ORDER` leaves out only this key.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_ingest_put(
    ingest: Option<&mut TerraceIngest>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    value: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (ingest, space) = (given(ingest, "ingest")?, given(space, "space")?);
        let (key, value) = (key.bytes("key")?, value.bytes("value")?);
        Ok(ingest.0.key_space(&space.0)?.put(key, value)?)
    })
}

/// Makes everything visible at once and durable, or, with an error, nothing. Frees the handle in
/// any case. Null is refused.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_ingest_finish(ingest: Option<Box<TerraceIngest>>) -> TerraceCode {
    guard(|| {
        given(ingest, "ingest")?.0.finish()?;
        Ok(())
    })
}

/// Cancels an ingest, which leaves no trace. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_ingest_free(ingest: Option<Box<TerraceIngest>>) {
    guard(|| {
        drop(ingest);
        Ok(())
    });
}

/// Copies the current state of a store into a directory that is empty or does not exist, while
/// writes go on. The copy is an independent store.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_checkpoint(
    store: Option<&TerraceStore>,
    directory: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (store, path) = (given(store, "store")?, directory_of(directory)?);
        store.db.checkpoint_directory(path)?;
        Ok(())
    })
}

/// Makes a directory a backup of a store, while writes go on. The directory is empty or does not
/// exist, or it has an earlier backup of this store: then only new tables are copied, and the new
/// backup replaces the earlier one at the end. After an error before that, the earlier backup is as
/// it was. A backup that was opened for writing is an ordinary store, which is refused with
/// `TARGET_NOT_EMPTY`, as is every other store that is not empty.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_backup(
    store: Option<&TerraceStore>,
    directory: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (store, path) = (given(store, "store")?, directory_of(directory)?);
        store.db.backup_directory(path)?;
        Ok(())
    })
}

/// The path of a directory, which need not exist.
fn directory_of(directory: TerraceSlice<'_>) -> Result<&Path, Failure> {
    let path = Path::new(directory.text("directory")?);
    if path.is_file() {
        let path = path.display();
        return Err(Failure::invalid(format_args!("{path}: expected a directory, found a file")));
    }
    Ok(path)
}
