//! A specimen in a directory.

use std::sync::Arc;

use terrace_env::Store;
use terrace_env::random::{Random, Rng};
use terrace_fs::Access;
use terrace_fs::dir::{DirOptions, DirStore, Files, MemoryFiles};

use super::harm::Harm;
use super::oracle::{Case, Outcome, Part, judge};
use super::specimen::{End, Specimen, first_life, second_life};
use super::suite::Medium;

/// See the [module](self).
pub(super) struct Directory(MemoryFiles);

fn open(
    files: &MemoryFiles,
    access: Access,
) -> Result<Arc<dyn Store>, terrace_env::store::StoreError> {
    Ok(DirStore::open_on(Arc::new(files.clone()), DirOptions { access })?)
}

impl Directory {
    pub(super) fn make(end: End, random: &mut Random) -> (Self, Specimen) {
        let files = MemoryFiles::new();
        let store = open(&files, Access::ReadWrite).expect("an empty store");
        let known = first_life(&store, random);
        drop(store);
        let store = open(&files, Access::ReadWrite).expect("the store opens");
        let mut killed = None;
        let specimen = second_life(&store, known, end, random, || killed = Some(files.copy()));
        drop(store);
        (Self(killed.unwrap_or(files)), specimen)
    }
}

fn part(name: &str) -> Option<Part> {
    Some(match name {
        "CURRENT" => Part::Superblock,
        _ if name.starts_with("JOURNAL-") => Part::Journal,
        _ if name.ends_with(".log") => Part::Log,
        _ if name.ends_with(".table") => Part::Table,
        _ if name.ends_with(".client") => Part::Client,
        _ => return None,
    })
}

fn spoil(files: &MemoryFiles, name: &str, harm: Harm, random: &mut Random) {
    match harm {
        Harm::Remove => files.remove(name).expect("it was there"),
        Harm::Directory => files.make_directory(name),
        Harm::Rename => {
            let kind = ["table", "log", "client"][random.random_range(0..3)];
            files.rename(name, &format!("009999.{kind}")).expect("it was there");
        }
        Harm::RenameAway => files.rename(name, "lost+found").expect("it was there"),
        _ => {
            let mut bytes = files.bytes(name).expect("it was there");
            harm.spoil(&mut bytes, true, random);
            files.overwrite(name, bytes);
        }
    }
}

impl Medium for Directory {
    fn damage(
        &self,
        specimen: &Specimen,
        random: &mut Random,
    ) -> (Part, Harm, Result<Outcome, String>) {
        let files = self.0.copy();
        let names = files.list().expect("a list");
        let parts: Vec<_> = names.iter().filter_map(|name| Some((name, part(name)?))).collect();
        let (name, part) = parts[random.random_range(0..parts.len())];
        let harm = Harm::draw(true, random);
        spoil(&files, name, harm, random);
        let checked = DirStore::check_on(Arc::new(files.clone()), &mut |_, _| {});
        let access = if random.random_bool(0.3) { Access::ReadWrite } else { Access::ReadOnly };
        let case = Case { part, harm, on_zones: false };
        let outcome = judge(specimen, case, open(&files, access), checked);
        (part, harm, outcome.map_err(|wrong| format!("{name}, {access:?}: {wrong}")))
    }
}
