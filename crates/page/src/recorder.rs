//! [`Recorder`]: pictures of a run at even times, as a limited number of frames.
//!
//! 1. The caller adds a picture at each interval. The recorder keeps the change from the one
//!    before.
//! 2. Once there are as many changes as allowed, each two after the first become one, and the
//!    interval is twice as long from then on.
//!
//! So a recording of a run of unknown length has between half of the allowed number of frames and
//! all of them, at even times. The last picture is always in it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::frame::{Frame, Shape};
use crate::key_scale::KeyScale;
use crate::picture::Picture;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Recorder {
    frames_max: usize,
    interval: Duration,
    /// The latest picture.
    last: Picture,
    changes: Vec<Change>,
}

/// The frames of one system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Name of the system.
    pub system: String,
    /// A few sentences: the sights to watch.
    pub caption: String,
    /// Bytes of the full drive for a byte of the run.
    pub bytes_factor: f64,
    /// Operations on the full drive for an operation of the run.
    pub operations_factor: f64,
    /// Frames in their order; the first is whole.
    pub frames: Vec<Frame>,
}

impl Recorder {
    /// A recorder of at most this number of frames, three or more, that begins with this interval.
    #[must_use]
    pub fn new(frames_max: usize, interval: Duration) -> Self {
        // The first frame stays alone, and the others are in pairs.
        let frames_max = (frames_max.max(3) - 1) / 2 * 2 + 1;
        Self { frames_max, interval, last: Picture::default(), changes: Vec::new() }
    }

    /// The time to the next picture.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Adds a picture.
    pub fn add(&mut self, picture: Picture) {
        self.changes.push(Change::between(&self.last, &picture));
        self.last = picture;
        if self.changes.len() == self.frames_max {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let mut halved: Vec<Change> = Vec::with_capacity(self.frames_max);
        for (at, change) in std::mem::take(&mut self.changes).into_iter().enumerate() {
            match halved.last_mut().filter(|_| at % 2 == 0 && at > 0) {
                // The first picture stays: with it, the recording begins at the begin of the run.
                Some(before) => before.join(change),
                None => halved.push(change),
            }
        }
        (self.changes, self.interval) = (halved, self.interval * 2);
    }

    /// The frames. Places of keys are on one scale, that of all tables.
    #[must_use]
    pub fn frames(self) -> Vec<Frame> {
        let mut scale = KeyScale::default();
        for row in self.changes.iter().flat_map(|change| change.tables.values()).flatten() {
            scale.add(&row.start);
            scale.add(&row.end);
        }
        let mut picture = Picture { zones: Vec::new(), ..Picture::default() };
        let shape = Shape::of(&self.last);
        let mut frames: Vec<Frame> = Vec::new();
        for (number, change) in (1..).zip(self.changes) {
            let made = change.apply(&mut picture);
            frames.push(Frame::of(number, &made, &scale, false));
        }
        if let Some(first) = frames.first_mut() {
            first.shape = Some(shape);
        }
        frames
    }
}
