//! A toy row: a system that is added outside of the crate, in this folder alone. It passes the
//! [conformance suite of rows](crate::rows).
//!
//! | file | content |
//! |---|---|
//! | `everything` | the decider: all runs become one |
//! | `row` | the parts of the row |

mod everything;
mod row;
