//! The conformance suite: every rule of [`Device`], for any back-end to be run through.
//!
//! [`run`] takes a function that makes a new device of a given shape and tries every rule on each of
//! [`geometries`]. [`run_reopening`] does the same and has the device closed and opened
//! again wherever that must make no difference. [`check`] tries all rules on one device as it is, a
//! real drive for instance, whose contents are lost.
//!
//! Where real devices differ, each behaviour that was seen is allowed: the pointer of a zone is
//! looked at only where it means something, reads beyond it give zeros or 0xff, and a zone that
//! was opened and closed with nothing written is empty or closed.
//!
//! A rule that is broken panics and names itself, the shape and the rule.

mod limits;
mod shape;
mod subject;
mod writing;
mod zones;

use std::sync::Arc;

use subject::{Reopen, Rule, Subject};
use terrace_env::ByteCount;

use crate::{Device, Geometry};

/// Every rule, with its name.
const RULES: &[(&str, Rule)] = &[
    ("a report gives the shape of the device", shape::report_gives_the_shape),
    ("a report ends at the last zone", shape::report_ends_at_the_last_zone),
    ("requests outside the device fail", shape::requests_outside_fail),
    ("requests across zones fail", shape::requests_across_zones_fail),
    ("unaligned writes fail", shape::unaligned_writes_fail),
    ("writes at the pointer read back", writing::writes_read_back),
    ("a write off the pointer changes nothing", writing::off_the_pointer),
    ("a zone takes its capacity and no more", writing::capacity_and_no_more),
    ("an append goes to the pointer", writing::append_goes_to_the_pointer),
    ("requests to one zone keep their order", writing::order_within_a_zone),
    ("a conventional zone is written anywhere", writing::conventional),
    ("open and close", zones::open_and_close),
    ("finish makes a zone full", zones::finish),
    ("reset makes a zone empty", zones::reset),
    ("conventional zones have no zone operations", zones::not_for_conventional),
    ("the open limit holds", limits::open),
    ("a write closes another zone at the open limit", limits::implicit_close),
    ("the active limit holds", limits::active),
];

/// Tries every rule on new devices of every shape.
///
/// # Panics
/// When a rule is broken.
pub fn run(make: &dyn Fn(Geometry) -> Arc<dyn Device>) {
    run_reopening(make, &|device| device);
}

/// Tries every rule on new devices of every shape. `reopen` gives up a device and opens the same
/// one anew, which closes its open zones and changes nothing else.
///
/// # Panics
/// When a rule is broken.
pub fn run_reopening(
    make: &dyn Fn(Geometry) -> Arc<dyn Device>,
    reopen: &dyn Fn(Arc<dyn Device>) -> Arc<dyn Device>,
) {
    for (shape, geometry) in geometries() {
        for (name, rule) in RULES {
            try_rule(shape, name, *rule, make(geometry.clone()), reopen);
        }
    }
}

/// Tries every rule on one device. All that it holds is lost.
///
/// # Panics
/// When a rule is broken.
pub fn check(mut device: Arc<dyn Device>) {
    for (name, rule) in RULES {
        let mut subject = Subject::new(device, &|device| device);
        subject.empty_all();
        device = try_rule("this device", name, *rule, subject.into_device(), &|device| device);
    }
}

fn try_rule(
    shape: &str,
    name: &str,
    rule: Rule,
    device: Arc<dyn Device>,
    reopen: &Reopen<'_>,
) -> Arc<dyn Device> {
    struct Context<'a>(&'a str, &'a str);
    impl Drop for Context<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("broken rule: {}, on: {}", self.1, self.0);
            }
        }
    }
    let _context = Context(shape, name);
    let mut subject = Subject::new(device, reopen);
    rule(&mut subject);
    subject.into_device()
}

/// The shapes that [`run`] tries, with what is special about each.
#[must_use]
pub fn geometries() -> Vec<(&'static str, Geometry)> {
    let plain = Geometry::uniform(ByteCount::kib(64), 12);
    let emulated_512 = Geometry { logical_block: 512, ..plain.clone() };
    vec![
        ("4 KiB blocks, no limits", plain.clone()),
        (
            "512-byte logical and 4 KiB physical blocks, append",
            Geometry {
                zone_size: 128,
                zone_capacity: 128,
                max_append: Some(32),
                ..emulated_512.clone()
            },
        ),
        (
            "512-byte blocks",
            Geometry {
                physical_block: 512,
                zone_size: 37,
                zone_capacity: 37,
                max_append: Some(5),
                ..emulated_512.clone()
            },
        ),
        (
            "capacity below size, equal limits, a short last zone",
            Geometry {
                zone_capacity: 12,
                last_zone_size: Some(14),
                max_open: Some(3),
                max_active: Some(3),
                max_append: Some(4),
                ..plain.clone()
            },
        ),
        (
            "an odd zone size, a last zone shorter than the capacity, more active than open",
            Geometry {
                zone_size: 13,
                zone_capacity: 11,
                last_zone_size: Some(3),
                max_open: Some(2),
                max_active: Some(5),
                ..plain.clone()
            },
        ),
        (
            "conventional zones in front, one open zone",
            Geometry { conventional: vec![0..2, 2..3], max_open: Some(1), ..plain.clone() },
        ),
        (
            "conventional zones in the middle, an active limit alone",
            Geometry { conventional: vec![4..6, 7..8], max_active: Some(2), ..plain },
        ),
        (
            "everything odd at once, conventional zones in front, in the middle and at the end",
            Geometry {
                zone_size: 120,
                zone_capacity: 88,
                zones: 14,
                last_zone_size: Some(40),
                conventional: vec![0..2, 6..7, 13..14],
                max_open: Some(2),
                max_active: Some(4),
                max_append: Some(16),
                ..emulated_512
            },
        ),
    ]
}
