//! The model test on devices. The ignored one plays on the block devices that the variable
//! `TERRACE_DEVICES` names, with spaces between them: all data on them are lost. `cargo xtask
//! guest` runs it in a virtual machine.

use std::path::Path;
use std::sync::Arc;

use terrace_env::{ByteCount, test_seeds};
use terrace_lab::model::{Kind, Setting, Tally, play_on, script};
use terrace_zone::linux::BlockDevice;
use terrace_zone::{Access, Device, Emulator, Geometry};

/// Operations of a script.
const LENGTH: usize = 400;
/// Settings whose options are taken: small memtables and tables, and such where the store is
/// opened under another system each time.
const SETTINGS: [usize; 2] = [6, 15];

/// Plays scripts under options of each setting.
fn play_all(name: &str, device: &Arc<dyn Device>) -> Tally {
    let mut all = Tally::default();
    for seed in test_seeds(1) {
        let script = script(seed, LENGTH, Kind::Determined);
        for number in SETTINGS {
            let setting = Setting::metamorphic(number);
            let tally = play_on(Arc::clone(device), &script, &setting, seed);
            let tally = tally.unwrap_or_else(|failure| {
                panic!("{name}, seed {seed}, setting {number}: {failure}")
            });
            println!("{name}, seed {seed}, setting {number}: {tally:?}");
            assert_eq!(tally.refused, 0, "a device that is too small proves little");
            all = all.and(tally);
        }
    }
    assert!(all.flushes > 0 && all.compactions > 0 && all.openings > 4, "{name}: {all:?}");
    all
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn operations_on_each_device_agree_with_ordered_maps() {
    let named = std::env::var("TERRACE_DEVICES").unwrap_or_default();
    assert!(!named.trim().is_empty(), "TERRACE_DEVICES: expected paths of devices, found none");
    for path in named.split_whitespace() {
        let device = BlockDevice::open(Path::new(path), Access::ReadWrite);
        let device = device.unwrap_or_else(|error| panic!("{path}: {error}"));
        play_all(path, &(Arc::new(device) as Arc<dyn Device>));
    }
}

/// On threads, as on a device of the kernel.
#[test]
fn operations_on_threads_agree_with_ordered_maps() {
    let geometry = Geometry {
        max_open: Some(8),
        max_active: Some(12),
        ..Geometry::uniform(ByteCount::mib(1), 96)
    };
    let drive = Emulator::in_memory(geometry, 1).expect("a drive");
    let tally = play_all("emulator", &(Arc::new(drive) as Arc<dyn Device>));
    assert!(tally.reads > 100, "{tally:?}");
}
