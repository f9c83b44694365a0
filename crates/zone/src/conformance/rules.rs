//! The lists of conformance rules, one for each layout, and the functions that try them on devices.
//!
//! [`run`] and [`run_reopening`] make a new device for each shape and each rule of its layout.
//! [`check`] tries the rules of one device's layout on it, and empties it before each rule. The
//! first broken rule ends the run with a panic.

use std::sync::Arc;

use super::shapes::geometries;
use super::subject::{Reopen, Rule, Subject};
use super::{appends, limits, plain, shape, tracks, writing, zones};
use crate::{Device, Geometry, Layout};

/// Rules with their names.
type Rules = &'static [(&'static str, Rule)];

/// The rules of devices with zones.
const ZONED: Rules = &[
    ("a report gives the shape of the device", shape::report_gives_the_shape),
    ("a report ends at the last zone", shape::report_ends_at_the_last_zone),
    ("requests outside the device fail", shape::requests_outside_fail),
    ("requests across zones fail", shape::requests_across_zones_fail),
    ("unaligned writes fail", shape::unaligned_writes_fail),
    ("writes at the pointer read back", writing::writes_read_back),
    ("a write off the pointer changes nothing", writing::off_the_pointer),
    ("a zone takes its capacity and no more", writing::capacity_and_no_more),
    ("an append goes to the pointer", writing::append_goes_to_the_pointer),
    ("appends in flight together land one after the other", appends::together),
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

/// The rules of plain devices.
const PLAIN: Rules = &[
    ("a report gives the shape of the device", shape::report_gives_the_shape),
    ("requests outside the device fail", shape::requests_outside_fail),
    ("a plain device is written anywhere", writing::conventional),
    ("a block is overwritten in place, and its neighbours stay", plain::in_place),
    ("a request may be as long as the device", plain::whole_device),
    ("requests keep their order", plain::order),
    ("writes that are no whole blocks fail", plain::broken_blocks_fail),
    ("a plain device has no zone operations", zones::not_for_conventional),
    ("a plain device takes no appends", plain::no_appends),
];

/// The rules of devices of shingled tracks.
const TRACKS: Rules = &[
    ("a report gives the shape of the device", shape::report_gives_the_shape),
    ("requests outside the device fail", shape::requests_outside_fail),
    ("a request may be as long as the device", plain::whole_device),
    ("requests keep their order", plain::order),
    ("a write destroys the next tracks and nothing else", tracks::harms_the_next_tracks),
    ("a pass over the device in order reads back", tracks::in_order),
    ("a guard before valid blocks protects them", tracks::a_guard_protects),
    ("a destroyed block is there again when it is written", tracks::written_again),
    ("writes that are no whole blocks fail", plain::broken_blocks_fail),
    ("a device of tracks has no zone operations", zones::not_for_conventional),
    ("a device of tracks takes no appends", plain::no_appends),
];

fn rules(layout: Layout) -> Rules {
    match layout {
        Layout::Zoned => ZONED,
        Layout::Plain => PLAIN,
        Layout::Tracks(_) => TRACKS,
    }
}

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
        for (name, rule) in rules(geometry.layout) {
            try_rule(shape, name, *rule, make(geometry.clone()), reopen);
        }
    }
}

/// Tries every rule on one device. All that it holds is lost.
///
/// # Panics
/// When a rule is broken.
pub fn check(mut device: Arc<dyn Device>) {
    for (name, rule) in rules(device.geometry().layout) {
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
