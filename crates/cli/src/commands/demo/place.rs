//! [`Place`]: the drive of the demonstration: an emulated one whose power is cut, or a device that
//! is cut off from its host ([`CutOff`]). A real device's power cannot be cut from here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace::device::{Access, Device, Emulator, Geometry, PowerCut, Random};

use super::cut_off::CutOff;
use crate::commands::drive;
use crate::commands::format::check_blank;
use crate::failure::Failure;

/// See the [module](self).
pub(super) enum Place {
    Emulated(Arc<Emulator>),
    Device { path: PathBuf, device: Arc<CutOff> },
}

impl Place {
    /// The block device or image at a path. Without `force` it must be blank.
    pub(super) fn open(path: &Path, force: bool) -> Result<Self, Failure> {
        let device = drive::open(path, Access::ReadWrite, false)?;
        if !force {
            check_blank(&device, path)?;
        }
        Ok(Self::Device { path: path.to_owned(), device: Arc::new(CutOff::new(device)) })
    }

    pub(super) fn geometry(&self) -> &Geometry {
        match self {
            Self::Emulated(drive) => drive.geometry(),
            Self::Device { device, .. } => device.geometry(),
        }
    }

    /// The device that a store is made on.
    pub(super) fn device(&self) -> Arc<dyn Device> {
        match self {
            Self::Emulated(drive) => Arc::clone(drive) as Arc<dyn Device>,
            Self::Device { device, .. } => Arc::clone(device) as Arc<dyn Device>,
        }
    }

    /// Whether its power can be cut.
    pub(super) fn is_emulated(&self) -> bool {
        matches!(self, Self::Emulated(_))
    }

    /// Cuts the power, or the device off.
    pub(super) fn cut(&self, random: &mut Random) -> Result<(), Failure> {
        match self {
            Self::Emulated(drive) => drive.power_cut(PowerCut::Blocks, random)?,
            Self::Device { device, .. } => device.cut(),
        }
        Ok(())
    }

    /// Switches the power on, or opens the device anew. Nothing may use it any more.
    pub(super) fn restore(self) -> Result<Self, Failure> {
        match self {
            Self::Emulated(drive) => {
                drive.power_on();
                Ok(Self::Emulated(drive))
            }
            Self::Device { path, device } => {
                drop(device);
                Self::open(&path, true)
            }
        }
    }
}
