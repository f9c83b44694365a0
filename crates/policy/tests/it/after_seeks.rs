//! Merges for reads: how many searches without success a table allows, and where it goes after
//! them. Goldens are as in [`crate::compaction`]; `after-seeks=2` names the file that was searched.

use terrace_env::{ByteCount, FileId};
use terrace_policy::{Compaction, Leveled, LeveledOptions, TreeView, Victim};

use crate::compaction::{carry_out_all, decide, leveldb, options, sealdb, tree};
use crate::gear::{GEAR_VARIANTS, gear};
use crate::golden::check;

#[test]
fn a_table_that_reads_searched_in_vain_goes_a_level_down() {
    check("compaction-after-seeks", |input| decide(&leveldb(), input));
    let allowed = |seek_cost, size| {
        let options = LeveledOptions { seek_cost: ByteCount(seek_cost), ..options() };
        Leveled::new(options).seeks_allowed(ByteCount(size))
    };
    // LevelDB's cost, and a table of 4 MiB.
    assert_eq!(allowed(16 << 10, 4 << 20), Some(256));
    assert_eq!(allowed(16 << 10, 1), Some(1), "the first read would be one too many");
    assert_eq!(allowed(0, 4 << 20), None);
}

#[test]
fn any_table_above_the_last_level_goes_down_for_reads_until_none_is_left() {
    let text = "
        level=0 run=9 a-g:10
        level=0 run=8 x-z:10
        level=1 run=5 a-d:10 e-h:10
        level=2 run=2 a-c:10 c-z:30
        level=3 run=1 b-e:10 f-m:10";
    let [repaired, code, algorithm1] = GEAR_VARIANTS.map(gear);
    let bounded = sealdb(Victim::Bounded, false);
    let deciders: [&dyn Compaction; 5] = [&leveldb(), &repaired, &code, &algorithm1, &bounded];
    for decider in deciders {
        let mut tree = tree(text);
        let uppermost = |tree: &TreeView| {
            let mut runs = tree.levels.iter().flat_map(|level| &level.runs);
            runs.find_map(|run| run.segments.first()).map(|segment| segment.file)
        };
        let steps = carry_out_all(&mut tree, |tree, state| {
            decider.pick_after_seeks(tree, state, uppermost(tree)?)
        });
        assert!(steps > 3, "{}: {steps} steps, {tree:?}", decider.name());
        let held = tree.levels.iter().filter(|level| !level.runs.is_empty());
        assert_eq!(held.count(), 1, "{}: {tree:?}", decider.name());
        assert_eq!(decider.pick_after_seeks(&tree, &[], FileId(9_999)), None, "it is gone");
    }
}
