//! [`TerraceCompactionFilters`]: functions of the program that say which values of a key space
//! compactions keep.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use terrace::CompactionFilters;

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::slice::TerraceSlice;
use crate::user_data::{TerraceUserData, UserData};
use crate::value::{clear, hand_over};

/// Says whether compactions keep the value of a key: 0 for a value that goes.
///
/// A compaction asks about the newest value of each key in the tables that it merges, and keeps all
/// values that a snapshot may see. The function is called from several threads at once, in no
/// order, and may be asked about the same value again. It should give the same answer each time,
/// and be quick. It must not call the store, nor leave by `longjmp` or an exception.
pub type TerraceKeep =
    Option<extern "C" fn(data: *mut c_void, key: TerraceSlice<'_>, value: TerraceSlice<'_>) -> u32>;

/// Filters of key spaces, for the options of `terrace_store_open`.
pub struct TerraceCompactionFilters(pub(crate) CompactionFilters);

/// Makes a set of filters, without one. To be freed by `terrace_compaction_filters_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_compaction_filters_new(
    filters: Option<&mut MaybeUninit<*mut TerraceCompactionFilters>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(filters, "filters")?;
        hand_over(out, TerraceCompactionFilters(CompactionFilters::default()));
        Ok(())
    })
}

/// Sets the filter of a key space, which need not be there yet, in place of the one that it had.
/// The user data is taken over if the call succeeds, and destroyed when the filters were freed, or
/// the key space got another one, and all stores with the filter are closed.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_compaction_filters_set(
    filters: Option<&mut TerraceCompactionFilters>,
    key_space: TerraceSlice<'_>,
    keep: TerraceKeep,
    data: TerraceUserData,
) -> TerraceCode {
    guard(|| {
        let filters = given(filters, "filters")?;
        let (name, keep) = (key_space.text("key_space")?, given(keep, "keep")?);
        let data = UserData::new(data);
        filters.0.set(name, move |key, value| {
            keep(data.pointer(), TerraceSlice::of(key), TerraceSlice::of(value)) != 0
        });
        Ok(())
    })
}

/// Frees a set of filters; stores that are open keep them. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_compaction_filters_free(filters: Option<Box<TerraceCompactionFilters>>) {
    guard(|| {
        drop(filters);
        Ok(())
    });
}
