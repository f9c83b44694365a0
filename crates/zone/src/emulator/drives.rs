//! [`Drives`]: the emulated drives of one store, which can be copied, watched and cut together.
//!
//! - [`Drives::set_observer`]: the observer gets copies of all drives before one of them carries
//!   out a request. It is called for requests that break a rule, too. It is not called for reads,
//!   nor for requests to a drive without power.
//! - [`Snapshots`] are such copies. In them the power can be cut for all drives or for one.
//! - [`Drives::power_cut`] cuts one drive after the other, up to the first error.
//!
//! [`Drives::first`] panics if there is no drive. Watch drives in memory only, and only in a
//! simulation: the observer of one drive copies the others and takes their locks, so two threads
//! could deadlock. The other calls may come from any actor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::random::Random;

use super::{Emulator, Event, PowerCut, Snapshot, Timing};
use crate::{DeviceError, Geometry, GeometryError};

/// Some emulated drives, in an order that their user gives.
#[derive(Clone, Debug)]
pub struct Drives(Vec<Arc<Emulator>>);

/// Copies of some drives at one moment.
#[derive(Debug)]
pub struct Snapshots(Vec<Snapshot>);

/// Sees copies of all drives before a request that changes one of them, with the number of such
/// requests before it.
pub type DrivesObserver = Arc<dyn Fn(u64, Snapshots) + Send + Sync>;

impl From<Emulator> for Drives {
    fn from(drive: Emulator) -> Self {
        Self(vec![Arc::new(drive)])
    }
}

impl From<Vec<Arc<Emulator>>> for Drives {
    fn from(drives: Vec<Arc<Emulator>>) -> Self {
        Self(drives)
    }
}

impl From<Vec<Emulator>> for Drives {
    fn from(drives: Vec<Emulator>) -> Self {
        Self(drives.into_iter().map(Arc::new).collect())
    }
}

impl Drives {
    /// The drives.
    #[must_use]
    pub fn all(&self) -> &[Arc<Emulator>] {
        &self.0
    }

    /// The first drive.
    #[must_use]
    pub fn first(&self) -> &Arc<Emulator> {
        &self.0[0]
    }

    /// A new drive in memory of each shape. `seed` decides all that is random in them.
    pub fn in_memory(
        shapes: impl IntoIterator<Item = Geometry>,
        seed: u64,
    ) -> Result<Self, GeometryError> {
        let drives = shapes.into_iter().map(|shape| Emulator::in_memory(shape, seed).map(Arc::new));
        drives.collect::<Result<Vec<_>, _>>().map(Self)
    }

    /// Gives each drive a model of its times, or takes it away.
    pub fn set_timing(&self, mut timing: impl FnMut() -> Option<Box<dyn Timing>>) {
        self.0.iter().for_each(|drive| drive.set_timing(timing()));
    }

    /// Cuts the power of all drives, and switches them on again only by
    /// [`power_on`](Self::power_on).
    pub fn power_cut(&self, cut: PowerCut, random: &mut Random) -> Result<(), DeviceError> {
        self.0.iter().try_for_each(|drive| drive.power_cut(cut, random))
    }

    /// Switches the drives on again.
    pub fn power_on(&self) {
        self.0.iter().for_each(|drive| drive.power_on());
    }

    /// Copies of the drives as they are, in memory.
    pub fn snapshot(&self) -> Result<Snapshots, DeviceError> {
        self.0.iter().map(|drive| drive.snapshot()).collect::<Result<_, _>>().map(Snapshots)
    }

    /// Shows copies of all drives to `observer` before each request that changes one of them. It
    /// must not use the drives. For simulations: on threads, two drives could be looked at at once.
    pub fn set_observer(&self, observer: Option<DrivesObserver>) {
        let number = Arc::new(AtomicU64::new(0));
        for (index, drive) in self.0.iter().enumerate() {
            let Some(observer) = observer.clone() else {
                drive.set_observer(None);
                continue;
            };
            let (all, number) = (self.0.clone(), Arc::clone(&number));
            drive.set_observer(Some(Arc::new(move |event: &Event<'_>| {
                let copy = |(other, drive): (usize, &Arc<Emulator>)| {
                    if other == index { event.snapshot() } else { drive.snapshot() }
                };
                let copies: Result<Vec<_>, DeviceError> =
                    all.iter().enumerate().map(copy).collect();
                let copies = copies.expect("a medium in memory does not fail");
                observer(number.fetch_add(1, Ordering::Relaxed), Snapshots(copies));
            })));
        }
    }
}

impl Snapshots {
    /// The drives, powered on again, after the power of all of them was cut at this moment.
    #[must_use]
    pub fn cut(&self, cut: PowerCut, random: &mut Random) -> Drives {
        self.cut_each(|_| cut, random)
    }

    /// Like [`cut`](Self::cut), where only one drive has lost its power: the changes of the others
    /// stay.
    #[must_use]
    pub fn cut_one(&self, drive: usize, cut: PowerCut, random: &mut Random) -> Drives {
        self.cut_each(|other| if other == drive { cut } else { PowerCut::KeepAll }, random)
    }

    /// By `choice`, a number, cuts the power of all drives or of a single one.
    #[must_use]
    pub fn cut_some(&self, choice: usize, cut: PowerCut, random: &mut Random) -> Drives {
        match choice % (self.0.len() + 1) {
            alone if self.0.len() > 1 && alone < self.0.len() => self.cut_one(alone, cut, random),
            _ => self.cut(cut, random),
        }
    }

    fn cut_each(&self, cut: impl Fn(usize) -> PowerCut, random: &mut Random) -> Drives {
        let drives = self.0.iter().enumerate();
        let drives: Vec<_> = drives.map(|(index, it)| it.cut(cut(index), random)).collect();
        drives.into()
    }
}
