//! [`TerraceStoreReader`]: reads a store that another process may be writing, without asking that
//! process and without writing a byte; and [`TerraceStoreScan`], the entries of a range of it.

use std::mem::MaybeUninit;
use std::path::Path;

use terrace::{ByteCount, Bytes, Db, Reader, ReaderScan};

use crate::TerraceCode;
use crate::failure::{Failure, given, guard};
use crate::slice::TerraceSlice;
use crate::store::{TerraceOptions, bounds};
use crate::value::{TerraceValue, clear, hand_over};

/// Name of the key space that every store has.
const DEFAULT: &str = "default";

/// Reads a store that another process may be writing. It sees the store as it was when it was
/// opened or last refreshed: all writes of `TERRACE_DURABILITY_WRITTEN` or more that had returned
/// by then, and perhaps later ones, without a gap between them.
pub struct TerraceStoreReader(Reader);

/// The entries of a range in order, of a store that another process may be writing. It stands on an
/// entry, or on none: at first, after the last one, and after an error.
pub struct TerraceStoreScan {
    scan: ReaderScan,
    entry: Option<(Bytes, Bytes)>,
}

/// The name of a key space; the default one for no slice.
fn named<'a>(space: TerraceSlice<'a>) -> Result<&'a str, Failure> {
    Ok(match space.optional("space")? {
        Some(_) => space.text("space")?,
        None => DEFAULT,
    })
}

/// Opens a reader of the store in a directory, on the drive of an image, or on a block device. Of
/// the options, those count that are for reads: `memory`, `counters`, `merge_operator`. They may be
/// null. To be freed by `terrace_store_reader_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_reader_open(
    path: TerraceSlice<'_>,
    options: Option<&TerraceOptions<'_>>,
    reader: Option<&mut MaybeUninit<*mut TerraceStoreReader>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(reader, "reader")?;
        let path = Path::new(path.text("path")?);
        let given = TerraceOptions::of(options)?;
        // The reader's own memory; a writer has more use of it.
        let options = given.store_options(path, ByteCount::gib(1))?;
        hand_over(out, TerraceStoreReader(Db::open_reader(path, options)?));
        Ok(())
    })
}

/// Brings a reader to the present state of the store. `*changed`, which may be null, is 1 if that
/// differs from the state before, else 0. Scans that have begun keep their state. After an error,
/// the reader keeps its state.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_reader_refresh(
    reader: Option<&TerraceStoreReader>,
    changed: Option<&mut MaybeUninit<u32>>,
) -> TerraceCode {
    guard(|| {
        let has_changed = given(reader, "reader")?.0.refresh()?;
        if let Some(changed) = changed {
            changed.write(has_changed.into());
        }
        Ok(())
    })
}

/// Reads the value under a key of the key space of a name; of the default one with
/// `terrace_none()`. `TERRACE_CODE_NOT_FOUND`, with `*value` null, if there is none. To be freed by
/// `terrace_value_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_reader_get(
    reader: Option<&TerraceStoreReader>,
    space: TerraceSlice<'_>,
    key: TerraceSlice<'_>,
    value: Option<&mut MaybeUninit<*mut TerraceValue>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(value, "value")?;
        let (reader, space, key) = (given(reader, "reader")?, named(space)?, key.bytes("key")?);
        let found = reader.0.read(|db| db.key_space(space)?.get(key))?;
        let absent = || Failure::new(TerraceCode::NotFound, "expected a value, found none");
        hand_over(out, TerraceValue(found.ok_or_else(absent)?));
        Ok(())
    })
}

/// Begins a scan of the keys from `start` up to, and without, `end`, in the key space of a name; in
/// the default one with `terrace_none()`. With `terrace_none()` as `end`, the range is open. All
/// entries are of the reader's state now. If the writer frees a part that the scan has not read
/// yet, its next step fails with `TERRACE_CODE_MOVED`; unless `goes_on` is not 0: then it continues
/// in a newer state. To be freed by `terrace_store_scan_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_scan_begin(
    reader: Option<&TerraceStoreReader>,
    space: TerraceSlice<'_>,
    start: TerraceSlice<'_>,
    end: TerraceSlice<'_>,
    goes_on: u32,
    scan: Option<&mut MaybeUninit<*mut TerraceStoreScan>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(scan, "scan")?;
        let reader = given(reader, "reader")?;
        let scan = reader.0.scan_key_space(named(space)?, bounds(start, end)?)?;
        let scan = if goes_on != 0 { scan.going_on() } else { scan };
        hand_over(out, TerraceStoreScan { scan, entry: None });
        Ok(())
    })
}

/// Moves to the next entry, if there is one; at first, to the first.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_scan_next(scan: Option<&mut TerraceStoreScan>) -> TerraceCode {
    guard(|| {
        let TerraceStoreScan { scan, entry } = given(scan, "scan")?;
        *entry = None;
        *entry = scan.next().transpose()?;
        Ok(())
    })
}

/// The key of the entry that a scan stands on, valid until the scan moves or is freed; no slice if
/// it stands on none.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_scan_key(scan: Option<&TerraceStoreScan>) -> TerraceSlice<'_> {
    let entry = scan.and_then(|scan| scan.entry.as_ref());
    entry.map_or(TerraceSlice::none(), |(key, _)| TerraceSlice::of(key))
}

/// The value of the entry that a scan stands on, valid until the scan moves or is freed; no slice
/// if it stands on none.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_scan_value(scan: Option<&TerraceStoreScan>) -> TerraceSlice<'_> {
    let entry = scan.and_then(|scan| scan.entry.as_ref());
    entry.map_or(TerraceSlice::none(), |(_, value)| TerraceSlice::of(value))
}

/// Frees a scan. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_scan_free(scan: Option<Box<TerraceStoreScan>>) {
    guard(|| {
        drop(scan);
        Ok(())
    });
}

/// Frees a reader. Scans that have begun go on. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_reader_free(reader: Option<Box<TerraceStoreReader>>) {
    guard(|| {
        drop(reader);
        Ok(())
    });
}
