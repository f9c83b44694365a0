//! Block devices of Linux, zoned or not, as [`Device`](crate::Device): ZNS SSDs, host-managed SMR
//! disks, ordinary disks, and emulated ones of the kernel.
//!
//! | part | content |
//! |---|---|
//! | `block_device` | [`BlockDevice`]: the [`Device`](crate::Device) |
//! | `requests` | reads, writes, appends and flushes, from submission to completion |
//! | `zone_operations` | zone operations and reports |
//! | `order` | which requests wait for which |
//! | `transfer` | a request as a sequence of commands to the kernel |
//! | `engine` | [`IoEngine`]: `io_uring`, or calls that block |
//! | `engine_tests` | tests of both |
//! | `ring` | commands by `io_uring`; unsafe code |
//! | `queues` | the queues of a ring, with entries of two sizes; unsafe code |
//! | `appending` | zones with appends in flight |
//! | `append_node` | zone append by the character node of NVMe; unsafe code |
//! | `node` | opens the device's node, and keeps other users out |
//! | `shape` | the geometry, from the kernel's report and from `queue` |
//! | `queue` | [`Queue`]: limits that sysfs shows |
//! | `failure` | the error of a device for an error number of the kernel |
//! | `unchecked` | requests that go to the kernel without a check, for comparisons |
//! | `content` | [`foreign_content`]: data on a device that are not a store |
//! | `listed` | [`Listed`]: the block devices of this machine, and their users |
//! | `ioctl` | the kernel's calls for zones; unsafe code |
//!
//! # How requests are carried out
//! - Data goes past the page cache (`O_DIRECT`), because the kernel finds a misplaced buffered
//!   write only when it writes the page back.
//! - A request is checked by a [`ZoneTable`](crate::ZoneTable) before it goes out. The kernel would
//!   split a write that crosses the end of a zone, and the tail could succeed in the next zone.
//! - A long write to a sequential zone goes out in pieces, one after another. Each piece is short
//!   enough that the kernel makes one command of it, so the order does not depend on an I/O
//!   scheduler.
//! - [`submit`](crate::Device::submit) hands a read, a write, an append or a flush to `io_uring`,
//!   and does not wait. So one thread can have many in flight. Where `io_uring` is not permitted,
//!   the submission carries the request out, and several are in flight only if several threads
//!   submit.
//! - Requests wait for earlier ones to the same zone if they overlap, or if both change the same
//!   sequential zone. So one write to a sequential zone is in flight at a time, and the order does
//!   not depend on the kernel. Writes to different zones, and reads, are in flight together.
//! - A zone operation waits for earlier requests to its zone, and blocks until it is done.
//! - A flush does not wait for writes in flight. It covers those that have completed.
//! - Zone append is offered where this program may open the character node of an NVMe namespace:
//!   the kernel has it there only. Appends to one zone are in flight together, and with no other
//!   request to the zone.
//! - The kernel may refuse the appends of a program that has opened that node. It permits them with
//!   `CAP_SYS_ADMIN`, and since Linux 6.2 also without it if the drive lists zone append among the
//!   commands that it supports. Otherwise each append fails with
//!   [`Host`](crate::DeviceError::Host), although the geometry offers them.
//! - Linux 6.10 and later keep a write pointer of their own for a zone that has been written, and
//!   appends by the character node do not move it. So after writes and then appends, the next write
//!   to the zone can fail with [`Medium`](crate::DeviceError::Medium): the kernel refuses it before
//!   the drive sees it. The report after the error sets the kernel's pointer right, and a second
//!   write at the reported pointer succeeds. To have no such error, a zone that has been written
//!   takes appends, and then no writes before its reset. (This is from the kernel's source; it was
//!   not tried on such a kernel.)
//! - After an error, and after each zone operation, the zone is reported anew, and the table takes
//!   over that report. The table also takes over reports that a caller asks for.
//! - A pointer is taken from empty, open and closed zones only. In others its value differs from
//!   device to device.
//!
//! # Protection
//! - A writer opens the node with `O_EXCL`, which fails if the device, or a partition of it, is
//!   mounted or part of a RAID or a mapping. It also locks the node; a reader shares the lock.
//! - A zone is reset when a request says so. There are two further resets, of zones in which
//!   nothing is written: NVMe leaves a zone that was opened and closed without a write in the state
//!   *closed*, where it takes an active slot. Such a zone is reset when it is closed, and when the
//!   device is opened for writing.
//! - When a device is opened for writing, all open zones are closed, as after power-on.

mod append_node;
mod appending;
mod block_device;
mod content;
mod engine;
#[cfg(test)]
mod engine_tests;
mod failure;
mod ioctl;
mod listed;
mod node;
mod order;
mod queue;
mod queues;
mod requests;
mod ring;
mod shape;
mod transfer;
mod unchecked;
mod zone_operations;

pub use block_device::BlockDevice;
pub use content::foreign_content;
pub use engine::IoEngine;
pub use listed::{Listed, Usage};
pub use queue::{Queue, ZoneModel};
