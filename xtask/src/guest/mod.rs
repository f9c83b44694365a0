//! `cargo xtask guest`: tests on zoned block devices of a Linux kernel, without such hardware. A
//! virtual machine has an NVMe namespace with zones, a host-managed SMR disk, two zoned devices of
//! `null_blk` and an ordinary disk.
//!
//! 1. Get the distribution's kernel for virtual machines, if it is not there yet.
//! 2. Build the tests of `terrace-zone` and of `terrace`, the program, with all others, and the
//!    plug-in for RocksDB.
//! 3. Pack them and RocksDB's tools, with the libraries that they are linked with, busybox and the
//!    kernel's modules.
//! 4. Boot the machine in QEMU. The processor is emulated, so no right is needed; code runs ten to
//!    fifty times slower. `guest/init` makes the devices, and `guest/work` has the steps.
//! 5. Read the result from the last line of the serial output.
//! 6. Boot it anew, with a load of synced writes (`guest/resets`), and reset it at random moments.
//!    No write that was acknowledged may be missing after the next boot.
//!
//! | file | content |
//! |---|---|
//! | `run` | the steps |
//! | `kernel` | the kernel and its modules |
//! | `image` | what the guest finds in its memory |
//! | `machine` | the machine and its devices |
//! | `monitor` | orders to a machine that runs |
//! | `resets` | resets of the machine under load |
//!
//! Everything lies in `target/guest`. The machine has a time limit.

mod image;
mod kernel;
mod machine;
mod monitor;
mod resets;
mod run;

pub(crate) use run::{Arguments, run};
