//! [`Feed`]: frames of an open store, for a server that sends them to pages.
//!
//! - [`Feed::json`] answers a page that has seen a frame with the change since that frame, or with
//!   the whole picture if the frame is unknown or too old.
//! - A picture is taken at most every [`INTERVAL`], and no more often than a fiftieth of the time
//!   allows that a picture takes; pages that ask meanwhile get the latest one. So any number of
//!   pages costs as much as one, and a store of many zones spends at most 2 % of a processor on
//!   them.
//! - The last [`KEPT`] changes are kept.
//! - More than [`TABLES_MAX`] tables are not sent: zones then show their levels alone.
//!
//! Any thread. One thread takes a picture, others wait for it. Latencies are measured while the
//! feed exists. The store stays open as long as a feed does.

use std::collections::VecDeque;
use std::time::Duration;

use terrace::live::Watch;
use terrace::{Db, Error};
use terrace_env::sync::Mutex;
use terrace_env::{Time, runner};

use crate::change::Change;
use crate::frame::Frame;
use crate::key_scale::KeyScale;
use crate::picture::Picture;

/// The shortest time between two pictures.
const INTERVAL: Duration = Duration::from_millis(400);

/// Pauses between pictures, in times that a picture took.
const PAUSE_FACTOR: u32 = 50;

/// Changes that are kept.
const KEPT: usize = 16;

/// The most tables that are sent.
const TABLES_MAX: usize = 40_000;

/// See the [module](self).
pub struct Feed {
    db: Db,
    _watch: Option<Watch>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    latest: Picture,
    /// The number of the latest picture; 0: none was taken yet.
    number: u64,
    left_out: u64,
    scale: KeyScale,
    /// Changes up to the latest picture, the oldest first.
    changes: VecDeque<Change>,
    due: Option<Time>,
    is_taking: bool,
}

impl Feed {
    /// A feed of a store.
    #[must_use]
    pub fn new(db: Db) -> Self {
        Self { _watch: Watch::of(&db), db, state: Mutex::default() }
    }

    /// The frame for a page that has seen the frame of this number, as JSON. It is the empty change
    /// if there is no newer one.
    pub fn json(&self, after: Option<u64>) -> Result<String, Error> {
        let frame = self.frame(after)?;
        Ok(serde_json::to_string(&frame).expect("a frame of plain values"))
    }

    /// The same, as a value.
    pub fn frame(&self, after: Option<u64>) -> Result<Frame, Error> {
        self.take_if_due()?;
        let state = self.state.lock();
        let kept = state.changes.len() as u64;
        let missing = after.and_then(|after| state.number.checked_sub(after));
        let frame = match missing.filter(|missing| *missing <= kept) {
            None => Frame::whole(state.number, &state.latest, &state.scale, true),
            Some(missing) => {
                let Picture { windows, pointers, gauges, .. } = state.latest.clone();
                let mut change = Change { windows, pointers, gauges, ..Change::default() };
                for later in state.changes.iter().skip((kept - missing) as usize) {
                    change.join(later.clone());
                }
                Frame { after, ..Frame::of(state.number, &change, &state.scale, true) }
            }
        };
        Ok(Frame { tables_left_out: state.left_out, ..frame })
    }

    /// Takes a picture, unless it is too early or another thread does.
    fn take_if_due(&self) -> Result<(), Error> {
        let begun = runner::now();
        {
            let mut state = self.state.lock();
            let is_early = state.due.is_some_and(|due| begun < due);
            if is_early || (state.is_taking && state.number > 0) {
                return Ok(());
            }
            state.is_taking = true;
        }
        let taken = Picture::of(&self.db);
        let mut state = self.state.lock();
        state.is_taking = false;
        let mut picture = taken?;
        let now = runner::now();
        state.due = Some(now + (now.since(begun) * PAUSE_FACTOR).max(INTERVAL));
        let tables = picture.tables.len();
        state.left_out = if tables > TABLES_MAX { tables as u64 } else { 0 };
        if state.left_out > 0 {
            picture.tables.clear();
        }
        state.take(picture);
        Ok(())
    }
}

impl State {
    fn take(&mut self, picture: Picture) {
        let mut is_scaled_anew = false;
        for row in picture.tables.values() {
            is_scaled_anew |= self.scale.add(&row.start);
            is_scaled_anew |= self.scale.add(&row.end);
        }
        let is_other = is_scaled_anew
            || picture.zones.len() != self.latest.zones.len()
            || picture.has_names != self.latest.has_names;
        if is_other {
            // Pages need a whole frame.
            self.changes.clear();
        } else {
            self.changes.push_back(Change::between(&self.latest, &picture));
            if self.changes.len() > KEPT {
                self.changes.pop_front();
            }
        }
        (self.latest, self.number) = (picture, self.number + 1);
    }
}
