//! The conformance suite: every rule of [`Device`](crate::Device), for any back-end to be run
//! through.
//!
//! [`run`] takes a function that makes a new device of a given shape, and tries every rule on each
//! of [`geometries`]; zoned and plain devices have rules of their own. [`run_reopening`] does the
//! same and has the device closed and opened again wherever that must make no difference. [`check`]
//! tries all rules on one device as it is, a real drive for instance, whose contents are lost.
//!
//! Where real devices differ, each behaviour that was seen is allowed: the pointer of a zone is
//! looked at only where it means something, reads beyond it give zeros or 0xff, and a zone that
//! was opened and closed with nothing written is empty or closed.
//!
//! A device that breaks a rule makes the suite panic with the name of the rule and the shape.

mod limits;
mod plain;
mod rules;
mod shape;
mod shapes;
mod subject;
mod writing;
mod zones;

pub use rules::{check, run, run_reopening};
pub use shapes::geometries;
