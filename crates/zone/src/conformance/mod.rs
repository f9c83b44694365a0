//! The conformance suite: rules of [`Device`](crate::Device) that any back-end can be run through.
//!
//! - [`run`] tries each rule on each shape of [`geometries`], on a new device that the caller
//!   makes.
//! - [`run_reopening`] does the same, and has the device closed and opened again at many points.
//! - [`check`] tries all rules on one device as it is, for instance a real drive. Its contents are
//!   lost.
//!
//! Zoned devices, plain ones and those of shingled tracks have rules of their own. Not covered:
//! power cuts, durability, and calls from several actors.
//!
//! | part | content |
//! |---|---|
//! | `rules` | the list of rules, and what tries them |
//! | `shape`, `writing`, `zones`, `limits`, `plain`, `tracks` | the rules |
//! | `shapes` | the shapes of devices that [`run`] tries |
//! | `subject` | the device under test, with short methods for requests |
//!
//! A device for [`check`] should be small: zones are written whole several times, and held in
//! memory. Nobody else may use it, and no zone may have failed. It needs:
//!
//! - zoned: conventional zones, if any, of 6 blocks or more; sequential zones of 4 physical blocks
//!   or more: at least two, 3 more than the active limit, and 1 more than the open limit. The last
//!   zone may have 2 physical blocks. The active limit is 2 or more.
//! - plain: 6 physical blocks.
//! - tracks: 3 tracks more than a write destroys.
//!
//! Where real devices differ, the suite allows each behaviour. For example, blocks beyond the write
//! pointer may read as zeros or as 0xff.
//!
//! A broken rule is a panic. Its name and the shape of the device are printed to standard error.

mod limits;
mod plain;
mod rules;
mod shape;
mod shapes;
mod subject;
mod tracks;
mod writing;
mod zones;

pub use rules::{check, run, run_reopening};
pub use shapes::geometries;
