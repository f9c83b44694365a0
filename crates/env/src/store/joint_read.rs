//! [`JointRead`]: parts of several files that were read by one request.
//!
//! The buffer holds the parts in the order in which they were asked for, and all that lies between
//! them on the device. A plain value.

use crate::IoBuf;

/// See the [module](self).
#[derive(Debug)]
pub struct JointRead {
    /// All bytes of the request.
    pub bytes: IoBuf,
    /// Where each part begins in `bytes`. Later parts that were asked for were not read.
    pub starts: Vec<usize>,
}
