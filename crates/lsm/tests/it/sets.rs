//! Sets: the tables of a merge that asks for one are written in one placement group, and remember
//! their set until they are deleted.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, GroupOptions, GroupSpace, Layer, MemoryStore,
    PlacementGroup, Store, StoreError,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, FileId, runner};
use terrace_lsm::inspect::Role;
use terrace_lsm::{
    Compression, Durability, Engine, EngineOptions, KeySpaceId, LevelCompression, TableOptions,
};
use terrace_policy::{Leveled, LeveledOptions, SetView};

use crate::model::{self, batch};

/// A group with its number.
struct Number(usize);

impl GroupSpace for Number {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Calls of a store.
#[derive(Default)]
struct Asked {
    /// Sizes of the groups, in the order of their begin.
    groups: Vec<ByteCount>,
    /// The level of each table, and the group in which it was created.
    tables: BTreeMap<FileId, (Option<u8>, Option<usize>)>,
}

/// A store that notes groups and their tables.
struct Noting {
    store: MemoryStore,
    asked: Mutex<Asked>,
}

impl Layer for Noting {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn begin_group(&self, options: &GroupOptions<'_>) -> Result<PlacementGroup, StoreError> {
        assert!(options.reservation.is_some() && options.kind == FileKind::Table);
        let mut asked = self.asked.lock();
        asked.groups.push(options.size);
        Ok(PlacementGroup::new(Box::new(Number(asked.groups.len() - 1))))
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let space = options.group.and_then(PlacementGroup::space);
        let group = space.and_then(|space| space.as_any().downcast_ref::<Number>());
        let group = group.map(|number| number.0);
        let writer = self.store.create(&CreateOptions { group: None, ..*options })?;
        if options.kind == FileKind::Table {
            self.asked.lock().tables.insert(writer.id(), (options.hint.level, group));
        }
        Ok(writer)
    }
}

fn open(store: Arc<dyn Store>, sets: bool) -> Engine {
    let decider = Leveled::new(LeveledOptions { sets, ..model::leveled() });
    let compression = LevelCompression { upper: Compression::None, last: Compression::None };
    // With several workers, one writes a set nevertheless.
    let tables = TableOptions { compression: Some(compression), ..model::options().tables };
    let options = EngineOptions { tables, workers: 3, ..model::options() };
    Engine::open(store, Arc::new(decider), options).unwrap()
}

fn load(engine: &Engine, random: &mut Random, puts: u32) {
    for _ in 0..puts {
        let mut value = vec![0; 100];
        random.fill_bytes(&mut value);
        let key = random.random_range(0..4000_u32).to_be_bytes().to_vec();
        engine.write(batch(&[(KeySpaceId(0), key, Some(value))]), Durability::Gathered).unwrap();
    }
    engine.flush().unwrap();
    engine.wait_idle().unwrap();
}

/// The set and the level of each table, by annotations.
fn sets(store: &MemoryStore) -> BTreeMap<FileId, (Option<SetView>, u8)> {
    let tables = store.list().into_iter().filter(|file| file.kind == FileKind::Table);
    let of = tables.map(|file| match Role::of(file.id, file.kind, &file.annotation) {
        Ok(Some(Role::Table { set, segments, .. })) => (file.id, (set, segments[0].level)),
        other => panic!("{other:?}"),
    });
    of.collect()
}

#[test]
fn tables_of_a_set_are_created_in_one_group_and_remember_it() {
    runner::simulate(1, || {
        let (store, mut random) = (MemoryStore::new(), Random::seeded(1));
        let noting = Arc::new(Noting { store: store.clone(), asked: Mutex::default() });
        let engine = open(Arc::clone(&noting) as _, true);
        load(&engine, &mut random, 6000);
        let before = sets(&store);
        engine.close().unwrap();

        let asked = noting.asked.lock();
        assert!(asked.groups.len() > 20, "{} groups", asked.groups.len());
        for (file, (level, group)) in &asked.tables {
            assert_eq!(*level >= Some(2), group.is_some(), "{file} of level {level:?}");
        }
        let mut in_sets = 0;
        for (file, (set, level)) in &before {
            let (_, group) = asked.tables[file];
            assert_eq!(set.is_some(), group.is_some(), "{file} of level {level}: {set:?}");
            let Some(set) = set else { continue };
            in_sets += 1;
            assert_eq!(asked.tables[&set.id].1, group, "{file} is in the group of {set:?}");
            let group_size = asked.groups[group.unwrap()];
            assert!(set.size <= group_size, "{set:?} in a group of {group_size}");
            let others = before.values().filter(|(other, _)| *other == Some(*set));
            assert!(others.count() <= set.tables as usize, "{set:?} has more tables than it had");
        }
        assert!(in_sets * 2 > before.len(), "{in_sets} of {} tables", before.len());
        let parts: BTreeSet<FileId> =
            before.values().filter_map(|(set, _)| Some(set.as_ref()?.id)).collect();
        assert!(
            parts.iter().any(|first| !before.contains_key(first)),
            "first tables are gone, too"
        );
        drop(asked);

        // An opening, and other moves and merges, leave each set as it was.
        let engine = open(Arc::new(store.clone()), false);
        engine.wait_idle().unwrap();
        assert_eq!(sets(&store).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
        load(&engine, &mut random, 500);
        engine.close().unwrap();
        let (mut same, mut new) = (0, 0);
        for (file, (set, level)) in sets(&store) {
            match before.get(&file) {
                Some((was, _)) => assert_eq!(set, *was, "{file} of level {level}"),
                None => assert_eq!(set, None, "{file}: nobody asked for a set"),
            }
            *(if before.contains_key(&file) { &mut same } else { &mut new }) += 1;
        }
        assert!(same > 10 && new > 10, "{same} as before, {new} new");
    });
}

#[test]
fn a_set_has_all_tables_of_its_instalment() {
    runner::simulate(1, || {
        let (store, mut random) = (MemoryStore::new(), Random::seeded(1));
        let noting = Arc::new(Noting { store: store.clone(), asked: Mutex::default() });
        let engine = open(Arc::clone(&noting) as _, true);
        let mut whole = 0;
        for _ in 0..40 {
            load(&engine, &mut random, 150);
            let tables = sets(&store);
            let mut members: BTreeMap<SetView, Vec<FileId>> = BTreeMap::new();
            for (file, (set, _)) in &tables {
                members.entry(set.unwrap_or(SetView { id: *file, tables: 1, size: ByteCount(0) }));
                if let Some(set) = set {
                    members.entry(*set).or_default().push(*file);
                }
            }
            for (set, files) in
                members.iter().filter(|(set, files)| set.tables as usize == files.len())
            {
                whole += 1;
                let bytes: u64 = files.iter().map(|file| store.open(*file).unwrap().len()).sum();
                assert_eq!((files[0], ByteCount(bytes)), (set.id, set.size), "{set:?}: {files:?}");
            }
        }
        assert!(whole > 40, "{whole} whole sets seen");
        engine.close().unwrap();
    });
}
