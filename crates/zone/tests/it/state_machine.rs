//! The zone state machine against a model that keeps a list of zones and counts the open and active
//! ones anew whenever a limit is checked.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::{Lba, ZoneId, test_seeds};
use terrace_zone::ZoneState::{self, *};
use terrace_zone::{DeviceError, Geometry, ZoneTable, ZoneType};

use crate::geometries;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Write { zone: usize, skip: u64, blocks: u64 },
    Append { zone: usize, blocks: u64 },
    Open(usize),
    Close(usize),
    Finish(usize),
    Reset(usize),
    Fail(usize, ZoneState),
    PowerCycle,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Zone {
    state: ZoneState,
    written: u64,
    opened: usize,
}

struct Model {
    geometry: Geometry,
    zones: Vec<Zone>,
    openings: usize,
}

/// The error's name; the model does not predict its fields.
fn name(error: &DeviceError) -> String {
    format!("{error:?}").split([' ', '{']).next().unwrap_or_default().to_owned()
}

/// Where in its zone a write starts: within it, even if the pointer is at its end.
fn place(geometry: &Geometry, at: u64, zone: usize) -> u64 {
    at.min(geometry.zone_size(ZoneId(zone as u32)) - geometry.physical_step())
}

impl Model {
    fn new(geometry: Geometry) -> Self {
        let zones = geometry.zone_ids().map(|zone| Zone {
            state: match geometry.zone_type(zone) {
                ZoneType::Conventional => NotWritePointer,
                ZoneType::Sequential => Empty,
            },
            written: 0,
            opened: 0,
        });
        Self { zones: zones.collect(), geometry, openings: 0 }
    }

    fn count(&self, is: impl Fn(ZoneState) -> bool) -> u32 {
        self.zones.iter().filter(|zone| is(zone.state)).count() as u32
    }

    fn close(zone: &mut Zone) {
        zone.state = if zone.written == 0 { Empty } else { Closed };
    }

    fn open(&mut self, index: usize, state: ZoneState) -> Result<(), &'static str> {
        let now = self.zones[index].state;
        if !now.is_active()
            && self.geometry.max_active.is_some_and(|max| self.count(ZoneState::is_active) >= max)
        {
            return Err("TooManyActive");
        }
        if !now.is_open()
            && self.geometry.max_open.is_some_and(|max| self.count(ZoneState::is_open) >= max)
        {
            let implicit = self.zones.iter_mut().filter(|zone| zone.state == ImplicitlyOpen);
            Self::close(implicit.min_by_key(|zone| zone.opened).ok_or("TooManyOpen")?);
        }
        if now != state && !(state == ImplicitlyOpen && now == ExplicitlyOpen) {
            self.openings += 1;
            self.zones[index].state = state;
            self.zones[index].opened = self.openings;
        }
        Ok(())
    }

    fn usable(&self, index: usize) -> Result<ZoneState, &'static str> {
        match self.zones[index].state {
            Offline => Err("ZoneOffline"),
            ReadOnly => Err("ZoneReadOnly"),
            state => Ok(state),
        }
    }

    fn advance(&mut self, index: usize, blocks: u64) -> Result<(), &'static str> {
        let capacity = self.geometry.zone_capacity(ZoneId(index as u32));
        let end = self.zones[index].written + blocks;
        if end > capacity {
            return Err("BeyondCapacity");
        }
        self.open(index, ImplicitlyOpen)?;
        self.zones[index].written = end;
        if end == capacity {
            self.zones[index].state = Full;
        }
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), &'static str> {
        match step {
            Step::Write { zone, skip, blocks } => {
                let size = self.geometry.zone_size(ZoneId(zone as u32));
                let at = place(&self.geometry, self.zones[zone].written + skip, zone);
                let start = self.geometry.zone_start(ZoneId(zone as u32)).0;
                if start + at + blocks > self.geometry.blocks() {
                    return Err("OutOfRange");
                }
                if at + blocks > size {
                    return Err("CrossesZone");
                }
                match self.usable(zone)? {
                    Full => Err("ZoneFull"),
                    NotWritePointer => Ok(()),
                    _ if !blocks.is_multiple_of(self.geometry.physical_step())
                        || !at.is_multiple_of(self.geometry.physical_step()) =>
                    {
                        Err("Misaligned")
                    }
                    _ if at != self.zones[zone].written => Err("NotAtWritePointer"),
                    _ => self.advance(zone, blocks),
                }
            }
            Step::Append { zone, blocks } => {
                if !blocks.is_multiple_of(self.geometry.physical_step()) {
                    return Err("Misaligned");
                }
                if blocks > u64::from(self.geometry.max_append.unwrap_or(0)) {
                    return Err("AppendTooLarge");
                }
                match self.usable(zone)? {
                    Full => Err("ZoneFull"),
                    NotWritePointer => Err("WrongState"),
                    _ => self.advance(zone, blocks),
                }
            }
            Step::Open(zone) => match self.usable(zone)? {
                Full | NotWritePointer => Err("WrongState"),
                _ => self.open(zone, ExplicitlyOpen),
            },
            Step::Close(zone) => match self.usable(zone)? {
                ImplicitlyOpen | ExplicitlyOpen | Closed => {
                    Self::close(&mut self.zones[zone]);
                    Ok(())
                }
                _ => Err("WrongState"),
            },
            Step::Finish(zone) => match self.usable(zone)? {
                NotWritePointer => Err("WrongState"),
                _ => {
                    self.zones[zone].state = Full;
                    Ok(())
                }
            },
            Step::Reset(zone) => match self.usable(zone)? {
                NotWritePointer => Err("WrongState"),
                _ => {
                    self.zones[zone] = Zone { state: Empty, written: 0, opened: 0 };
                    Ok(())
                }
            },
            Step::Fail(zone, state) => {
                self.zones[zone].state = state;
                Ok(())
            }
            Step::PowerCycle => {
                self.zones.iter_mut().filter(|zone| zone.state.is_open()).for_each(Self::close);
                Ok(())
            }
        }
    }
}

