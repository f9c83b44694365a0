//! The file system on a zoned device, for programs that mount it themselves or inspect it; and the
//! same store of files in a plain directory.

pub use terrace_fs::dir::{DirOptions, DirStore};
pub use terrace_fs::{
    Access, CachePolicy, CheckProgress, Checked, DeviceChecked, Devices, FormatOptions, Fs,
    MountOptions, Problem, ZoneUsage, ZoneUse, log_device,
};
