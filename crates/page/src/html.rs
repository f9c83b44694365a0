//! [`live_page`] and [`replay_page`]: the page as one text of HTML.
//!
//! - The same style and program are in both. A JSON value in the page says which of them it is, and
//!   has the names that the program shows: states, uses, causes, waits.
//! - Recordings are in the page as JSON, compressed by deflate, in Base64. Browsers decompress it.
//! - A policy in the page's head forbids every request, except for frames of a live page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};
use terrace::{Db, WaitCause};
use terrace_env::Cause;

use crate::recorder::Recording;
use crate::zone_cell::ZoneCell;

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: [&str; 2] = [include_str!("../assets/page.css"), include_str!("../assets/panels.css")];

/// The program, in the order in which its parts need each other.
const PROGRAM: [&str; 9] = [
    include_str!("../assets/format.js"),
    include_str!("../assets/state.js"),
    include_str!("../assets/colours.js"),
    include_str!("../assets/zone_map.js"),
    include_str!("../assets/key_lanes.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/panels.js"),
    include_str!("../assets/system_view.js"),
    include_str!("../assets/page.js"),
];

/// The head of a live page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveTitle {
    /// The name of the store, for people.
    pub store: String,
    /// The system that it is open under.
    pub system: String,
    /// Address of the frames, from the page's own; `live.json` if it is empty.
    pub frames: String,
}

impl LiveTitle {
    /// A title for a store that is open in this process.
    #[must_use]
    pub fn of(db: &Db) -> Self {
        Self { store: String::new(), system: db.system().to_string(), frames: String::new() }
    }
}

/// The head of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayTitle {
    /// The name of the experiment.
    pub experiment: String,
    /// Its title.
    pub title: String,
    /// Its source.
    pub source: String,
    /// The scale, the phase and other settings, in a few words.
    pub setting: String,
}

/// The page of an open store. It asks the server for frames at an address next to its own.
#[must_use]
pub fn live_page(title: &LiveTitle) -> String {
    let name = if title.store.is_empty() { "a store" } else { &title.store };
    let frames = if title.frames.is_empty() { "live.json" } else { &title.frames };
    let setting = json!({
        "kind": "live",
        "title": name,
        "system": title.system,
        "frames": frames,
        "names": names(),
    });
    page(&format!("Terrace: {name}"), &setting, "", "connect-src 'self'")
}

/// The page that replays recordings next to each other, on one line of time.
pub fn replay_page(title: &ReplayTitle, recordings: &[Recording]) -> io::Result<String> {
    let setting = json!({
        "kind": "replay",
        "title": title.title,
        "experiment": title.experiment,
        "source": title.source,
        "setting": title.setting,
        "names": names(),
    });
    let data = STANDARD.encode(deflated(recordings)?);
    Ok(page(&format!("Terrace: {}", title.title), &setting, &data, "connect-src 'none'"))
}

fn deflated(value: &(impl Serialize + ?Sized)) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    serde_json::to_writer(&mut encoder, value)?;
    encoder.flush()?;
    encoder.finish()
}

fn names() -> Value {
    let waits: Vec<_> = WaitCause::ALL.iter().map(|it| (it.name(), it.meaning())).collect();
    let causes: Vec<_> = Cause::ALL.iter().map(|cause| cause.name()).collect();
    json!({
        "states": ZoneCell::STATES,
        "uses": ZoneCell::USES,
        "causes": causes,
        "waits": waits,
    })
}

fn page(title: &str, setting: &Value, data: &str, connect: &str) -> String {
    let setting = setting.to_string().replace('<', "\\u003c");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let parts = [
        ("@title@", title.as_str()),
        ("@connect@", connect),
        ("@style@", &STYLE.concat()),
        ("@setting@", &setting),
        ("@program@", &PROGRAM.concat()),
        ("@data@", data),
    ];
    let mut page = String::with_capacity(PAGE.len() + data.len() + 200_000);
    let mut rest = PAGE;
    for (mark, text) in parts {
        let (before, after) = rest.split_once(mark).expect("each mark once, in this order");
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}
