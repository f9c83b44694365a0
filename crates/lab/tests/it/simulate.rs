//! Worlds of `terrace lab simulate`: they keep all promises, a long run of them meets each kind of
//! event, and a broken rule is found, made small, and printed with the command that repeats it.

use terrace_env::test_seeds;
use terrace_lab::simulate::{Counts, World, play};

#[test]
fn worlds_keep_all_promises_and_meet_each_kind_of_event() {
    let mut counts = Counts::default();
    let seeds = test_seeds(12);
    for seed in seeds.clone() {
        for world in World::ALL {
            // Cuts take long: of four seeds, one has an offload drive, and one a log drive.
            if matches!(world, World::Cuts | World::Recoveries) && seed % 3 != 1 {
                continue;
            }
            counts = counts.and(play(world, seed).unwrap_or_else(|failed| panic!("{failed}")));
        }
    }
    if seeds.clone().count() == 12 {
        // Scripts take little time, and few of them fill their drive.
        for seed in 12..60 {
            let played = play(World::Scripts, seed);
            counts = counts.and(played.unwrap_or_else(|failed| panic!("{failed}")));
        }
    }
    println!("{counts}");
    if seeds.count() == 12 {
        let never = counts.missing();
        // In twelve seeds these are rare.
        let rare = ["bytes moved by reclaim", "stores resumed after a failure"];
        assert!(never.iter().all(|name| rare.contains(name)), "never: {never:?}");
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_broken_rule_is_found_made_small_and_told_with_its_command() {
    use terrace_fs::canary::{self, Rule};

    let found = |world: World, rule: Rule| {
        (0..300).find_map(|seed| {
            canary::set(Some(rule));
            let played = play(world, seed);
            canary::set(None);
            played.err()
        })
    };
    let script = found(World::Scripts, Rule::JournalDurableBeforeAck).expect("a script that fails");
    let text = script.to_string();
    let command =
        format!("`terrace lab simulate --world scripts --seed {}` repeats it", script.seed);
    assert!(text.contains(&command) && text.contains("shrunk to"), "{text}");
    let operations = text.lines().filter(|line| line.starts_with("    ")).count();
    assert!((1..100).contains(&operations), "{operations} operations of 300: {text}");

    let cut = found(World::Cuts, Rule::JournalDurableBeforeAck).expect("a life that fails");
    assert!(cut.to_string().contains("--world cuts"), "{cut}");
    let batches = cut.what.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    assert!(batches.is_some_and(|batches| batches <= 250), "{cut}");
}
