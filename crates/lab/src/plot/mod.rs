//! Plots of experiments, as SVG.
//!
//! A drawing scales to the width there is, takes its colours from its surroundings, light or dark,
//! says in words what it shows, and tells nothing by colour alone. The same outcomes give the same
//! bytes.
//!
//! | part | what it is |
//! |---|---|
//! | [`draw`] | a [`Plot`](crate::experiment::Plot) as a drawing |
//! | [`findings`] | what it comes to, where that is to be said in words |
//! | [`Svg`] | a drawing, for a page or as a file |
//! | [`style_sheet`], [`hatches`] | what a page with drawings in it needs once |
//! | [`Label`], [`Unit`] | figures in words, and their values as people read them |
//!
//! Shapes, axes and texts are drawn by the `plotters` library.

mod arrangement;
mod axis;
mod bars;
mod error;
mod ink;
mod label;
mod legend;
mod lettering;
mod palette;
mod panels;
mod picture;
mod points;
mod ratio;
mod svg;
mod timeline;
mod zones;

pub(crate) use arrangement::Arrangement;
pub use error::PlotError;
pub use label::{Label, Unit, number};
pub use palette::{hatches, style_sheet};
pub use picture::{draw, findings};
pub use svg::Svg;
