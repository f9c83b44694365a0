//! A load that lasts until the machine is reset: `cargo xtask guest` resets it at a random moment
//! while its devices stay, boots again and compares.
//!
//! It is this test binary with [`DEVICES`] set; without that, the test does nothing. Lines on its
//! output, for the host of the virtual machine:
//!
//! | line | meaning |
//! |---|---|
//! | `found DEVICE N` | the store on the device holds the first N writes, and nothing else |
//! | `ready` | the stores of all devices are open |
//! | `done DEVICE N` | write N has returned, and is durable |
//!
//! If no store can be opened, an empty one is made, and N is 0: the host knows whether there must
//! be more.

use std::path::Path;
use std::sync::Arc;

use terrace::{Db, Durability, FormatOptions};
use terrace_zone::linux::BlockDevice;
use terrace_zone::{Access, Device};

use crate::kills::{contents, expected};
use crate::kills_child::{Contents, last, options, tell, write};

/// The variable that makes a test binary this load: paths of devices, with spaces between them.
const DEVICES: &str = "TERRACE_RESET_DEVICES";
const SEED: u64 = 3;

fn open(path: &str) -> (Db, u64) {
    let device = || -> Arc<dyn Device> {
        let device = BlockDevice::open(Path::new(path), Access::ReadWrite);
        Arc::new(device.unwrap_or_else(|error| panic!("{path}: {error}")))
    };
    let options = options(false).durability(Some(Durability::Synced));
    match Db::open_device(device(), options.clone()) {
        Ok(db) => {
            let number = last(&db);
            assert_eq!(contents(&db), expected(SEED, number), "{path}, after {number} writes");
            db.verify().expect("clean tables");
            (db, number)
        }
        Err(error) => {
            tell(&format!("no store on {path}: {error}"));
            let db = Db::create_device(device(), &FormatOptions::default(), options);
            (db.expect("an empty store"), 0)
        }
    }
}

#[test]
fn child() {
    let Ok(named) = std::env::var(DEVICES) else { return };
    // The harness has begun a line.
    tell("");
    let mut stores = Vec::new();
    for path in named.split_whitespace() {
        let (db, number) = open(path);
        tell(&format!("found {path} {number}"));
        stores.push((path, db, number));
    }
    assert!(!stores.is_empty(), "{DEVICES}: expected paths of devices, found none");
    tell("ready");
    loop {
        for (path, db, number) in &mut stores {
            *number += 1;
            db.write(write(SEED, *number, &mut Contents::new())).expect("a write");
            tell(&format!("done {path} {number}"));
        }
    }
}
