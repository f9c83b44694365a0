//! Tests of reclaim deciders: goldens of when reclaim is due and which zone is the victim; and a
//! full store on which a collector must come to an end, and give back dead bytes if a writer waits.

use terrace_env::ZoneId;
use terrace_policy::{
    CandidateZone, Greedy, LastResort, Lean, RECLAIM_STREAM, Reclaim, ReclaimView, Row, Supply,
    System,
};

use crate::golden::{check, number};

fn decide(policy: &dyn Reclaim, input: &str) -> String {
    let first = input.lines().next().unwrap_or_default();
    let candidates: Vec<CandidateZone> = input
        .lines()
        .filter(|line| line.contains("zone="))
        .map(|line| CandidateZone {
            zone: ZoneId(number(line, "zone").expect("a zone")),
            capacity: number(line, "capacity").expect("a capacity"),
            live: number(line, "live").expect("live bytes"),
            gain: number(line, "gain").expect("a gain"),
            tables: number(line, "tables").unwrap_or(0),
            levels: number(line, "levels").unwrap_or(0),
            levels_dead: number(line, "levels_dead").unwrap_or(0),
            age: number(line, "age").unwrap_or_default(),
        })
        .collect();
    let supply = Supply {
        zones: number(first, "zones").unwrap_or(100),
        free: number(first, "free").unwrap_or(0),
        spare: number(first, "spare").unwrap_or(0),
        wanted: first.contains("wanted"),
        in_use: number(first, "in_use").unwrap_or_default(),
        live: number(first, "live").unwrap_or_default(),
    };
    let due = if policy.is_due(&supply) { "" } else { "not due; " };
    let choice = match policy.victim(&ReclaimView { supply, candidates: &candidates }) {
        Some(choice) if choice.stream == RECLAIM_STREAM => {
            format!("empty zone {} apart", choice.victim)
        }
        Some(choice) => format!("empty zone {} into stream {}", choice.victim, choice.stream),
        None => "nothing".to_owned(),
    };
    format!("{due}{choice}")
}

#[test]
fn greedy_takes_the_zone_with_the_fewest_live_bytes() {
    check("reclaim-greedy", |input| decide(&Greedy::default(), input));
}

#[test]
fn the_collector_of_leveldb_greedy_keeps_a_fifth_of_the_zones_free_while_it_pays() {
    let collector = System::of(Row::LeveldbGreedy).reclaim();
    check("reclaim-leveldb-greedy", |input| decide(&*collector, input));
}

#[test]
fn lean_reclaim_bounds_garbage_and_prefers_old_zones() {
    check("reclaim-lean", |input| decide(&Lean::default(), input));
}

/// Empties zones of a full store until the policy has enough; returns the free zones and the moved
/// ones.
fn collect(policy: &dyn Reclaim, live_percent: &[u64], wanted: bool) -> (usize, u64) {
    const CAPACITY: u64 = 100;
    let mut zones = live_percent.to_vec();
    let (mut free, mut room, mut copied, mut steps) = (0, 0, 0, 0);
    loop {
        zones.sort_unstable();
        let candidate = |(id, live): (usize, &u64)| CandidateZone {
            zone: ZoneId(id as u32),
            capacity: terrace_env::ByteCount(CAPACITY),
            live: terrace_env::ByteCount(*live),
            gain: terrace_env::ByteCount(CAPACITY - live),
            // Of the same depth everywhere, ten tables to a zone.
            tables: live.div_ceil(10),
            levels: 3 * live.div_ceil(10),
            levels_dead: 3 * ((CAPACITY - live) / 10),
            age: terrace_env::ByteCount(CAPACITY),
        };
        let dead = zones.iter().enumerate().filter(|(_, live)| **live < CAPACITY);
        let candidates: Vec<CandidateZone> = dead.map(candidate).collect();
        let all = live_percent.len() as u32;
        let in_use = terrace_env::ByteCount(CAPACITY * zones.len() as u64);
        let live = terrace_env::ByteCount(zones.iter().sum());
        let supply_now = Supply { zones: all, free, spare: free, wanted, in_use, live };
        let view = ReclaimView { supply: supply_now, candidates: &candidates };
        let choice = policy.is_due(&supply_now).then(|| policy.victim(&view)).flatten();
        let Some(choice) = choice else { break };
        let live = zones.remove(choice.victim.0 as usize);
        copied += live;
        free += 1;
        if room < live {
            // Another zone is opened for the copies.
            (free, room) = (free.saturating_sub(1), room + CAPACITY);
            zones.push(CAPACITY);
        }
        room -= live;
        steps += 1;
        assert!(steps <= 10 * live_percent.len(), "the collector spins: {zones:?}");
    }
    (free as usize, copied)
}

#[test]
fn the_last_resort_is_for_those_who_wait() {
    check("reclaim-last-resort", |input| decide(&LastResort, input));
}

#[test]
fn cost_benefit_weighs_how_deep_tables_lie() {
    let live: System = "leveldb-cost-benefit:zone_age=live".parse().unwrap();
    let collector = live.reclaim();
    check("reclaim-leveldb-cost-benefit", |input| decide(&*collector, input));
}

#[test]
fn the_age_of_a_zone_is_that_of_its_live_tables_of_all_or_their_mean() {
    check("reclaim-zone-age", |input| {
        let chosen = |age: &str| {
            let system: System = format!("leveldb-cost-benefit:zone_age={age}").parse().unwrap();
            format!("{age}: {}", decide(&*system.reclaim(), input))
        };
        ["written", "live", "mean"].map(chosen).join("\n")
    });
}

#[test]
fn a_collector_ends_whatever_is_live_and_does_not_copy_for_ever_for_little() {
    for system in [
        "leveldb-greedy",
        "leveldb-cost-benefit",
        "leveldb-cost-benefit:zone_age=live",
        "leveldb-cost-benefit:zone_age=mean,all_candidates=on",
    ] {
        ends(&*system.parse::<System>().unwrap().reclaim(), |_| 20);
    }
    // Nine tenths of the zones in use are live, or a fifth is free.
    ends(&Lean::default(), |live| (99 - live as usize * 10 / 9).min(20));
}

/// `least`: how many of 100 zones come free, by how many percent of each are live.
fn ends(collector: &dyn Reclaim, least: impl Fn(u64) -> usize) {
    for live in (0..=100).step_by(5) {
        let zones = vec![live; 100];
        let (free, copied) = collect(collector, &zones, false);
        if live <= 75 {
            let least = least(live);
            assert!(free >= least, "{live} % live: expected {least} free zones, found {free}");
        }
        if live > 90 {
            assert_eq!(copied, 0, "{live} % live: a tenth of each zone is not worth it");
        }
        // When a writer waits, all dead bytes come back.
        let (free, _) = collect(collector, &zones, true);
        assert!(free as u64 >= 99u64.saturating_sub(live), "{live} % live, wanted: {free} zones");
    }
}
