//! [`Frame`]: a change of a picture as JSON. The page applies frames in their order. A frame
//! without [`after`](Frame::after) is whole: the page begins anew with it.

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::columns::{TableColumns, ZoneColumns};
use crate::gauges::Gauges;
use crate::key_scale::KeyScale;
use crate::picture::Picture;

/// Shape of a store: parts of a picture that do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Number of zones.
    pub zones: u32,
    /// Bytes of a zone that can be written.
    pub zone_capacity: u64,
    /// Whether levels are lifetimes of files with names.
    pub has_names: bool,
}

impl Shape {
    pub(crate) fn of(picture: &Picture) -> Self {
        let Picture { zone_capacity, has_names, .. } = *picture;
        Self { zones: picture.zones.len() as u32, zone_capacity, has_names }
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Its number, from 1 on.
    pub number: u64,
    /// The frame that it is a change of; `None` if it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The shape of the store, in whole frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Zones that have changed.
    pub zones: ZoneColumns,
    /// Tables that have changed.
    pub tables: TableColumns,
    /// Number of tables that are not sent, since there are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tables_left_out: u64,
    /// Zones of compaction windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<(u8, u32)>,
    /// Levels with a pointer, and its place on the scale of keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pointers: Vec<(u8, u16)>,
    /// Everything else.
    pub gauges: Gauges,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Frame {
    /// A change as a frame. Keys are added as text if `with_keys`.
    #[must_use]
    pub fn of(number: u64, change: &Change, scale: &KeyScale, with_keys: bool) -> Self {
        let place = |(level, key): &(u8, Vec<u8>)| (*level, scale.place(key));
        Self {
            number,
            after: number.checked_sub(1).filter(|before| *before > 0),
            shape: None,
            zones: ZoneColumns::of(&change.zones),
            tables: TableColumns::of(&change.tables, scale, with_keys),
            tables_left_out: 0,
            windows: change.windows.clone(),
            pointers: change.pointers.iter().map(place).collect(),
            gauges: change.gauges.clone(),
        }
    }

    /// A picture as a frame that is whole.
    #[must_use]
    pub fn whole(number: u64, picture: &Picture, scale: &KeyScale, with_keys: bool) -> Self {
        let change = Change::between(&Picture::default(), picture);
        let frame = Self::of(number, &change, scale, with_keys);
        Self { after: None, shape: Some(Shape::of(picture)), ..frame }
    }
}
