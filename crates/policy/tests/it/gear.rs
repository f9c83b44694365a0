//! Text goldens of gear compaction: single choices under each variant. Trees are as in the goldens
//! of [`crate::compaction`]. The other lines are:
//!
//! - `zone=7 files=3,4`: the files that begin in a zone of 40 bytes. The zone is full; with `open`
//!   it has one byte of room, and `written=30` says how much is written. Files in no such line are
//!   zones of their own.
//! - `window level=2 zone=7 files=3-4`: the id range of a zone that is in a level's window.
//! - `window pointers 1=c`: the pointers of the variant `code`.

use std::sync::Arc;

use terrace_env::{FileId, ZoneId};
use terrace_policy::{
    ByteCount, Choice, ExtentView, Gear, GearOptions, GearRepairs, GearVariant, LeveledOptions,
    NoZones, TreeView, ZoneView, ZonesSource, ZonesView,
};

use crate::compaction::{self, describe_plan, tree};
use crate::golden::{check, field, number};

const LEVELS: usize = 5;
const ZONE: u64 = 40;

pub(crate) const GEAR_VARIANTS: [GearVariant; 3] =
    [GearVariant::Repaired, GearVariant::Code, GearVariant::Algorithm1];

pub(crate) fn gear(variant: GearVariant) -> Gear {
    let leveled = LeveledOptions {
        level0_runs: 2,
        level0_slow: 3,
        level0_stop: 4,
        level1_size: ByteCount(40),
        factor: 4,
        table_size: ByteCount(10),
        levels: LEVELS,
        overlap_tables: 10,
        growth: 25,
        ..LeveledOptions::default()
    };
    let level0_size = ByteCount(20);
    let repairs = GearRepairs::OWN;
    Gear::new(GearOptions { leveled, windows: 4, level0_size, variant, repairs }, Arc::new(NoZones))
}

#[derive(Debug)]
struct Given(ZonesView);

impl ZonesSource for Given {
    fn placed(&self, _: &[FileId]) -> ZonesView {
        self.0.clone()
    }
}

fn files(line: &str, separator: char) -> Vec<u64> {
    let list = field(line, "files").expect("files");
    list.split(separator).map(|id| id.parse().expect("a file")).collect()
}

fn zones(input: &str, tree: &TreeView) -> ZonesView {
    let (mut zones, mut extents) = (Vec::new(), Vec::new());
    for line in input.lines().map(str::trim).filter(|line| line.starts_with("zone=")) {
        let zone = ZoneId(number(line, "zone").expect("a zone"));
        let capacity = ByteCount(ZONE);
        let written = number(line, "written").unwrap_or(ZONE - u64::from(line.ends_with("open")));
        zones.push(ZoneView { zone, capacity, written: ByteCount(written) });
        for file in files(line, ',').into_iter().map(FileId) {
            let tables = tree.levels.iter().flat_map(|l| &l.runs).flat_map(|r| &r.segments);
            let size = tables.filter(|table| table.file == file).map(|table| table.size.0).sum();
            extents.push(ExtentView { file, zone, size: ByteCount(size) });
        }
    }
    ZonesView::new(zones, extents)
}

/// State encoded as the head of the state's module describes, with the windows of the input.
fn state(input: &str) -> Vec<u8> {
    let windows: Vec<&str> =
        input.lines().map(str::trim).filter(|line| line.starts_with("window")).collect();
    if windows.is_empty() {
        return Vec::new();
    }
    let mut bytes = vec![1];
    bytes.extend(number(input, "settled").unwrap_or(0_u64).to_le_bytes());
    bytes.push(LEVELS as u8);
    for level in 0..LEVELS {
        let own = |line: &&&str| number::<usize>(line, "level") == Some(level);
        let own: Vec<&&str> = windows.iter().filter(own).collect();
        let of = |key| own.iter().find_map(|line| number(line, key));
        bytes.extend(of("passed").unwrap_or(0_u64).to_le_bytes());
        bytes.extend(of("round").unwrap_or(0_u64).to_le_bytes());
        bytes.push(of("misses").unwrap_or(0) as u8);
        let own: Vec<&&&str> = own.iter().filter(|line| field(line, "files").is_some()).collect();
        bytes.extend((own.len() as u32).to_le_bytes());
        for line in own {
            bytes.extend(number::<u32>(line, "zone").expect("a zone").to_le_bytes());
            for file in files(line, '-') {
                bytes.extend(file.to_le_bytes());
            }
        }
    }
    let pointers = input.lines().find_map(|line| line.trim().strip_prefix("window pointers"));
    let pointers = pointers.map(|of| compaction::state(&format!("pointers{of}")));
    let pointers = pointers.unwrap_or_default();
    bytes.extend((pointers.len() as u32).to_le_bytes());
    bytes.extend(pointers);
    bytes
}

fn windows(state: &[u8]) -> String {
    let mut at = 10;
    let mut next = |len: usize| {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(&state[at..at + len]);
        at += len;
        u64::from_le_bytes(bytes)
    };
    let mut text = String::new();
    for level in 0..state[9] {
        let (passed, round, misses, ranges) = (next(8), next(8), next(1), next(4));
        if round > 0 {
            text += &format!("window level={level} passed={passed} round={round}");
            text += &if misses > 0 { format!(" misses={misses}\n") } else { "\n".into() };
        }
        for _ in 0..ranges {
            let (zone, first, last) = (next(4), next(8), next(8));
            text += &format!("window level={level} zone={zone} files={first}-{last}\n");
        }
    }
    if next(4) > 0 {
        text += &compaction::pointers(&state[at..]);
    }
    text
}

fn decide(variant: GearVariant, input: &str) -> String {
    let of_tree = input.lines().filter(|line| !line.trim().starts_with("window"));
    let tree = tree(&of_tree.collect::<Vec<_>>().join("\n"));
    let Some(choice) = gear(variant).decide(&tree, &Given(zones(input, &tree)), &state(input))
    else {
        return "nothing".into();
    };
    let Choice { plan, state } = choice;
    if let Err(illegal) = plan.check(&tree) {
        panic!("{illegal}: {plan:?} for\n{input}");
    }
    let no_grandparents = format!(" or over {} of", ByteCount(u64::MAX));
    describe_plan(&plan).replace(&no_grandparents, "") + &windows(&state)
}

#[test]
fn gear_compaction_goes_as_the_paper_draws_it() {
    check("compaction-gear", |input| decide(GearVariant::Repaired, input));
}

#[test]
fn algorithm_1_does_what_is_printed_and_nothing_else() {
    check("compaction-gear-algorithm-1", |input| decide(GearVariant::Algorithm1, input));
}

#[test]
fn the_authors_code_begins_anywhere_and_turns_any_merge_into_a_gear_compaction() {
    check("compaction-gear-code", |input| decide(GearVariant::Code, input));
}
