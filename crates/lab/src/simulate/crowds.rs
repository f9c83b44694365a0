//! Crowds of writers on a medium that fails and then loses its power
//! ([`crowd`](crate::crash::crowd)).

use terrace_env::random::{Random, Rng};

use crate::crash::Setup;
use crate::crash::crowd::{Harm, Medium, Met, run};

/// Medium of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// An emulated drive.
    Drive,
    /// A directory of an emulated host.
    Directory,
    /// A store in memory, below the engine alone.
    Memory,
}

impl On {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Drive, Self::Directory, Self::Memory];
}

/// One crowd, on the runner of the caller. Of five seeds, one has no failure.
pub fn crowd(on: On, seed: u64) -> Result<Met, String> {
    let random = &mut Random::seeded(seed);
    let setup = Setup::small(seed);
    let medium = match on {
        On::Drive => Medium::drive(&setup, seed),
        On::Directory => Medium::directory(),
        On::Memory => Medium::memory(seed),
    };
    let after = random.random_range(0..400);
    let harm = match seed % 5 {
        0 => Harm::Nothing,
        1 | 2 => Harm::Once(after),
        _ => Harm::Lasting(after),
    };
    run(&medium, &setup, harm, random).map_err(|wrong| format!("{medium:?}, {harm:?}: {wrong}"))
}
