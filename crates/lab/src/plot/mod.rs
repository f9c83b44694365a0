//! Plots of experiments and of arrivals, as SVG.
//!
//! A drawing scales to the width that it is given, and takes its colours from a style sheet, light
//! or dark. It has a description in words. Up to eight series, or five in plots of points, can be
//! told apart without colour. The same outcomes give the same bytes.
//!
//! | part | content |
//! |---|---|
//! | [`draw`] | draws a [`Plot`](crate::experiment::Plot); file `picture` |
//! | [`findings`] | the results of a plot in words, where there are some |
//! | [`draw_arrivals`] | arrivals over time, and their autocorrelation; file `arrivals` |
//! | [`PlotError`] | why a plot cannot be drawn |
//! | [`Svg`] | a drawing, for a page or as a file |
//! | [`style_sheet`], [`hatches`] | parts that a page with drawings needs once; file `palette` |
//! | [`Label`], [`Unit`], [`number`] | names of metrics in words, and values as people read them |
//! | `arrangement` | outcomes in the order of the experiment |
//! | `addresses`, `bars`, `merges`, `points`, `ratio`, `timeline`, `zones` | kinds of plots |
//! | `panels`, `axis`, `legend`, `lettering`, `ink` | parts that kinds share |
//!
//! The `plotters` library draws shapes, axes and texts, but not the title of a drawing as a file.

mod addresses;
mod arrangement;
mod arrivals;
mod axis;
mod bars;
mod error;
mod ink;
mod label;
mod legend;
mod lettering;
mod merges;
mod palette;
mod panels;
mod picture;
mod points;
mod ratio;
mod svg;
mod timeline;
mod zones;

pub(crate) use arrangement::Arrangement;
pub use arrivals::draw_arrivals;
pub use error::PlotError;
pub use label::{Label, Unit, number};
pub use palette::{hatches, style_sheet};
pub use picture::{draw, findings};
pub use svg::Svg;
