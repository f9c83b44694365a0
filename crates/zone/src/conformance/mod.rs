//! The conformance suite: rules of [`Device`](crate::Device) that a back-end can be tested with.
//!
//! - [`run`] makes a new device for each shape of [`geometries`] and each rule of the shape's
//!   layout, and tries the rule on it. The caller gives the function that makes devices.
//! - [`run_reopening`] does the same, and has the device closed and opened again at many points
//!   between requests.
//! - [`check`] tries the rules on one device, for instance a real drive. The data on the device are
//!   lost.
//!
//! Which rules are tried depends on the layout: zoned, plain, or shingled tracks. Not covered:
//! power cuts, durability, failed zones, and calls from several actors.
//!
//! | part | content |
//! |---|---|
//! | `rules` | the list of rules, and the code that tries them |
//! | `shape`, `writing`, `appends`, `zones`, `limits`, `plain`, `tracks` | the rules |
//! | `shapes` | the shapes of devices that [`run`] tries |
//! | `subject` | the device under test, with short methods for requests |
//!
//! A device for [`check`] should be small: zones are written whole several times, and held in
//! memory. It must have no other user, and no failed zone. It needs:
//!
//! - zoned: conventional zones, if any, of 6 blocks or more; sequential zones of 4 physical blocks
//!   or more: at least two, 3 more than the active limit, and 1 more than the open limit. If there
//!   are four or more, the last one may have 2 physical blocks. The active limit is 2 or more.
//! - plain: 6 physical blocks.
//! - tracks: 3 tracks more than a write destroys.
//!
//! Where real devices differ, the suite allows several behaviours in some points: blocks beyond the
//! write pointer may read as zeros or as 0xff, for example. In others it expects that of
//! [`ZoneTable`](crate::ZoneTable): closing an empty zone must fail, for example.
//!
//! A broken rule is a panic. Its name, and the device on which it was tried, are printed to
//! standard error.

mod appends;
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
