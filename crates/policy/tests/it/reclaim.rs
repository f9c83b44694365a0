//! What is emptied.

use terrace_env::ZoneId;
use terrace_policy::{CandidateZone, Greedy, RECLAIM_STREAM, Reclaim, ReclaimView};

use crate::golden::{check, number};

fn decide(policy: &dyn Reclaim, input: &str) -> String {
    let candidates: Vec<CandidateZone> = input
        .lines()
        .filter(|line| line.contains("zone="))
        .map(|line| CandidateZone {
            zone: ZoneId(number(line, "zone").expect("a zone")),
            capacity: number(line, "capacity").expect("a capacity"),
            live: number(line, "live").expect("live bytes"),
            gain: number(line, "gain").expect("a gain"),
        })
        .collect();
    match policy.victim(&ReclaimView { candidates: &candidates }) {
        Some(choice) if choice.stream == RECLAIM_STREAM => {
            format!("empty zone {} apart", choice.victim)
        }
        Some(choice) => format!("empty zone {} into stream {}", choice.victim, choice.stream),
        None => "nothing".to_owned(),
    }
}

#[test]
fn greedy_takes_the_zone_with_the_fewest_live_bytes() {
    check("reclaim-greedy", |input| decide(&Greedy, input));
}
