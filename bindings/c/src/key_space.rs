//! [`TerraceKeySpace`]: a separate ordered map within a store.

use std::mem::MaybeUninit;

use terrace::KeySpace;

use crate::TerraceCode;
use crate::failure::{Failure, given, guard};
use crate::slice::TerraceSlice;
use crate::store::{TerraceStore, durability};
use crate::value::{clear, hand_over};

/// A key space. It belongs to one opening of one store.
pub struct TerraceKeySpace(pub(crate) KeySpace, HasCounters);

/// Whether a store was opened with `counters`.
#[derive(Clone, Copy)]
pub(crate) struct HasCounters(pub(crate) bool);

impl TerraceKeySpace {
    pub(crate) fn new(space: KeySpace, has_counters: HasCounters) -> Self {
        Self(space, has_counters)
    }

    pub(crate) fn has_counters(&self) -> HasCounters {
        self.1
    }

    /// Refuses additions to a store without counters: to another merge operator, an amount is an
    /// operand like any other.
    pub(crate) fn check_counters(&self) -> Result<(), Failure> {
        let HasCounters(has_counters) = self.1;
        let message = "counters: expected in the options of the opening, found none";
        has_counters.then_some(()).ok_or_else(|| Failure::new(TerraceCode::Option, message))
    }
}

/// The key space of a call, with the durability of the call.
pub(crate) fn space_of(space: Option<&TerraceKeySpace>, number: u32) -> Result<KeySpace, Failure> {
    let TerraceKeySpace(space, _) = given(space, "space")?;
    Ok(match durability(number)? {
        Some(durability) => space.with_durability(durability),
        None => space.clone(),
    })
}

/// Opens the key space of this name. `create`: not 0 to create it if there is none. To be freed by
/// `terrace_key_space_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_key_space_open(
    store: Option<&TerraceStore>,
    name: TerraceSlice<'_>,
    create: u32,
    space: Option<&mut MaybeUninit<*mut TerraceKeySpace>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(space, "space")?;
        let (store, name) = (given(store, "store")?, name.text("name")?);
        let db = &store.db;
        let space = if create != 0 { db.create_key_space(name)? } else { db.key_space(name)? };
        hand_over(out, TerraceKeySpace::new(space, store.default.has_counters()));
        Ok(())
    })
}

/// Drops the key space of this name and all its entries.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_key_space_drop(
    store: Option<&TerraceStore>,
    name: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (db, name) = (&given(store, "store")?.db, name.text("name")?);
        if db.drop_key_space(name)? {
            return Ok(());
        }
        let message = format_args!("expected a key space {name:?}, found none");
        Err(Failure::new(TerraceCode::UnknownKeySpace, message))
    })
}

/// Frees a key space's handle; the key space stays. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_key_space_free(space: Option<Box<TerraceKeySpace>>) {
    guard(|| {
        drop(space);
        Ok(())
    });
}
