//! A drive whose zones have all failed to read-only still gives the data of its store, under every
//! row of the table of systems. So does a device of another kind.

use std::sync::Arc;

use terrace::{Db, Error, FormatOptions, System};
use terrace_env::ByteCount;
use terrace_env::random::Random;
use terrace_env::{ZoneId, runner};
use terrace_zone::{Device as _, Emulator, ZoneState};

use crate::devices::{Contents, churn, contents, drive, kinds, options};

/// Fills a store, lets all zones of its device, or the device as a whole, become read-only, and
/// reads the earlier writes.
fn wear_out(device: &Arc<Emulator>, own: System) {
    let (name, options) = (own.name(), options().system(own));
    let db = Db::create_device(device.clone(), &FormatOptions::default(), options.clone());
    let (db, mut held) = (db.expect(name), Contents::new());
    churn(&db, &mut held, 2000, 4000, &mut Random::seeded(1));
    db.close().expect(name);
    for zone in 0..device.geometry().zones {
        device.set_zone_condition(ZoneId(zone), ZoneState::ReadOnly).expect(name);
    }
    let db = Db::open_device(Arc::clone(device), options.read_only(true));
    let db = db.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(contents(&db), held, "{name}");
    let refused: Error = db.put(b"key", b"value").expect_err(name);
    assert!(refused.to_string().contains("reading only"), "{name}: {refused}");
    db.close().expect(name);
}

#[test]
fn a_store_whose_zones_have_all_become_read_only_gives_its_data() {
    for own in System::all() {
        runner::simulate(1, || wear_out(&drive(ByteCount::mib(1), 64, 1), own));
    }
}

#[test]
fn a_store_on_a_device_of_another_kind_that_has_become_read_only_gives_its_data() {
    for (kind, geometry, rows) in kinds(ByteCount::mib(64)) {
        for row in rows {
            let device = Arc::new(Emulator::in_memory(geometry.clone(), 1).expect(kind));
            runner::simulate(1, || wear_out(&device, System::of(row)));
        }
    }
}
