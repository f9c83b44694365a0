//! Layer 4: what tells whether the store is any good.
//!
//! [`crash`] is the crash simulator; [`model`] plays scripts of all operations against ordered
//! maps; [`linearizability`] judges the answers that threads got; [mod@bench] measures the cost of
//! operations in real time, [`workload`] generates the operations of clients. [`drives`] holds the
//! timing models of drives against published measurements. [`experiment`] are the papers' figures
//! as data, [`run`] what comes of carrying them out in virtual time, and [`series`] carries out
//! many. [`plot`] draws what came of them, and a [`report`] holds it against the papers.

pub mod bench;
pub mod crash;
pub mod drives;
pub mod experiment;
pub mod linearizability;
pub mod model;
pub mod plot;
pub mod report;
pub mod run;
pub mod series;
pub mod workload;
