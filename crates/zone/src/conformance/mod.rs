//! The conformance suite: the rules of [`Device`](crate::Device), for any back-end to be run
//! through. Left out are power cuts, what is durable, and calls from several actors.
//!
//! [`run`] takes a function that makes a new device of a given shape, and tries every rule on each
//! of [`geometries`], each rule on a device of its own; zoned devices, plain ones and those of
//! tracks have rules of their own. [`run_reopening`] does the same and has the device closed and
//! opened again wherever that makes no difference but that open zones are closed. [`check`] tries
//! all rules on one device as it is, a real drive for instance, whose contents are lost. The device
//! should be small: the suite writes every zone whole, several times, and holds a whole zone, or a
//! whole plain device, in memory.
//!
//! | part | what it holds |
//! |---|---|
//! | `rules` | the list of rules, and what tries them |
//! | `shape`, `writing`, `zones`, `limits`, `plain`, `tracks` | the rules |
//! | `shapes` | the shapes of devices that [`run`] tries |
//! | `subject` | the device under test, with short methods for requests |
//!
//! Each rule begins with a device whose zones are all empty, and may leave it in any state. For
//! [`check`] the device needs, beside its conventional zones (of 6 blocks or more), sequential
//! zones of 4 physical blocks or more: at least two, 3 more than the active limit, and 1 more than
//! the open limit. The last zone may be smaller, but needs 2 physical blocks. The active limit is 2
//! or more. A plain device needs 6 physical blocks, one of tracks 3 tracks more than a write
//! destroys. No zone may have failed, and nobody else may use the device.
//!
//! Where real devices differ, each behaviour that was seen is allowed: the pointer of a zone is
//! looked at only where it means something, reads beyond it give zeros or 0xff, and a zone that was
//! opened and closed with nothing written is empty or closed.
//!
//! When a device breaks a rule, the suite panics, and prints the name of the rule and the shape to
//! standard error.

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
