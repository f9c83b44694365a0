//! [`Fit`]: which free run a writer's blocks are cut from, on a device without zones; and
//! [`Fitted`], a placement with a fit of its own. A fit is a name: the search itself is not here.
//!
//! | fit | the blocks are cut from |
//! |---|---|
//! | [`Best`](Fit::Best) | the shortest free run that holds them |
//! | [`Next`](Fit::Next) | the first that holds them after the run given out last, going round |
//! | [`First`](Fit::First) | the first that holds them from the start of the device |
//!
//! SEALDB's list of free space by size is a best fit (MSST '18, section III-B): the largest free
//! run, which usually lies after all data, is cut last.

use std::sync::Arc;

use crate::placement::{Placement, PlacementChoice, PlacementRequest, SpaceView};

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fit {
    /// The shortest run that is long enough.
    #[default]
    Best,
    /// The first after the last one.
    Next,
    /// The first of the device.
    First,
}

impl Fit {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Best, Self::Next, Self::First];
}

/// A placement that has another fit: in zones, files go where `zones` says.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Where files go in zones.
    pub zones: Arc<dyn Placement>,
    /// Where they begin on a device without zones.
    pub fit: Fit,
}

impl Placement for Fitted {
    fn name(&self) -> &'static str {
        self.zones.name()
    }

    fn place(
        &self,
        view: &SpaceView<'_>,
        request: &PlacementRequest<'_>,
    ) -> Option<PlacementChoice> {
        self.zones.place(view, request)
    }

    fn fit(&self) -> Fit {
        self.fit
    }
}
