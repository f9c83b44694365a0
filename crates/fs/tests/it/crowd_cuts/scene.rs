//! A drive or two, their clients and their lives; cut points, and recovery from them.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::StoreError;
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Store, runner};
use terrace_fs::{Access, FormatOptions, Fs, MountOptions};
use terrace_zone::emulator::{Drives, RandomLatency, Snapshots};
use terrace_zone::{Emulator, Geometry, PowerCut, Tracks};

use super::client::{Client, Promises};
use super::oracle::{Account, Found, Promise};

const CLIENTS: u8 = 3;

/// The drives at some moment, and the promises to the clients by then.
pub(super) struct CutPoint {
    pub(super) number: u64,
    pub(super) snapshots: Snapshots,
    pub(super) promises: Vec<Promise>,
}

/// A life that has been lived.
pub(super) struct Life {
    pub(super) accounts: Vec<Account>,
    pub(super) cuts: Vec<CutPoint>,
    pub(super) drives: Drives,
}

/// A small drive; the seed decides which one. One of them comes with a plain drive for the journal
/// and the logs.
fn drives(seed: u64) -> Drives {
    let mut geometry = Geometry::uniform(ByteCount::kib(128), 48);
    match seed % 5 {
        0 | 4 => {}
        1 => geometry.zone_capacity = 29,
        2 => geometry.conventional.push(0..1),
        _ => {
            geometry.zone_size = 35;
            geometry.zone_capacity = 31;
            geometry.last_zone_size = Some(7);
            geometry.max_active = Some(16);
            geometry.max_open = Some(14);
        }
    }
    match seed % 7 {
        5 => geometry = Geometry::tracks(ByteCount::mib(24), Tracks { blocks: 24, overlap: 2 }),
        6 => geometry = Geometry::plain(ByteCount::mib(16)),
        _ => {}
    }
    let make = |geometry| Emulator::in_memory(geometry, seed).expect("a geometry that is possible");
    let plain = (seed % 5 == 4).then(|| Geometry::plain(ByteCount::mib(9)));
    std::iter::once(geometry).chain(plain).map(make).collect::<Vec<_>>().into()
}

/// A store's first life: format, mount, clients, unmount.
pub(super) fn first_life(seed: u64, transactions: usize, random: &mut Random) -> Life {
    let accounts = (0..CLIENTS).map(Account::new).collect();
    live(drives(seed), accounts, true, transactions, random)
        .unwrap_or_else(|error| panic!("a life without a cut failed: {error}"))
}

/// Mounts (after a format, if asked), lets the clients work, unmounts.
pub(super) fn live(
    drives: Drives,
    accounts: Vec<Account>,
    format: bool,
    transactions: usize,
    random: &mut Random,
) -> Result<Life, StoreError> {
    if format {
        Fs::format(&drives, &FormatOptions::default())?;
    }
    let promises: Promises =
        Arc::new(Mutex::new(accounts.iter().map(Account::everything).collect()));
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (min, max) = (Duration::from_micros(5), Duration::from_micros(900));
    for drive in drives.all() {
        drive.set_timing(Some(Box::new(RandomLatency::new(min, max, random.random()))));
    }
    drives.set_observer(Some({
        let (promises, cuts) = (promises.clone(), cuts.clone());
        Arc::new(move |number, snapshots| {
            let promises = promises.lock().clone();
            cuts.lock().push(CutPoint { number, snapshots, promises });
        })
    }));
    let accounts = work(&drives, accounts, &promises, transactions, random);
    drives.set_observer(None);
    drives.all().iter().for_each(|drive| drive.set_timing(None));
    let accounts = accounts?;
    let cuts = std::mem::take(&mut *cuts.lock());
    Ok(Life { accounts, cuts, drives })
}

fn work(
    drives: &Drives,
    accounts: Vec<Account>,
    promises: &Promises,
    transactions: usize,
    random: &mut Random,
) -> Result<Vec<Account>, StoreError> {
    let fs = Fs::mount(drives, &MountOptions::default())?;
    let capacity = fs.space().capacity.0 as usize;
    let clients: Vec<_> = accounts
        .into_iter()
        .map(|account| {
            let client = Client {
                account,
                store: fs.clone(),
                promises: promises.clone(),
                random: random.fork(),
                quota: capacity / 2 / usize::from(CLIENTS),
                log: None,
            };
            runner::spawn("client", move || client.run(transactions))
        })
        .collect();
    let accounts: Vec<_> = clients.into_iter().map(runner::JoinHandle::join).collect();
    fs.unmount();
    accounts.into_iter().collect()
}

/// Cuts the power at a point and holds the recovered state against the accounts. Of two drives,
/// both lose their power or one alone. Returns the state and the drives, which are not written if
/// `read_only`.
pub(super) fn recover(
    accounts: &[Account],
    point: &CutPoint,
    cut: PowerCut,
    read_only: bool,
    random: &mut Random,
) -> Result<(Vec<Found>, Drives), String> {
    let drives = point.snapshots.cut_some(point.number as usize, cut, random);
    let found = inspect(&drives, accounts, &point.promises, read_only)?;
    Ok((found, drives))
}

/// Mounts, checks every promise and every invariant, unmounts.
pub(super) fn inspect(
    drives: &Drives,
    accounts: &[Account],
    promises: &[Promise],
    read_only: bool,
) -> Result<Vec<Found>, String> {
    let text = |error: StoreError| error.to_string();
    let options = match read_only {
        true => MountOptions { access: Access::ReadOnly, ..MountOptions::default() },
        false => MountOptions::default(),
    };
    let written = || drives.all().iter().map(|drive| drive.io().written_bytes).collect::<Vec<_>>();
    let before = written();
    let fs = Fs::mount(drives, &options).map_err(text)?;
    let store: &dyn Store = &*fs;
    let found = accounts
        .iter()
        .zip(promises)
        .map(|(account, promise)| account.check(store, promise))
        .collect();
    fs.unmount();
    drop(fs);
    if read_only && written() != before {
        return Err("a read-only mount wrote to the drive".to_owned());
    }
    let report = Fs::check(drives).map_err(text)?;
    if !report.is_clean() {
        return Err(format!("check found: {:?}", report.problems));
    }
    found
}
