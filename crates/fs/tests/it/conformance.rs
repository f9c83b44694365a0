//! The conformance suite of stores, run on `Fs` over the shapes of drives that the tests have.

use terrace_env::store::conformance::{self, Subject};
use terrace_env::{runner, test_seeds};

use crate::drive::{Mounted, shapes, shapes_without_zones};

#[test]
fn files_on_zones_keep_the_contract_on_every_shape() {
    for (name, geometry) in shapes() {
        println!("on {name}");
        let seeds = test_seeds(10);
        runner::simulate(seeds.start, || {
            let factory = || Box::new(Mounted::new(geometry.clone(), 1)) as Box<dyn Subject>;
            conformance::run_durable(&factory, seeds);
        });
    }
}

#[test]
fn files_on_zones_and_a_plain_drive_keep_the_contract_on_every_shape() {
    for (name, geometry) in shapes() {
        println!("on {name}, logs on a plain drive");
        let seeds = test_seeds(10);
        runner::simulate(seeds.start, || {
            let factory = || Box::new(Mounted::with_log(geometry.clone(), 1)) as Box<dyn Subject>;
            conformance::run_durable(&factory, seeds);
        });
    }
}

#[test]
fn files_on_drives_without_zones_keep_the_contract() {
    for (name, geometry) in shapes_without_zones() {
        println!("on {name}");
        let seeds = test_seeds(10);
        runner::simulate(seeds.start, || {
            let factory = || Box::new(Mounted::new(geometry.clone(), 1)) as Box<dyn Subject>;
            conformance::run_durable(&factory, seeds);
        });
    }
}

#[test]
fn files_on_zones_keep_the_contract_on_threads() {
    let (_, geometry) = shapes().swap_remove(0);
    let factory = || Box::new(Mounted::new(geometry.clone(), 1)) as Box<dyn Subject>;
    conformance::run_durable(&factory, 0..1);
}
