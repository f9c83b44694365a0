//! [`TerraceListing`]: the files of a file system at one moment, in the order of their names.

use std::mem::MaybeUninit;

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::fs::{TerraceFileInfo, TerraceFs};
use crate::slice::TerraceSlice;
use crate::value::{clear, hand_over};

/// Files at one moment, in the order of their names. A file of several names comes several times.
pub struct TerraceListing(Vec<(String, TerraceFileInfo)>);

/// Lists the files whose names begin with `prefix`. To be freed by `terrace_listing_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_list(
    fs: Option<&TerraceFs>,
    prefix: TerraceSlice<'_>,
    listing: Option<&mut MaybeUninit<*mut TerraceListing>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(listing, "listing")?;
        let prefix = match prefix.optional("prefix")? {
            Some(_) => prefix.text("prefix")?,
            None => "",
        };
        let found = given(fs, "fs")?.files.list(prefix).into_iter();
        let found = found.map(|(name, info)| (name, TerraceFileInfo::of(&info)));
        hand_over(out, TerraceListing(found.collect()));
        Ok(())
    })
}

/// Number of listed files; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_listing_len(listing: Option<&TerraceListing>) -> usize {
    listing.map_or(0, |listing| listing.0.len())
}

/// The name of a file of the list, valid until the list is freed; no slice beyond its end.
/// Information about the file is written to `*info`, which may be null.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_listing_at<'a>(
    listing: Option<&'a TerraceListing>,
    index: usize,
    info: Option<&mut MaybeUninit<TerraceFileInfo>>,
) -> TerraceSlice<'a> {
    let Some((name, found)) = listing.and_then(|listing| listing.0.get(index)) else {
        return TerraceSlice::none();
    };
    if let Some(info) = info {
        info.write(*found);
    }
    TerraceSlice::of(name.as_bytes())
}

/// Frees a list. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_listing_free(listing: Option<Box<TerraceListing>>) {
    guard(|| {
        drop(listing);
        Ok(())
    });
}
