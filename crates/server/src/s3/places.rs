//! [`Places`]: a limit on the bodies that are being written to files at a time.
//!
//! A body that is being written may hold an open zone, of which a drive has few, until a thread
//! goes on with it. Other bodies wait for an open zone in threads, of which the server has few,
//! too. If such waits took all threads, no thread would be left for the bodies that hold the zones,
//! nor for reads. So a body takes a place before it waits for a zone, and the number of places is
//! at most half of the threads, and half of the open zones. It is also at most a 16th of all zones:
//! a zone that a body holds is no room for others. There is one place at least. A body waits for
//! its place without a thread.
//!
//! A body whose client is slow gives up its zone and its place until the next piece has come.

use std::sync::Arc;

use terrace::fs::Fs;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies may hold this part of the zones that may be open.
const OPEN_PART: u32 = 2;
/// Bodies may hold this part of all zones.
const ALL_PART: u32 = 16;

/// See the [module](self).
#[derive(Clone)]
pub(crate) struct Places(Arc<Semaphore>);

/// The place of a body, until it is dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Places {
    /// At most `most` places, for a store on this file system.
    pub(crate) fn new(most: usize, fs: Option<&Fs>) -> Self {
        let zones = fs.map(Fs::geometry).filter(|geometry| geometry.layout.is_zoned());
        let held = zones.map_or(u32::MAX, |geometry| {
            let open = [geometry.max_open, geometry.max_active].into_iter().flatten().min();
            let open = open.unwrap_or(u32::MAX) / OPEN_PART;
            open.min(geometry.zones / ALL_PART)
        });
        Self(Arc::new(Semaphore::new(most.min(held as usize).max(1))))
    }

    /// A place, once there is one.
    pub(super) async fn take(&self) -> Place {
        let permit = Arc::clone(&self.0).acquire_owned().await;
        Place { _permit: permit.expect("places are never closed") }
    }
}
