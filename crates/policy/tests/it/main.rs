//! The policies' tests: goldens in text, a view in and a choice out.

mod bands;
mod compaction;
mod gear;
mod gear_loads;
mod gear_variants;
mod golden;
mod intake;
mod legality;
mod lifetime_loads;
mod placement;
mod reclaim;
mod replay;
mod sealdb_loads;
