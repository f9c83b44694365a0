//! Tests of changes of the system: a store can be closed under one system and opened under any
//! other, and keeps its contents. A store remembers the system that it was opened under last, with
//! its parameters.

use terrace::{ByteCount, Db, FormatOptions, MemoryStore, Options, System};
use terrace_env::random::{Random, Rng};
use terrace_env::{runner, test_seeds};

use crate::devices::{Contents, churn, contents, drive, options};

/// The options of small devices, under this system.
fn under(system: System) -> Options {
    let system = System {
        table_size: Some(ByteCount::kib(128)),
        level1_size: Some(ByteCount::mib(1)),
        factor: 4,
        ..system
    };
    options().system(system)
}

#[test]
fn any_store_can_be_opened_under_any_system() {
    for seed in test_seeds(3) {
        runner::simulate(seed, || {
            let device = drive(ByteCount::mib(1), 64, seed);
            let mut random = Random::seeded(seed);
            let systems = System::all();
            Db::create_device(device.clone(), &FormatOptions::default(), options()).unwrap();
            let mut held = Contents::new();
            for _ in 0..6 {
                let system = systems[random.random_range(0..systems.len())];
                let db = Db::open_device(device.clone(), under(system)).unwrap();
                assert_eq!(contents(&db), held, "opened under {system}");
                churn(&db, &mut held, 3000, 4000, &mut random);
                if random.random_bool(0.5) {
                    db.wait_idle().unwrap();
                }
                assert_eq!(contents(&db), held, "written under {system}");
                db.verify().unwrap();
                db.close().unwrap();
            }
        });
    }
}

#[test]
fn a_store_remembers_the_system_it_was_opened_under_last() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let open = |system| {
            let options = Options::default().system(system);
            let db = Db::open(std::sync::Arc::new(store.clone()), options).unwrap();
            let system = db.system();
            db.close().unwrap();
            system
        };
        assert_eq!(open(None), System::default());
        for mut system in System::all() {
            system.table_size = Some(ByteCount::mib(7));
            assert_eq!(open(Some(system)), system);
            assert_eq!(open(None), system);
        }
    });
}
