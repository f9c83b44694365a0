//! [`AppendNode`]: zone append by the character node of an NVMe namespace (`/dev/ngXnY`). The
//! kernel has no append on block nodes, but this node takes commands of NVMe as they are.
//!
//! There are two ways: an entry of `io_uring` with the command in it (`NVME_URING_CMD_IO`), many of
//! which can be in flight, and a call that blocks (`NVME_IOCTL_IO64_CMD`). Both need
//! `CAP_SYS_ADMIN`, or Linux 6.2 or later and a drive that lists zone append in its log of commands
//! supported and effects.
//!
//! The node is a second one next to the block node: the lock that keeps others out of the block
//! node does not keep them out of this one. It is opened when the block node is open and locked,
//! and closed before it.
//!
//! Unsafe code:
//! - The call for an append gives the kernel the address and the length of a buffer that is
//!   borrowed until the call returns. The kernel reads that buffer, and writes nothing but the
//!   result in the argument of the call.
//! - [`entry`](AppendNode::entry) puts an address into an entry of a ring. The kernel reads that
//!   memory until the entry's completion. [`ring`](super::ring) owns it until then, and says why
//!   that is sound.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use io_uring::opcode::UringCmd80;
use io_uring::squeue::Entry128;
use io_uring::types::Fd;
use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};

/// The group of numbers of NVMe.
const GROUP: u8 = b'N';
const NAMESPACE: Opcode = opcode::none(GROUP, 0x40);
const CALL: Opcode = opcode::read_write::<Call>(GROUP, 0x48);
const ENTRY: Opcode = opcode::read_write::<Command>(GROUP, 0x80);

/// Zone append in the command set for zones.
const ZONE_APPEND: u8 = 0x7d;
/// In the twelfth word of a command: durable on completion.
const FORCED: u32 = 1 << 30;

/// `struct nvme_uring_cmd`, with which `struct nvme_passthru_cmd64` begins.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_len: u32,
    data_len: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    reserved_2: u32,
}

/// `struct nvme_passthru_cmd64`.
#[repr(C)]
struct Call {
    command: Command,
    result: u64,
}

const _: () = assert!(size_of::<Command>() == 72 && size_of::<Call>() == 80);

/// An append that is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Append {
    /// First block of the zone.
    pub(super) zone_start: u64,
    pub(super) blocks: u16,
    pub(super) fua: bool,
}

/// See the [module](self).
pub(super) struct AppendNode {
    file: File,
    namespace: u32,
    /// Bytes of a logical block.
    block: u32,
}

impl AppendNode {
    /// The character node of the namespace whose block node has this folder in sysfs; `None` if
    /// there is none, or this program may not open it. The kernel may still refuse each append,
    /// with `EACCES`: opening the node and asking for the namespace's number need less than an
    /// append does, and only an append would show it.
    pub(super) fn find(folder: &Path, block: u32) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let name = folder.file_name()?.to_str()?.strip_prefix("nvme")?;
        let name = format!("ng{name}");
        // Both nodes hang on the same controller or subsystem.
        let beside = Path::new("/sys/class/nvme-generic").join(&name).join("device");
        if beside.canonicalize().ok()? != folder.join("device").canonicalize().ok()? {
            return None;
        }
        let file = OpenOptions::new().read(true).write(true).open(Path::new("/dev").join(name));
        Self::over(file.ok()?, block).ok()
    }

    fn over(file: File, block: u32) -> io::Result<Self> {
        // SAFETY: the call takes no argument, and returns the number of the namespace.
        let namespace = unsafe { rustix::ioctl::ioctl(&file, Number) }?;
        Ok(Self { file, namespace, block })
    }

    /// The append of `len` bytes to the zone that begins at byte `zone_offset` of the device.
    pub(super) fn append(&self, zone_offset: u64, len: usize, fua: bool) -> Append {
        let blocks = u16::try_from(len / self.block as usize);
        let blocks = blocks.expect("no more than the limit, which the table has checked");
        Append { zone_start: zone_offset / u64::from(self.block), blocks, fua }
    }

    fn command(&self, append: Append, data: *const u8, len: usize) -> Command {
        assert_eq!(
            len,
            usize::from(append.blocks) * self.block as usize,
            "the blocks of {append:?}"
        );
        let (start, last) = (append.zone_start, u32::from(append.blocks - 1));
        let forced = if append.fua { FORCED } else { 0 };
        Command {
            opcode: ZONE_APPEND,
            namespace: self.namespace,
            address: data as u64,
            data_len: len as u32,
            words_10_15: [start as u32, (start >> 32) as u32, last | forced, 0, 0, 0],
            ..Command::default()
        }
    }

    /// An entry for large queues. The memory must stay until its completion.
    pub(super) fn entry(&self, append: Append, data: *const u8, len: usize) -> Entry128 {
        let Command {
            opcode,
            flags,
            reserved,
            namespace,
            words_2_3: [two, three],
            metadata,
            address,
            metadata_len,
            data_len,
            words_10_15,
            timeout_ms,
            reserved_2,
        } = self.command(append, data, len);
        let mut bytes = [0; 80];
        let (head, rest) = bytes.split_at_mut(16);
        head[0] = opcode;
        head[1] = flags;
        head[2..4].copy_from_slice(&reserved.to_ne_bytes());
        for (to, word) in head[4..].chunks_mut(4).zip([namespace, two, three]) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        rest[..8].copy_from_slice(&metadata.to_ne_bytes());
        rest[8..16].copy_from_slice(&address.to_ne_bytes());
        let words = [metadata_len, data_len].into_iter().chain(words_10_15);
        let words = words.chain([timeout_ms, reserved_2]);
        for (to, word) in rest[16..].chunks_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        UringCmd80::new(Fd(self.file.as_raw_fd()), ENTRY).cmd(bytes).build()
    }

    /// Appends, and returns the first block written.
    pub(super) fn call(&self, append: Append, data: &[u8]) -> io::Result<u64> {
        let command = self.command(append, data.as_ptr(), data.len());
        let call = AppendCall(Call { command, result: 0 });
        // SAFETY: the module's head has the reason.
        let (status, placed) = unsafe { rustix::ioctl::ioctl(&self.file, call) }?;
        if status == 0 { Ok(placed) } else { Err(error(status)) }
    }
}

