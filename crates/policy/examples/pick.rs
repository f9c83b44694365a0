//! How long deciders of compaction take for a choice on a large tree: `cargo xtask bench pick`;
//! numbers of tables can follow `--`.
//!
//! Each row of the output is a system. It picks from two trees of tables of 4 MiB in zones of 256
//! MiB: in one level 0 is due, in the other the level before the last. The longest of up to ten
//! picks is printed, and how many parts the last plan takes.

use std::error::Error;
use std::sync::Arc;

use terrace_env::{ByteCount, Chunked, FileId, ZoneId, runner};
use terrace_policy::{
    Choice, ExtentView, Histogram, LevelView, Plan, RunId, RunView, SegmentView, Span, StoreShape,
    System, TreeView, Urgency, ZoneView, ZonesSource, ZonesView,
};

const TABLE: ByteCount = ByteCount::mib(4);
const ZONE: ByteCount = ByteCount::mib(256);
const PICKS: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let counts: Vec<u64> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let counts = if counts.is_empty() { vec![10_000, 50_000] } else { counts };
    for tables in counts {
        println!("{tables} tables, milliseconds of the longest of {PICKS} picks");
        println!("{:<24}{:>12}{:>12}{:>12}", "", "level 0 due", "a level due", "parts taken");
        for system in System::all() {
            let mut row = format!("{:<24}", system.name());
            let mut parts = Vec::new();
            for deep in [false, true] {
                let tree = tree(tables, deep);
                let zones = Arc::new(Packed::of(&tree));
                let shape = StoreShape {
                    capacity: ByteCount(2 * tables * TABLE.0),
                    zone_capacity: Some(ZONE),
                    guard: ByteCount(0),
                    kept: ByteCount(0),
                    memtable_size: TABLE,
                };
                let sized: System = format!("{}:table_size=4MiB", system.name()).parse()?;
                let decider = sized.compaction(&shape, zones);
                let (mut state, mut longest, mut taken) = (Vec::new(), 0.0_f64, 0);
                for _ in 0..PICKS {
                    let start = runner::now();
                    let choice = decider.pick(&tree, &state, Urgency::Shape);
                    longest = longest.max(runner::now().since(start).as_secs_f64());
                    let Some(Choice { plan, state: next }) = choice else { break };
                    plan.check(&tree)?;
                    (state, taken) = (next, count(&plan));
                }
                row += &format!("{:>12.2}", longest * 1e3);
                parts.push(taken.to_string());
            }
            println!("{row}{:>12}", parts.join(", "));
        }
        println!();
    }
    Ok(())
}

/// The parts that a plan takes.
fn count(plan: &Plan) -> usize {
    match plan {
        Plan::Merge(merge) => {
            merge.inputs.iter().map(|input| input.parts.len()).sum::<usize>() + merge.moves.len()
        }
        Plan::TrivialMove(moves) => moves.len(),
    }
}

/// A tree of `tables` tables, each level ten times as large as the one above. `deep`: level 0 is
/// not due, and of the last two levels the upper is twice as large as it may be.
fn tree(tables: u64, deep: bool) -> TreeView {
    let mut sizes = Vec::new();
    let mut left = tables;
    for level in 1.. {
        let target = 5 * 10_u64.pow(level - 1) / 2;
        let fits = target.max(1).min(left);
        sizes.push(fits);
        left -= fits;
        if left == 0 {
            break;
        }
    }
    let last = sizes.len() - 1;
    if deep {
        let more = sizes[last - 1].min(sizes[last] / 2);
        (sizes[last - 1], sizes[last]) = (sizes[last - 1] + more, sizes[last] - more);
    }
    let mut ids = 1..;
    let runs = if deep { 0 } else { 4 };
    let level0 = (1..=runs).rev().map(|id| run(id, 1, &mut ids)).collect();
    let mut levels = vec![LevelView { runs: level0 }];
    levels.extend(sizes.into_iter().map(|size| LevelView { runs: vec![run(1, size, &mut ids)] }));
    TreeView { levels }
}

/// A run of tables that divide all keys evenly. Neighbours are written at different times.
fn run(id: u64, tables: u64, ids: &mut impl Iterator<Item = u64>) -> RunView {
    let first = ids.next().unwrap_or(1);
    ids.by_ref().take(tables as usize - 1).for_each(drop);
    let key = |at: u64| (u64::MAX / tables * at).to_be_bytes();
    // A step that has no factor in common with the number of tables visits each of them once.
    let step = (tables / 2 + 1..).find(|step| divisor(*step, tables) == 1).unwrap_or(1);
    let table = |at: u64| SegmentView {
        histogram: Histogram::default(),
        file: FileId(first + at * step % tables),
        span: Span::new(key(at), key(at + 1)),
        size: TABLE,
        entries: 1000,
        tombstones: 0,
        set: None,
    };
    RunView { id: RunId(id), segments: (0..tables).map(table).collect::<Chunked<_>>() }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Tables one after the other in zones, as they were written, each zone of one level.
#[derive(Debug)]
struct Packed(ZonesView);

impl Packed {
    fn of(tree: &TreeView) -> Self {
        let (mut zones, mut extents) = (Vec::new(), Vec::new());
        for run in tree.levels.iter().flat_map(|level| &level.runs) {
            let mut files: Vec<FileId> = run.segments.iter().map(|segment| segment.file).collect();
            files.sort();
            for files in files.chunks((ZONE.0 / TABLE.0) as usize) {
                let zone = ZoneId(zones.len() as u32);
                let written = ByteCount(files.len() as u64 * TABLE.0);
                zones.push(ZoneView { zone, capacity: ZONE, written });
                extents.extend(files.iter().map(|&file| ExtentView { file, zone, size: TABLE }));
            }
        }
        Self(ZonesView::new(zones, extents))
    }
}

impl ZonesSource for Packed {
    fn placed(&self, _: &[FileId]) -> ZonesView {
        self.0.clone()
    }
}
