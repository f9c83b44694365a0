//! The file system on a zoned device, for programs that mount it themselves or inspect it; and the
//! same store of files in a plain directory.
//!
//! A file system that is mounted holds its devices until it is unmounted or dropped.
//! [`Db::open_fs`](crate::Db::open_fs) opens a store on it, and unmounts it when the store is
//! closed, or cannot be opened. A store that is dropped without being closed leaves it mounted.

pub use terrace_fs::dir::{DirOptions, DirStore};
pub use terrace_fs::{
    Access, CachePolicy, CheckProgress, Checked, DeviceChecked, Devices, FormatOptions, Fs,
    MountOptions, Problem, ZoneUsage, ZoneUse, log_device,
};