fn draw(random: &mut Random, model: &Model) -> Step {
    let zone = random.random_range(0..model.zones.len());
    let step = model.geometry.physical_step();
    let blocks = match random.random_range(0..4) {
        0 => random.random_range(1..=40),
        _ => random.random_range(1..=4) * step,
    };
    match random.random_range(0..100) {
        0..40 => {
            let skip = if random.random_bool(0.1) { random.random_range(0..2 * step) } else { 0 };
            Step::Write { zone, skip, blocks }
        }
        40..55 => Step::Append { zone, blocks },
        55..65 => Step::Open(zone),
        65..75 => Step::Close(zone),
        75..83 => Step::Finish(zone),
        83..98 => Step::Reset(zone),
        98 => Step::PowerCycle,
        _ if random.random_bool(0.02) => {
            Step::Fail(zone, if random.random() { ReadOnly } else { Offline })
        }
        _ => Step::Reset(zone),
    }
}

fn carry_out(table: &mut ZoneTable, step: Step) -> Result<(), DeviceError> {
    let geometry = table.geometry().clone();
    let id = |zone: usize| ZoneId(zone as u32);
    let bytes = |blocks: u64| blocks * u64::from(geometry.logical_block);
    let transition = match step {
        Step::Write { zone, skip, blocks } => {
            let at = place(&geometry, table.status(id(zone)).written + skip, zone);
            table.plan_write(Lba(geometry.zone_start(id(zone)).0 + at), bytes(blocks))?
        }
        Step::Append { zone, blocks } => table.plan_append(id(zone), bytes(blocks))?,
        Step::Open(zone) => table.plan_open(id(zone))?,
        Step::Close(zone) => table.plan_close(id(zone))?,
        Step::Finish(zone) => table.plan_finish(id(zone))?,
        Step::Reset(zone) => table.plan_reset(id(zone))?,
        Step::Fail(zone, state) => {
            let status = terrace_zone::ZoneStatus { state, ..table.status(id(zone)) };
            table.set(id(zone), status);
            return Ok(());
        }
        Step::PowerCycle => {
            table.close_all();
            return Ok(());
        }
    };
    table.apply(transition);
    Ok(())
}

/// Runs both side by side, over every shape; gives the names of the errors that came up.
fn agree(seed: u64) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for geometry in geometries::all() {
        let mut random = Random::seeded(seed);
        let mut table = ZoneTable::new(Arc::new(geometry.clone()));
        let mut model = Model::new(geometry);
        for count in 0..1000 {
            let step = draw(&mut random, &model);
            let got = carry_out(&mut table, step).map_err(|error| name(&error));
            seen.extend(got.clone().err());
            let expected = model.step(step).map_err(str::to_owned);
            assert_eq!(got, expected, "seed {seed}, step {count}: {step:?}");
            for (index, zone) in model.zones.iter().enumerate() {
                let status = table.status(ZoneId(index as u32));
                assert_eq!(
                    (status.state, status.written),
                    (zone.state, zone.written),
                    "seed {seed}, step {count}: {step:?} zone {index}"
                );
            }
            assert_eq!(table.open(), model.count(ZoneState::is_open) as usize);
            assert_eq!(table.active(), model.count(ZoneState::is_active) as usize);
        }
    }
    seen
}

#[test]
fn the_machine_agrees_with_a_naive_model() {
    for seed in test_seeds(60) {
        agree(seed);
    }
}

#[test]
fn the_model_meets_every_error_of_the_machine() {
    let seen: BTreeSet<String> = (0..20).flat_map(agree).collect();
    let all = [
        "AppendTooLarge",
        "BeyondCapacity",
        "CrossesZone",
        "Misaligned",
        "NotAtWritePointer",
        "OutOfRange",
        "TooManyActive",
        "TooManyOpen",
        "WrongState",
        "ZoneFull",
        "ZoneOffline",
        "ZoneReadOnly",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

#[test]
fn a_table_of_52_000_zones_is_quick() {
    let mut table = ZoneTable::new(Arc::new(Geometry {
        zones: 52_000,
        max_open: Some(20_000),
        ..geometries::plain()
    }));
    // Linear work in each of these would be 10^10 steps and hang the suite.
    for round in 0..4 {
        for zone in (0..52_000).map(ZoneId) {
            let start = table.geometry().zone_start(zone);
            let transition = table.plan_write(Lba(start.0 + round), 4096).unwrap();
            table.apply(transition);
        }
    }
    assert_eq!((table.open(), table.active()), (20_000, 52_000));
}
