//! Frames reproduce pictures, deltas join, recordings keep their ends and their limit, and 50,000
//! zones stay small.

use std::sync::Arc;
use std::time::Duration;

use terrace_page::{Change, Frame, KeyScale, Kind, Picture, Recorder, TableRow, ZoneCell};

/// Zone bytes and table rows that differ from step to step, without chance.
fn picture(step: u64, zones: u32) -> Picture {
    let mut picture = Picture { zone_capacity: 1 << 28, ..Picture::default() };
    let cell = |zone: u64| {
        let number = (zone * 31 + (step + zone % 7) / 7 * 17) % 1000;
        let first = (Kind((zone % 6) as u8), (number + 1) as u16);
        let more = zone.is_multiple_of(5).then_some((Kind::LOG, 1));
        ZoneCell {
            state: (number % 7) as u8,
            used: (zone % 7) as u8,
            written: 1000,
            dead: (999 - number) as u16,
            pinned: u16::from(zone.is_multiple_of(11)),
            live: std::iter::once(first).chain(more).collect(),
        }
    };
    picture.zones = (0..zones.into()).map(cell).collect();
    for table in step..step + 40 {
        let key = |number: u64| -> Arc<[u8]> { format!("0000{number:06}").into_bytes().into() };
        let row = TableRow {
            level: (table % 4) as u8,
            run: table,
            start: key(table * 10),
            end: key(table * 10 + 9),
            blocks: 7,
            places: vec![(table as u32 % zones, 5), ((table as u32 + 1) % zones, 2)],
        };
        picture.tables.insert(table * 8, row);
    }
    picture.gauges.seconds = step as f64;
    picture
}

#[test]
fn deltas_reproduce_the_whole_state_and_join() {
    let (mut now, mut joined) = (picture(0, 200), Change::default());
    for step in 1..20 {
        let next = picture(step, 200);
        let change = Change::between(&now, &next);
        let mut reproduced = now.clone();
        assert_eq!(change.clone().apply(&mut reproduced), change);
        assert_eq!(reproduced, next);
        joined.join(change);
        now = next;
    }
    let mut reproduced = picture(0, 200);
    joined.apply(&mut reproduced);
    assert_eq!(reproduced, now);
}

#[test]
fn frames_read_back_as_they_were_sent() {
    let (before, now) = (picture(3, 200), picture(4, 200));
    let mut scale = KeyScale::default();
    for row in now.tables.values() {
        scale.add(&row.start);
        scale.add(&row.end);
    }
    let change = Change::between(&before, &now);
    let frame = Frame::of(7, &change, &scale, true);
    let text = serde_json::to_string(&frame).unwrap();
    let read: Frame = serde_json::from_str(&text).unwrap();
    assert_eq!(read, frame);
    assert_eq!(read.after, Some(6));
    assert_eq!(read.zones.zones(), change.zones);
    assert!(!change.zones.is_empty() && change.zones.len() < 200, "{}", change.zones.len());
    assert_eq!((read.tables.gone.len(), read.tables.gap.len()), (1, 1));
    assert_eq!(read.tables.more, [(0, 44, 2)]);
    assert_eq!(read.tables.first, ["000430"]);
}

#[test]
fn frames_of_50_000_zones_are_small() {
    let (before, now) = (picture(0, 50_000), picture(1, 50_000));
    let scale = KeyScale::default();
    let whole = serde_json::to_string(&Frame::whole(1, &now, &scale, false)).unwrap();
    assert!(whole.len() < 1_600_000, "{}", whole.len());
    let change = Change::between(&before, &now);
    let zones = change.zones.len();
    assert!(zones > 5000 && zones < 10_000, "{zones}");
    let delta = serde_json::to_string(&Frame::of(2, &change, &scale, false)).unwrap();
    assert!(delta.len() < zones * 40, "{} for {zones} zones", delta.len());
}

#[test]
fn a_recording_has_at_most_its_frames_at_even_times_and_ends_as_the_run_did() {
    let mut recorder = Recorder::new(16, Duration::from_secs(1));
    let (mut step, mut last) = (0, picture(0, 50));
    while step < 200 {
        last = picture(step, 50);
        recorder.add(last.clone());
        step += recorder.interval().as_secs();
    }
    let frames = recorder.frames();
    assert!((8..=16).contains(&frames.len()), "{}", frames.len());
    let seconds: Vec<u64> = frames.iter().map(|frame| frame.gauges.seconds as u64).collect();
    let gaps: Vec<u64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let last_gaps = &gaps[1..gaps.len() - 1];
    assert!(last_gaps.iter().all(|gap| *gap == last_gaps[0]), "{seconds:?}");
    let mut zones = vec![ZoneCell::default(); 50];
    for (number, frame) in (1..).zip(&frames) {
        assert_eq!((frame.number, frame.after), (number, (number > 1).then(|| number - 1)));
        frame.zones.zones().into_iter().for_each(|(at, zone)| zones[at as usize] = zone);
    }
    assert_eq!(zones, last.zones);
    assert_eq!(frames[0].shape.map(|shape| shape.zones), Some(50));
}
