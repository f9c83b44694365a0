//! [`TerraceTraffic`]: reads and writes of a file system on its medium.

use std::mem::MaybeUninit;

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::fs::TerraceFs;

/// Requests to the medium, and their bytes, since the file system was mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceTraffic {
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests, of data and of metadata.
    pub writes: u64,
    /// Bytes written, padding included.
    pub written_bytes: u64,
    /// Flushes of the medium's cache.
    pub flushes: u64,
    /// Zones that were erased.
    pub zones_reset: u64,
    /// Zones that were finished before they were full.
    pub zones_finished: u64,
    /// Number of times that the journal was replaced by a snapshot.
    pub journal_rolls: u64,
    /// Bytes that reclaim has written: copies of data in zones that it emptied.
    pub reclaim_bytes: u64,
    /// Bytes that reclaim has moved for nothing: their file was deleted before new data had filled
    /// the space that was free at the time of the move.
    pub reclaim_vain_bytes: u64,
    /// Not used; 0.
    pub reserved: [u64; 6],
}

/// Reads the counts of reads and writes on the medium.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_traffic(
    fs: Option<&TerraceFs>,
    traffic: Option<&mut MaybeUninit<TerraceTraffic>>,
) -> TerraceCode {
    guard(|| {
        let fs = given(fs, "fs")?;
        let io = fs.files.store().io();
        given(traffic, "traffic")?.write(TerraceTraffic {
            reads: io.reads.iter().sum(),
            read_bytes: io.read_bytes.iter().sum(),
            writes: io.writes.iter().sum(),
            written_bytes: io.written_bytes.iter().sum(),
            flushes: io.flushes,
            zones_reset: io.zones_reset,
            zones_finished: io.zones_finished,
            journal_rolls: io.journal_rolls,
            reclaim_bytes: io.written(terrace_env::Cause::Reclaim).0,
            reclaim_vain_bytes: fs.moved_in_vain(),
            reserved: [0; 6],
        });
        Ok(())
    })
}
