//! The policies' tests: goldens in text, a view in and a choice out.

mod golden;
mod placement;
mod reclaim;
