//! Where files go.

use terrace_env::ZoneId;
use terrace_env::store::{FileKind, PlacementHint, Rank};
use terrace_policy::{
    LogStructured, PartZone, Placement, PlacementChoice, PlacementRequest, SpaceView,
};

use crate::golden::{check, number};

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
        ..PlacementHint::default()
    };
    let view = SpaceView { partly: &partly, free: number(request, "free").unwrap_or(0) };
    let request = PlacementRequest { hint: &hint, kind: FileKind::Table, rank: Rank::Flush };
    match policy.place(&view, &request) {
        Some(PlacementChoice::Append(zone)) => format!("append to zone {zone}"),
        Some(PlacementChoice::OpenNew) => "open a free zone".to_owned(),
        None => "nothing".to_owned(),
    }
}

#[test]
fn log_structured_keeps_a_stream_together() {
    check("placement-log-structured", |input| decide(&LogStructured, input));
}
