//! The live page: one file of HTML that shows the zones of a store as a moving picture, with its
//! levels, jobs, rates, latencies and waits. The same page replays recordings of runs.
//!
//! - A page is whole: nothing is fetched from elsewhere, and nothing is built before it is used.
//! - Frames are deltas: a store of 50,000 zones sends the zones that have changed.
//!
//! ```
//! # use std::sync::Arc;
//! # use terrace::{ByteCount, Db, Emulator, FormatOptions, Geometry, Options};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let drive = Arc::new(Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 64), 1)?);
//! # let db = Db::create_device(drive, &FormatOptions::default(), Options::default())?;
//! let feed = terrace_page::Feed::new(db.clone());
//! let page = terrace_page::live_page(&terrace_page::LiveTitle::of(&db));
//! let answer = feed.json(None)?; // to `live.json`
//! let answer = feed.json(Some(1))?; // to `live.json?after=1`
//! # assert!(page.starts_with("<!doctype html>") && answer.starts_with('{'));
//! # drop(feed);
//! # db.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | content |
//! |---|---|
//! | `picture` | a store at a moment, as the page shows it |
//! | `zone_cell`, `table_row`, `gauges` | its parts: zones, tables, everything else |
//! | `key_scale` | places of keys between the smallest and the largest one |
//! | `change` | the difference between two pictures |
//! | `frame`, `columns` | a change as JSON, arrays by column |
//! | `recorder` | frames of a run at even times, of a limited number |
//! | `feed` | frames of an open store, for a server |
//! | `html` | the page |
//!
//! The crate opens no socket and no file: a server sends its texts.

mod change;
mod columns;
mod feed;
mod frame;
mod gauges;
mod html;
mod key_scale;
mod picture;
mod recorder;
mod table_row;
mod zone_cell;

pub use change::Change;
pub use columns::{TableColumns, ZoneColumns};
pub use feed::Feed;
pub use frame::{Frame, Shape};
pub use gauges::{Gauges, JobGauge, LevelGauge, SpaceGauge, Totals};
pub use html::{LiveTitle, ReplayTitle, live_page, replay_page};
pub use key_scale::KeyScale;
pub use picture::Picture;
pub use recorder::{Recorder, Recording};
pub use table_row::{TableKey, TableRow};
pub use zone_cell::{Kind, ZoneCell};
