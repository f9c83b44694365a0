//! [`View`]: the state of the screen. Keys change it, and samples come in.
//!
//! | key | effect |
//! |---|---|
//! | `q`, Ctrl-C | end |
//! | `p`, space | hold the picture, or go on |
//! | `s` | order zones by number, dead bytes, live bytes, level |
//! | arrows, Home, End | move among the zones |
//! | Enter | look into the zone, or back |
//! | Esc | back |

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use terrace::ByteCount;
use terrace::fs::ZoneUsage;
use terrace::live::LiveEvent;

use super::sample::{Rates, Sample};

/// Samples over which rates are taken: one is too short where a batch comes every other second.
const RATES_OVER: usize = 5;

/// Events that are kept to be shown.
const EVENTS_MAX: usize = 100;

/// Order of the zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Number,
    Dead,
    Live,
    Level,
}

impl Order {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Dead => "dead bytes",
            Self::Live => "live bytes",
            Self::Level => "level",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Number => Self::Dead,
            Self::Dead => Self::Live,
            Self::Live => Self::Level,
            Self::Level => Self::Number,
        }
    }
}

/// Reason why the loop goes on or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    End,
}

/// See the [module](self).
pub(super) struct View {
    /// The store, as it was typed, in words.
    pub(super) store: String,
    pub(super) is_coloured: bool,
    /// The last samples, the newest at the end.
    samples: Vec<Sample>,
    pub(super) events: Vec<LiveEvent>,
    /// Something that the user should know.
    pub(super) note: Option<String>,
    pub(super) order: Order,
    pub(super) is_paused: bool,
    /// The place of the zone that is pointed at, in the order that is shown.
    pub(super) at: usize,
    /// Whether that zone is looked into.
    pub(super) is_inside: bool,
    /// Cells of a row of the map when it was drawn last, for the keys.
    pub(super) row: usize,
}

impl View {
    pub(super) fn new(store: String, is_coloured: bool) -> Self {
        Self {
            store,
            is_coloured,
            samples: Vec::new(),
            events: Vec::new(),
            note: None,
            order: Order::Number,
            is_paused: false,
            at: 0,
            is_inside: false,
            row: 1,
        }
    }

    /// Takes a sample in, unless the picture is held.
    pub(super) fn take(&mut self, sample: Sample) {
        if self.is_paused {
            return;
        }
        let is_same_opening = self.samples.last().is_some_and(|last| {
            last.owner == sample.owner && last.snapshot.age <= sample.snapshot.age
        });
        if !is_same_opening {
            self.samples.clear();
            self.events.clear();
        }
        if self.samples.len() > RATES_OVER {
            self.samples.remove(0);
        }
        let last = self.events.last().map_or(0, |event| event.number);
        let new = sample.snapshot.events.iter().filter(|event| event.number > last);
        self.events.extend(new.cloned());
        let surplus = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..surplus);
        self.samples.push(sample);
        self.at = self.at.min(self.zones().len().saturating_sub(1));
    }

    /// The number of the last event that is known.
    pub(super) fn sample(&self) -> Option<&Sample> {
        self.samples.last()
    }

    /// Rates over the last samples.
    pub(super) fn rates(&self) -> Option<Rates> {
        self.sample()?.since(self.samples.first()?)
    }

    /// The zones in the order that is shown.
    pub(super) fn zones(&self) -> Vec<&ZoneUsage> {
        let mut zones: Vec<&ZoneUsage> =
            self.sample().map(|sample| sample.map.zones.iter().collect()).unwrap_or_default();
        let most = |bytes: ByteCount| std::cmp::Reverse(bytes);
        match self.order {
            Order::Number => {}
            Order::Dead => zones.sort_by_key(|zone| (most(zone.dead), zone.zone)),
            Order::Live => zones.sort_by_key(|zone| (most(zone.live), zone.zone)),
            Order::Level => zones.sort_by_key(|zone| (level(zone), zone.zone)),
        }
        zones
    }

    /// A key was pressed.
    pub(super) fn press(&mut self, key: KeyEvent) -> Then {
        let last = self.zones().len().saturating_sub(1);
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Then::End;
            }
            KeyCode::Char('q') => return Then::End,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('s') => (self.order, self.at) = (self.order.next(), 0),
            KeyCode::Right => self.at = (self.at + 1).min(last),
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Down => self.at = (self.at + self.row).min(last),
            KeyCode::Up => self.at = self.at.saturating_sub(self.row),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = last,
            KeyCode::Enter => self.is_inside = !self.is_inside && !self.zones().is_empty(),
            KeyCode::Esc => self.is_inside = false,
            _ => {}
        }
        Then::GoOn
    }
}

/// The level that most of a zone's live bytes are of; zones without any come last.
fn level(zone: &ZoneUsage) -> u16 {
    let most = zone.levels.iter().max_by_key(|(_, bytes)| *bytes);
    match most {
        Some((Some(level), _)) => (*level).into(),
        Some((None, _)) => 300,
        None => 400,
    }
}