/// The error for a status of NVMe: see `failure`. Numbers are those that the kernel's block layer
/// uses, and other statuses are `EIO`. Some differ. An append that does not fit in its zone is
/// `EFBIG`, for which the block layer has no number: a report may still show room, because the
/// appends that take it are in flight. All errors of the path are `ENOLINK`, where the block layer
/// has it for one of them. And a command that the drive does not know, or finds wrong, is no fault
/// of the medium: it is not `EIO`.
pub(super) fn error(status: u32) -> io::Error {
    let number = match status & 0x7ff {
        0x1bd => Errno::OVERFLOW,
        0x1be => Errno::TOOMANYREFS,
        // Beyond the boundary of the zone, and a zone that is full.
        0x1b8 | 0x1b9 => Errno::FBIG,
        // The namespace has no room left, although the zone may have.
        0x081 => Errno::NOSPC,
        // The drive has no append.
        0x001 => Errno::OPNOTSUPP,
        // The command is wrong: a field, the namespace, attributes that exclude one another.
        0x002 | 0x00b | 0x180 => Errno::INVAL,
        // The way to the drive has failed, not its medium.
        0x300..=0x3ff => Errno::NOLINK,
        // A fault of the medium.
        0x280..=0x287 => Errno::NODATA,
        _ => Errno::IO,
    };
    number.into()
}

/// The call that tells the number of the namespace, which it returns.
struct Number;

// SAFETY: it takes no argument, and returns a number.
unsafe impl Ioctl for Number {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        NAMESPACE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        Ok(out as u32)
    }
}

/// The call for an append: returns the status of NVMe and the first block written.
struct AppendCall(Call);

// SAFETY: the number contains the size of the argument, whose layout is that of the header. The
// kernel reads the argument and writes its result.
unsafe impl Ioctl for AppendCall {
    type Output = (u32, u64);
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        CALL
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(&mut self.0).cast()
    }

    unsafe fn output_from_ptr(
        out: IoctlOutput,
        argument: *mut c_void,
    ) -> rustix::io::Result<(u32, u64)> {
        // SAFETY: the pointer is that of `as_ptr`.
        let call = unsafe { &*argument.cast::<Call>() };
        Ok((out as u32, call.result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_calls_are_those_of_the_header() {
        assert_eq!(NAMESPACE, 0x4e40);
        assert_eq!(CALL, 0xc050_4e48);
        assert_eq!(ENTRY, 0xc048_4e80);
    }

    #[test]
    fn each_status_has_its_error() {
        for (status, expected) in [
            (0x1bd, Errno::OVERFLOW),
            // The bit that forbids another try is set.
            (0x41be, Errno::TOOMANYREFS),
            (0x280, Errno::NODATA),
            (0x41b8, Errno::FBIG),
            (0x1b9, Errno::FBIG),
            (0x81, Errno::NOSPC),
            (0x4001, Errno::OPNOTSUPP),
            (0x4002, Errno::INVAL),
            (0x0b, Errno::INVAL),
            (0x180, Errno::INVAL),
            (0x300, Errno::NOLINK),
            (0x4370, Errno::NOLINK),
            (0x3ff, Errno::NOLINK),
            (0x1ba, Errno::IO),
            (0x2ff, Errno::IO),
        ] {
            assert_eq!(error(status).raw_os_error(), Some(expected.raw_os_error()), "{status:#x}");
        }
    }

    #[test]
    fn a_command_names_the_zone_the_blocks_and_the_memory() {
        let file = File::open("/dev/null").unwrap();
        assert!(AppendNode::over(file.try_clone().unwrap(), 512).is_err(), "no NVMe");
        let node = AppendNode { file, namespace: 3, block: 512 };
        let append = Append { zone_start: 0x1_0000_0002, blocks: 4, fua: true };
        let data = [0; 2048];
        let command = node.command(append, data.as_ptr(), data.len());
        assert_eq!((command.opcode, command.namespace, command.data_len), (0x7d, 3, 2048));
        assert_eq!(command.words_10_15, [2, 1, 3 | 1 << 30, 0, 0, 0]);
        assert_eq!(command.address, data.as_ptr() as u64);
    }
}
