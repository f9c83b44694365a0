//! Plots of experiments, as SVG.
//!
//! A drawing scales to the available width, takes its colours from the page, light or dark, has a
//! description in words, and tells nothing by colour alone. The same outcomes give the same bytes.
//!
//! | part | content |
//! |---|---|
//! | [`draw`] | draws a [`Plot`](crate::experiment::Plot) |
//! | [`findings`] | the results of a plot in words, where there are some |
//! | [`Svg`] | a drawing, for a page or as a file |
//! | [`style_sheet`], [`hatches`] | definitions that a page with drawings needs once |
//! | [`Label`], [`Unit`] | names of metrics in words, and values as people read them |
//!
//! The `plotters` library draws shapes, axes and texts.

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
