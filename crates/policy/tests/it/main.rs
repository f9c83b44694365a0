//! The tests of the crate: goldens in text, a view in and a choice out; random trees; and whole
//! loads replayed through the deciders ([`replay`]). Nothing does I/O but the goldens.

mod after_seeks;
mod bands;
mod compaction;
mod foreign_tables;
mod gear;
mod gear_loads;
mod gear_variants;
mod golden;
mod intake;
mod legality;
mod lifetime_loads;
mod load_aware;
mod placement;
mod reclaim;
mod replay;
mod rows;
mod sealdb_loads;
mod sliced;
mod slices;
mod tiers;
mod toy_row;
