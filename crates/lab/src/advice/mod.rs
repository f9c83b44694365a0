//! Advice: which system suits a drive and a load. Each candidate is run with the engine itself, on
//! a model of the drive in virtual time, and the results are compared.
//!
//! | file | content |
//! |---|---|
//! | `question` | [`Question`]: drive, entries, memory; and the experiment that answers it |
//! | `candidate` | [`Candidate`]: the results of one system |
//! | `choice` | [`Preference`] and [`Limits`], by which one candidate is chosen |
//!
//! The experiment fills the store, overwrites entries in random order until their number is that of
//! all entries, and then reads and scans at rest. The advice does not know other loads, such as
//! writes in key order or deletes.

mod candidate;
mod choice;
mod question;

pub use candidate::Candidate;
pub use choice::{Limits, Preference, choose};
pub use question::{Model, Question, QuestionError};
