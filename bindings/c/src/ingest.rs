//! [`TerraceIngest`]: sorted input that becomes tables directly, and visible as a whole.

use std::mem::MaybeUninit;

use terrace::Ingest;

use crate::TerraceCode;
use crate::failure::{given, guard};
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
