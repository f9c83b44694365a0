//! [`fn@sweep`]: measures a drive over a grid of patterns, request sizes, depths and places. The
//! patterns are sequential reads, sequential writes, random reads, and on disks random writes.
//!
//! Disks are measured at their outer, middle and inner zones, flash at one place. On a zoned disk
//! random writes go to conventional zones instead; a zoned disk without any ends the sweep with an
//! error.

use terrace_env::ByteCount;
use terrace_zone::timing::{Drive, Job, Media, Pattern, Region};

use super::{MeasureError, Measured, measure};

/// Which sizes and depths are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Sizes of requests.
    pub sizes: Vec<ByteCount>,
    /// Requests in flight at once.
    pub depths: Vec<u32>,
}

impl Grid {
    /// The corners, which tell drives apart at a glance.
    #[must_use]
    pub fn coarse() -> Self {
        Self { sizes: vec![ByteCount::kib(4), ByteCount::mib(1)], depths: vec![1, 32] }
    }

    /// Usual sizes and depths.
    #[must_use]
    pub fn full() -> Self {
        Self {
            sizes: [4, 16, 64, 256, 1024].map(ByteCount::kib).to_vec(),
            depths: vec![1, 2, 4, 8, 16, 32],
        }
    }
}

/// One measurement of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The drive.
    pub drive: String,
    /// The job.
    pub job: Job,
    /// Its outcome.
    pub measured: Measured,
}

/// Measures a drive all over the grid, with those patterns and regions that it has.
pub fn sweep(drive: &Drive, grid: &Grid) -> Result<Vec<Cell>, MeasureError> {
    let mut cells = Vec::new();
    for (pattern, region) in places(drive) {
        for size in &grid.sizes {
            for depth in &grid.depths {
                let job = Job { pattern, size: *size, depth: *depth, region, written: 0 };
                let measured = measure(drive, &job)?;
                cells.push(Cell { drive: drive.name().to_owned(), job, measured });
            }
        }
    }
    Ok(cells)
}

fn places(drive: &Drive) -> Vec<(Pattern, Region)> {
    let regions = match drive.media() {
        Media::Disk => vec![Region::Outer, Region::Middle, Region::Inner],
        Media::Flash => vec![Region::Outer],
    };
    let mut places = Vec::new();
    let patterns = [Pattern::SequentialRead, Pattern::SequentialWrite, Pattern::RandomRead];
    for pattern in patterns {
        places.extend(regions.iter().map(|region| (pattern, *region)));
    }
    match (drive.media(), drive.is_zoned()) {
        (Media::Flash, _) => {}
        (Media::Disk, true) => places.push((Pattern::RandomWrite, Region::Conventional)),
        (Media::Disk, false) => {
            places.extend(regions.iter().map(|region| (Pattern::RandomWrite, *region)));
        }
    }
    places
}
