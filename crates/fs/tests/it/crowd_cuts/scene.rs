//! A drive, its clients and their lives; cut points, and recovery from them.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::StoreError;
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Store, runner};
use terrace_fs::{Access, FormatOptions, Fs, MountOptions};
use terrace_zone::emulator::{Event, RandomLatency};
use terrace_zone::{Emulator, Geometry, PowerCut, Snapshot};

use super::client::{Client, Promises};
use super::oracle::{Account, Found, Promise};

const CLIENTS: u8 = 3;

/// The drive at some moment, and what the clients had been promised by then.
pub(super) struct CutPoint {
    pub(super) number: u64,
    pub(super) snapshot: Snapshot,
    pub(super) promises: Vec<Promise>,
}

/// A life that has been lived.
pub(super) struct Life {
    pub(super) accounts: Vec<Account>,
    pub(super) cuts: Vec<CutPoint>,
    pub(super) drive: Emulator,
}

/// A small drive; which one, the seed decides.
pub(super) fn geometry(seed: u64) -> Geometry {
    let mut geometry = Geometry::uniform(ByteCount::kib(128), 48);
    match seed % 4 {
        0 => {}
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
    geometry
}

/// A store's first life: format, mount, clients, unmount.
pub(super) fn first_life(seed: u64, transactions: usize, random: &mut Random) -> Life {
    let drive = Emulator::in_memory(geometry(seed), seed).expect("a geometry that is possible");
    let accounts = (0..CLIENTS).map(Account::new).collect();
    live(drive, accounts, true, transactions, random)
        .unwrap_or_else(|error| panic!("a life without a cut failed: {error}"))
}

/// Mounts (after a format, if asked), lets the clients work, unmounts.
pub(super) fn live(
    drive: Emulator,
    accounts: Vec<Account>,
    format: bool,
    transactions: usize,
    random: &mut Random,
) -> Result<Life, StoreError> {
    let drive = Arc::new(drive);
    if format {
        Fs::format(drive.clone(), &FormatOptions::default())?;
    }
    let promises: Promises =
        Arc::new(Mutex::new(accounts.iter().map(Account::everything).collect()));
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (min, max) = (Duration::from_micros(5), Duration::from_micros(900));
    drive.set_timing(Some(Box::new(RandomLatency::new(min, max, random.random()))));
    drive.set_observer(Some({
        let (promises, cuts) = (promises.clone(), cuts.clone());
        Arc::new(move |event: &Event<'_>| {
            let snapshot = event.snapshot().expect("a medium in memory does not fail");
            let promises = promises.lock().clone();
            cuts.lock().push(CutPoint { number: event.number, snapshot, promises });
        })
    }));
    let accounts = work(&drive, accounts, &promises, transactions, random);
    drive.set_observer(None);
    drive.set_timing(None);
    let accounts = accounts?;
    let cuts = std::mem::take(&mut *cuts.lock());
    let drive = Arc::into_inner(drive).expect("an unmounted file system lets go of its drive");
    Ok(Life { accounts, cuts, drive })
}

fn work(
    drive: &Arc<Emulator>,
    accounts: Vec<Account>,
    promises: &Promises,
    transactions: usize,
    random: &mut Random,
) -> Result<Vec<Account>, StoreError> {
    let fs = Fs::mount(drive.clone(), &MountOptions::default())?;
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

/// Cuts the power at a point and holds what is found against the accounts. Returns what was found
/// and the drive, which nothing was written to if `read_only`.
pub(super) fn recover(
    accounts: &[Account],
    point: &CutPoint,
    cut: PowerCut,
    read_only: bool,
    random: &mut Random,
) -> Result<(Vec<Found>, Emulator), String> {
    let drive = Arc::new(point.snapshot.cut(cut, random));
    let found = inspect(&drive, accounts, &point.promises, read_only)?;
    let drive = Arc::into_inner(drive).expect("an unmounted file system lets go of its drive");
    Ok((found, drive))
}

/// Mounts, checks every promise and every invariant, unmounts.
pub(super) fn inspect(
    drive: &Arc<Emulator>,
    accounts: &[Account],
    promises: &[Promise],
    read_only: bool,
) -> Result<Vec<Found>, String> {
    let text = |error: StoreError| error.to_string();
    let options = match read_only {
        true => MountOptions { access: Access::ReadOnly, ..MountOptions::default() },
        false => MountOptions::default(),
    };
    let written = drive.io().written_bytes;
    let fs = Fs::mount(drive.clone(), &options).map_err(text)?;
    let store: &dyn Store = &*fs;
    let found = accounts
        .iter()
        .zip(promises)
        .map(|(account, promise)| account.check(store, promise))
        .collect();
    fs.unmount();
    drop(fs);
    if read_only && drive.io().written_bytes != written {
        return Err("a read-only mount wrote to the drive".to_owned());
    }
    let report = Fs::check(drive.clone()).map_err(text)?;
    if !report.is_clean() {
        return Err(format!("check found: {:?}", report.problems));
    }
    found
}
