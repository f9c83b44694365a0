//! The toy device under the conformance suites of devices and of stores.

use std::sync::Arc;

use terrace_env::store::Store;
use terrace_env::store::conformance::{self, Subject};
use terrace_env::{runner, test_seeds};
use terrace_fs::Fs;
use terrace_zone::Geometry;

use super::volatile_array::VolatileArray;
use crate::drive::{audit, format, mount, shapes, shapes_without_zones};

/// A store on the toy device. The device loses nothing, so the end of a process and of the power
/// are alike.
struct OnToy {
    device: Arc<VolatileArray>,
    fs: Option<Arc<Fs>>,
}

impl OnToy {
    fn new(geometry: Geometry) -> Self {
        let device = Arc::new(VolatileArray::new(geometry));
        format(&device, 1);
        let fs = Some(mount(&device));
        Self { device, fs }
    }

    fn restart(&mut self) {
        self.fs = None;
        self.device.cycle();
        self.fs = Some(mount(&self.device));
    }
}

impl Subject for OnToy {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.fs.as_ref().expect("mounted")) as Arc<dyn Store>
    }

    fn reopen(&mut self) {
        audit(self.fs.as_ref().expect("mounted"), false);
        self.restart();
    }

    fn end_process(&mut self, _seed: u64) {
        self.restart();
    }

    fn power_cut(&mut self, _seed: u64) {
        self.restart();
    }
}

#[test]
fn a_device_of_one_folder_keeps_the_rules_of_all_devices() {
    terrace_zone::conformance::run(&|geometry| Arc::new(VolatileArray::new(geometry)));
}

#[test]
fn stores_on_a_device_of_one_folder_keep_the_contract() {
    for (name, geometry) in shapes().into_iter().chain(shapes_without_zones()) {
        println!("on {name}");
        let seeds = test_seeds(3);
        runner::simulate(seeds.start, || {
            let factory = || Box::new(OnToy::new(geometry.clone())) as Box<dyn Subject>;
            conformance::run_durable(&factory, seeds);
        });
    }
}
