//! The conformance suite of stores, run on `Fs` over the shapes of drives that the tests have.

use terrace_env::store::conformance::{self, Subject};
use terrace_env::{ByteCount, runner, test_seeds};
use terrace_fs::superblock::Role;

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
            let second = (Role::Log, ByteCount::mib(24));
            let mounted = || Mounted::with_second(geometry.clone(), second, 1);
            conformance::run_durable(&|| Box::new(mounted()) as Box<dyn Subject>, seeds);
        });
    }
}

#[test]
fn files_beside_an_offload_drive_keep_the_contract_on_every_shape() {
    for (name, geometry) in shapes().into_iter().chain(shapes_without_zones()) {
        println!("on {name}, tables offloaded");
        let seeds = test_seeds(5);
        runner::simulate(seeds.start, || {
            let second = (Role::Offload, ByteCount::mib(8));
            let mounted = || Mounted::with_second(geometry.clone(), second, 1);
            conformance::run_durable(&|| Box::new(mounted()) as Box<dyn Subject>, seeds);
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
