//! The file system on devices, for programs that mount it themselves or inspect it; and the same
//! store of files in a plain directory ([`DirStore`]).
//!
//! A mounted file system holds its devices until it is unmounted or dropped.
//! [`Db::open_fs`](crate::Db::open_fs) opens a store on it. A close of that store unmounts it, and
//! so does an opening that fails. If the store is dropped without a close, the file system stays
//! mounted while it has other users.
//!
//! [`NamedFiles`] are files with names on a store of files, for programs that were written for an
//! ordinary file system, and a [`NamedWriter`] writes one of them. A [`Replacement`] replaces all
//! of them by other files.

pub use crate::named_annotation::modified;
pub use crate::named_files::{NamedFiles, NewFile};
pub use crate::named_writer::NamedWriter;
pub use crate::replacement::Replacement;
pub use terrace_fs::dir::{DirOptions, DirStore};
pub use terrace_fs::superblock::Role;
pub use terrace_fs::{
    Access, CachePolicy, CheckProgress, Checked, DeviceChecked, Devices, FormatOptions, Fs,
    MountOptions, Problem, RunUsage, RunUse, SpacePart, SpaceParts, ZoneUsage, ZoneUse,
    check_copied, second_device,
};
