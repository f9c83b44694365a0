//! Writes the pages and frames that the browser's tests look at, into a directory: `live.html` with
//! `frames/N.json` of a store that is being written, and `large.html`, a made-up recording of
//! 50,000 zones. Without a directory it writes into a temporary one, so that it runs without
//! arguments.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use terrace::{ByteCount, Db, Emulator, FormatOptions, Geometry, Options};
use terrace_page::{
    Feed, Kind, LiveTitle, Picture, Recorder, Recording, ReplayTitle, ZoneCell, live_page,
    replay_page,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Frames of the live store.
const FRAMES: u64 = 12;

/// Zones of the large recording, and how many of them each frame changes.
const ZONES: u32 = 50_000;
const CHANGED: u32 = 1000;

fn main() -> Outcome<()> {
    let kept = std::env::args_os().nth(1).map(PathBuf::from);
    let temporary = std::env::temp_dir().join(format!("page-samples-{}", std::process::id()));
    let into = kept.clone().unwrap_or_else(|| temporary.clone());
    std::fs::create_dir_all(into.join("frames"))?;
    live(&into)?;
    std::fs::write(into.join("large.html"), large()?)?;
    if kept.is_none() {
        std::fs::remove_dir_all(&temporary)?;
    }
    Ok(())
}

/// A store of 120 zones, written until tables lie in several levels.
fn live(into: &Path) -> Outcome<()> {
    let mut geometry = Geometry::uniform(ByteCount::mib(1), 120);
    geometry.conventional = std::iter::once(0..2).collect();
    let drive = Arc::new(Emulator::in_memory(geometry, 1)?);
    let options = Options::default().memtable_size(ByteCount::kib(512));
    let db = Db::create_device(drive, &FormatOptions::default(), options)?;
    let title = LiveTitle { store: "drive.img".to_owned(), ..LiveTitle::of(&db) };
    std::fs::write(into.join("live.html"), live_page(&title))?;
    let feed = Feed::new(db.clone());
    let mut number = 0_u64;
    for frame in 1..=FRAMES {
        for _ in 0..8000 {
            number += 1;
            let key = format!("user{:08}", number.wrapping_mul(2_654_435_761) % 100_000_000);
            db.put(key.as_bytes(), &[number as u8; 400])?;
        }
        db.get(b"user00000000")?;
        db.flush()?;
        terrace_env::runner::sleep(Duration::from_millis(450));
        let after = (frame > 1).then(|| frame - 1);
        std::fs::write(into.join(format!("frames/{frame}.json")), feed.json(after)?)?;
        std::fs::write(into.join(format!("frames/whole-{frame}.json")), feed.json(None)?)?;
    }
    drop(feed);
    db.close()?;
    Ok(())
}

/// A recording in which a band of zones is written, dies and is reset, round and round.
fn large() -> Outcome<String> {
    let mut recorder = Recorder::new(600, Duration::from_secs(1));
    let mut picture = Picture { zone_capacity: 256 << 20, ..Picture::default() };
    picture.zones = vec![ZoneCell::default(); ZONES as usize];
    for frame in 0..300_u32 {
        for at in 0..CHANGED {
            let zone = (at * 47 + frame * CHANGED) % ZONES;
            let live = ((zone * 7 + frame * 131) % 1001) as u16;
            let kind = Kind(((zone / 3000 + frame / 40) % 7) as u8);
            picture.zones[zone as usize] = ZoneCell {
                state: if live == 0 { 0 } else { 3 },
                used: u8::from(live > 0),
                written: if live == 0 { 0 } else { 1000 },
                dead: if live == 0 { 0 } else { 1000 - live },
                pinned: 0,
                live: if live == 0 { Vec::new() } else { vec![(kind, live)] },
            };
        }
        picture.gauges.seconds = f64::from(frame);
        picture.gauges.totals.user_bytes = u64::from(frame) << 30;
        picture.gauges.totals.written = vec![u64::from(frame) << 30; 9];
        recorder.add(picture.clone());
    }
    let recording = Recording {
        system: "made up".to_owned(),
        caption: String::new(),
        bytes_factor: 1.0,
        operations_factor: 1.0,
        frames: recorder.frames(),
    };
    let title = ReplayTitle { title: "50,000 zones".to_owned(), ..ReplayTitle::default() };
    Ok(replay_page(&title, &[recording])?)
}
