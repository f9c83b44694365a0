//! Goldens of placement: a request and the partly written zones in, the zone that a decider chooses
//! out.

use terrace_env::ZoneId;
use terrace_env::store::{FileKind, PlacementHint, Rank};
use terrace_policy::{
    ByLifetime, LevelSeparated, LogStructured, PartZone, Placement, PlacementChoice,
    PlacementRequest, SpaceView, WholeZones,
};

use crate::golden::{check, field, number};

fn decide(policy: &dyn Placement, input: &str) -> String {
    let mut lines = input.lines();
    let request = lines.next().expect("a request");
    let partly: Vec<PartZone> = lines
        .map(|line| PartZone {
            zone: ZoneId(number(line, "zone").expect("a zone")),
            room: number(line, "room").expect("room"),
            level: number(line, "level"),
            stream: number(line, "stream").unwrap_or(0),
        })
        .collect();
    let hint = PlacementHint {
        level: number(request, "level"),
        stream: number(request, "stream").unwrap_or(0),
    };
    let slot = field(request, "slot") != Some("none");
    let view = SpaceView { partly: &partly, free: number(request, "free").unwrap_or(0), slot };
    let left = number(request, "left");
    let request = PlacementRequest { hint: &hint, kind: FileKind::Table, rank: Rank::Flush, left };
    match policy.place(&view, &request) {
        Some(PlacementChoice::Append(zone)) => format!("append to zone {zone}"),
        Some(PlacementChoice::OpenNew) => "open a free zone".to_owned(),
        None => "nothing".to_owned(),
    }
}

#[test]
fn level_separated_keeps_a_stream_and_level_together() {
    check("placement-level-separated", |input| decide(&LevelSeparated, input));
}

#[test]
fn log_structured_puts_tables_of_all_levels_together() {
    check("placement-log-structured", |input| decide(&LogStructured, input));
}

#[test]
fn by_lifetime_keeps_what_is_consumed_next_apart() {
    check("placement-by-lifetime", |input| decide(&ByLifetime, input));
}

#[test]
fn whole_zones_gives_a_merged_table_zones_of_its_own() {
    check("placement-whole-zones", |input| decide(&WholeZones::default(), input));
}

#[test]
fn tables_of_level_0_share_a_zone_unless_they_lie_apart() {
    let input = |free: u32| format!("level=0 free={free}\nzone=4 room=100 level=0");
    let [together, apart] = [false, true].map(|level0_apart| WholeZones { level0_apart });
    assert_eq!(decide(&together, &input(9)), "append to zone 4");
    assert_eq!(decide(&apart, &input(9)), "open a free zone");
    assert_eq!(decide(&apart, &input(0)), "append to zone 4", "rather than none");
}
