//! [`ZoneColumns`] and [`TableColumns`]: zones and tables as JSON, an array to a column. Numbers
//! that rise are sent as gaps to the one before.
//!
//! A zone has one kind of live bytes, as a rule, and a table lies in one zone. Those with more are
//! listed in addition, each with its place in the columns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::key_scale::KeyScale;
use crate::table_row::{TableKey, TableRow};
use crate::zone_cell::{Kind, ZoneCell};

/// The kind of a zone without live bytes, and the zone of a table without a place.
const NONE: i64 = -1;

/// Zones that have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneColumns {
    /// Numbers, as gaps.
    pub gap: Vec<u32>,
    /// States: places in `ZoneCell::STATES`.
    pub state: Vec<u8>,
    /// Uses: places in `ZoneCell::USES`.
    pub used: Vec<u8>,
    /// Thousandths up to the write pointer.
    pub written: Vec<u16>,
    /// Thousandths of dead bytes.
    pub dead: Vec<u16>,
    /// The kind of most live bytes; -1 for none.
    pub kind: Vec<i64>,
    /// Thousandths of live bytes of this kind.
    pub live: Vec<u16>,
    /// Place, kind and thousandths of the other live bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<(u32, u8, u16)>,
    /// Place and thousandths of deleted bytes that readers hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<(u32, u16)>,
}

impl ZoneColumns {
    pub(crate) fn of(zones: &BTreeMap<u32, ZoneCell>) -> Self {
        let mut columns = Self::default();
        let mut last = 0;
        for (row, (number, zone)) in (0_u32..).zip(zones) {
            columns.gap.push(number - last);
            last = *number;
            columns.state.push(zone.state);
            columns.used.push(zone.used);
            columns.written.push(zone.written);
            columns.dead.push(zone.dead);
            let first = zone.live.first();
            columns.kind.push(first.map_or(NONE, |(kind, _)| i64::from(kind.0)));
            columns.live.push(first.map_or(0, |(_, share)| *share));
            let more = zone.live.iter().skip(1);
            columns.more.extend(more.map(|(kind, share)| (row, kind.0, *share)));
            columns.pinned.extend((zone.pinned > 0).then_some((row, zone.pinned)));
        }
        columns
    }

    /// The zones, as they were before they became columns.
    #[must_use]
    pub fn zones(&self) -> BTreeMap<u32, ZoneCell> {
        let mut number = 0;
        let mut rows = Vec::new();
        for (row, gap) in self.gap.iter().enumerate() {
            number += gap;
            let kind = u8::try_from(self.kind[row]).ok().map(Kind);
            rows.push((
                number,
                ZoneCell {
                    state: self.state[row],
                    used: self.used[row],
                    written: self.written[row],
                    dead: self.dead[row],
                    pinned: 0,
                    live: kind.map(|kind| (kind, self.live[row])).into_iter().collect(),
                },
            ));
        }
        for (row, kind, share) in &self.more {
            rows[*row as usize].1.live.push((Kind(*kind), *share));
        }
        for (row, share) in &self.pinned {
            rows[*row as usize].1.pinned = *share;
        }
        rows.into_iter().collect()
    }
}

/// Tables that have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableColumns {
    /// Keys of tables that are gone, as gaps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<u64>,
    /// Keys of the others, as gaps.
    pub gap: Vec<u64>,
    /// Levels.
    pub level: Vec<u8>,
    /// Age ranks of runs.
    pub run: Vec<u64>,
    /// Places of first keys on the scale of keys.
    pub from: Vec<u16>,
    /// Places of the ends, as distances from these.
    pub span: Vec<u16>,
    /// Blocks in the range.
    pub blocks: Vec<u32>,
    /// The zone of most of the table; -1 for none.
    pub zone: Vec<i64>,
    /// Place, zone and blocks of the other parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<(u32, u32, u32)>,
    /// First keys as text, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<String>,
    /// Ends as text, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last: Vec<String>,
}

impl TableColumns {
    pub(crate) fn of(
        tables: &BTreeMap<TableKey, Option<TableRow>>,
        scale: &KeyScale,
        with_keys: bool,
    ) -> Self {
        let mut columns = Self::default();
        let (mut last, mut last_gone) = (0, 0);
        for (key, row) in tables {
            let Some(row) = row else {
                columns.gone.push(key - last_gone);
                last_gone = *key;
                continue;
            };
            let at = columns.gap.len() as u32;
            columns.gap.push(key - last);
            last = *key;
            columns.level.push(row.level);
            columns.run.push(row.run);
            let (from, to) = (scale.place(&row.start), scale.place(&row.end));
            columns.from.push(from);
            columns.span.push(to.saturating_sub(from));
            columns.blocks.push(row.blocks);
            let mut places = row.places.clone();
            places.sort_by_key(|(zone, blocks)| (std::cmp::Reverse(*blocks), *zone));
            columns.zone.push(places.first().map_or(NONE, |(zone, _)| i64::from(*zone)));
            columns.more.extend(places.iter().skip(1).map(|(zone, blocks)| (at, *zone, *blocks)));
            if with_keys {
                columns.first.push(text(&row.start));
                columns.last.push(text(&row.end));
            }
        }
        columns
    }
}

/// The begin of a user key as text for people.
fn text(key: &[u8]) -> String {
    const SPACE: usize = 4;
    const SHOWN: usize = 28;
    let user = key.get(SPACE..).unwrap_or_default();
    let shown = user[..user.len().min(SHOWN)].escape_ascii().to_string();
    if user.len() > SHOWN { shown + "..." } else { shown }
}
