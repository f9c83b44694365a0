//! A toy device: a kind of device that is added outside of the crates, in this folder alone. It
//! passes the conformance suite of devices, and stores on it pass that of stores.
//!
//! | file | content |
//! |---|---|
//! | `volatile_array` | the device |
//! | `conformance` | both suites |

mod conformance;
mod volatile_array;
