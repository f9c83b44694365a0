//! [`TerraceFs`]: a file system that is mounted, for files with names.

use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

use terrace::fs::{
    Access, DirOptions, DirStore, NamedFiles, NamedWriter, NewFile, SpaceParts, modified,
};
use terrace::{ByteCount, CachePolicy, ErrorKind, Fs, Store};
use terrace_env::Claim;
use terrace_env::store::{FileInfo, FileKind, PlacementHint, Rank};

use crate::TerraceCode;
use crate::failure::{Failure, given, guard, unused};
use crate::slice::TerraceSlice;
use crate::store::TerraceOptions;
use crate::value::{clear, hand_over};
use crate::writer::TerraceWriter;

/// A file system that is mounted.
pub struct TerraceFs {
    pub(crate) files: Arc<NamedFiles>,
    below: Below,
    // Held until it is closed: no engine may use the files meanwhile.
    _claim: Claim,
}

enum Below {
    Drive(Arc<Fs>),
    Directory(Arc<DirStore>),
}

impl TerraceFs {
    fn open(path: &Path, options: &TerraceOptions<'_>) -> Result<Self, Failure> {
        let access = if options.is_read_only() { Access::ReadOnly } else { Access::ReadWrite };
        let (below, store) = if path.is_dir() {
            let directory = DirStore::open(path, DirOptions { access })?;
            (Below::Directory(Arc::clone(&directory)), directory as Arc<dyn Store>)
        } else {
            let fs = options.mount(path)?;
            fs.set_cache(ByteCount(options.file_cache), CachePolicy::default());
            (Below::Drive(Arc::clone(&fs)), fs as Arc<dyn Store>)
        };
        let files = NamedFiles::new(store);
        let claim = files.claim(access).map_err(|error| match error.kind() {
            ErrorKind::Invalid => Failure::invalid(format_args!(
                "{}: {error}; open it by terrace_store_open",
                path.display()
            )),
            _ => error.into(),
        })?;
        Ok(Self { files: Arc::new(files), below, _claim: claim })
    }
}

impl TerraceFs {
    /// Bytes that reclaim has moved for nothing.
    pub(crate) fn moved_in_vain(&self) -> u64 {
        match &self.below {
            Below::Drive(fs) => fs.moved_in_vain().0,
            Below::Directory(_) => 0,
        }
    }

    /// Uses of the zones; empty if there are none.
    pub(crate) fn space_parts(&self) -> SpaceParts {
        match &self.below {
            Below::Drive(fs) => fs.space_parts().unwrap_or_default(),
            Below::Directory(_) => SpaceParts::default(),
        }
    }
}

impl Drop for TerraceFs {
    fn drop(&mut self) {
        match &self.below {
            Below::Drive(fs) => fs.unmount(),
            Below::Directory(directory) => directory.close(),
        }
    }
}

/// Use of a file, which decides how it is written and recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TerraceFileKind {
    /// Any file. Each sync is also a write of metadata.
    Client = 0,
    /// A file that is synced often: a sync is one write to the end of a zone, without metadata.
    /// After a power cut it holds a prefix of the appends, at least all that were synced.
    Log = 1,
    /// A file that is written once and then finished. A sync makes it durable on the medium, but
    /// after a power cut it is found only if it was finished.
    Table = 2,
}

/// Facts about a new file. Set all fields to 0 first: 0 means the default everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceFileOptions {
    /// A `TerraceFileKind`.
    pub kind: u32,
    /// Expected lifetime: files of one number are placed together. 1 for the shortest, up to 200; 0
    /// if it is not known.
    pub lifetime: u32,
    /// The largest size that it can reach, if that is known; else 0.
    pub size: u64,
    /// The time of modification, in a unit of the caller's choice.
    pub modified: u64,
    /// On a full drive, a few zones are left to files without which no space can be freed. 0 for a
    /// file that must leave them all; 1 for one that may use some, for example the output of a job
    /// that frees space; 2 for one that may use most of the rest, for example a file that such a
    /// job waits for.
    pub urgent: u32,
    /// Not used; 0.
    pub reserved: [u32; 9],
}

/// The longest lifetime.
const LIFETIME_MAX: u32 = 200;

impl TerraceFileOptions {
    pub(crate) fn file(&self) -> Result<NewFile, Failure> {
        const KINDS: [FileKind; 3] = [FileKind::Client, FileKind::Log, FileKind::Table];
        let Some(kind) = KINDS.get(self.kind as usize).copied() else {
            let found = self.kind;
            return Err(Failure::invalid(format_args!("kind: expected 0, 1 or 2, found {found}")));
        };
        if self.lifetime > LIFETIME_MAX {
            let found = self.lifetime;
            return Err(Failure::invalid(format_args!(
                "lifetime: expected 0 to {LIFETIME_MAX}, found {found}"
            )));
        }
        unused(&self.reserved, "file options")?;
        const RANKS: [Rank; 3] = [Rank::Log, Rank::UrgentLog, Rank::Compaction];
        let Some(rank) = RANKS.get(self.urgent as usize).copied() else {
            let found = self.urgent;
            return Err(Failure::invalid(format_args!("urgent: expected 0 to 2, found {found}")));
        };
        let level = self.lifetime.checked_sub(1).and_then(|level| u8::try_from(level).ok());
        let size = (self.size > 0).then_some(ByteCount(self.size));
        let hint = PlacementHint { level, stream: 0 };
        Ok(NewFile { kind, hint, size, rank, modified: self.modified })
    }
}

/// Information about one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceFileInfo {
    /// The file's number, which is never used again.
    pub id: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The last given time of modification.
    pub modified: u64,
    /// Number of its names.
    pub links: u32,
    /// 1 if it is finished, else 0.
    pub finished: u32,
    /// A `TerraceFileKind`.
    pub kind: u32,
    /// Its expected lifetime; 0 if it is not known.
    pub lifetime: u32,
    /// Not used; 0.
    pub reserved: [u64; 3],
}

impl TerraceFileInfo {
    pub(crate) fn of(info: &FileInfo) -> Self {
        Self {
            id: info.id.0,
            size: info.size,
            modified: modified(&info.annotation),
            links: info.names.len() as u32,
            finished: info.sealed.into(),
            kind: match info.kind {
                FileKind::Client => TerraceFileKind::Client,
                FileKind::Log => TerraceFileKind::Log,
                FileKind::Table => TerraceFileKind::Table,
            } as u32,
            lifetime: info.annotation.hint.level.map_or(0, |level| u32::from(level) + 1),
            reserved: [0; 3],
        }
    }
}

/// Use of a file system's space, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TerraceSpace {
    /// All bytes that files could ever occupy.
    pub capacity: u64,
    /// Bytes that can be written without reclaim.
    pub free: u64,
    /// Bytes of files that exist.
    pub live: u64,
    /// Bytes that nothing refers to and that reclaim frees.
    pub dead: u64,
    /// Bytes available to new data.
    pub available: u64,
    /// Not used; 0.
    pub reserved: [u64; 3],
}

fn names(fs: Option<&TerraceFs>) -> Result<&NamedFiles, Failure> {
    Ok(&given(fs, "fs")?.files)
}

/// Mounts the file system on the drive of an image, on a block device, or in a directory. `options`
/// may be null. To be closed by `terrace_fs_close`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_open(
    path: TerraceSlice<'_>,
    options: Option<&TerraceOptions<'_>>,
    fs: Option<&mut MaybeUninit<*mut TerraceFs>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(fs, "fs")?;
        let options = TerraceOptions::of(options)?;
        hand_over(out, TerraceFs::open(Path::new(path.text("path")?), &options)?);
        Ok(())
    })
}

/// Unmounts the file system and frees the handle. Everything that was synced or finished is
/// durable. Remaining writers and readers fail from then on, and are still to be freed. Null is
/// ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_close(fs: Option<Box<TerraceFs>>) -> TerraceCode {
    guard(|| {
        drop(fs);
        Ok(())
    })
}

/// Makes an empty file of this name, durably, and replaces a file that has the name. `options` may
/// be null. To be freed by `terrace_writer_finish` or `terrace_writer_close`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_create(
    fs: Option<&TerraceFs>,
    name: TerraceSlice<'_>,
    options: Option<&TerraceFileOptions>,
    writer: Option<&mut MaybeUninit<*mut TerraceWriter>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(writer, "writer")?;
        let files = &given(fs, "fs")?.files;
        let file = options.copied().unwrap_or_default().file()?;
        hand_over(out, TerraceWriter(NamedWriter::create(files, name.text("name")?, &file)?));
        Ok(())
    })
}

/// Opens a file for further appends, at its end. An unfinished file goes on. A finished one is
/// copied when the first bytes are appended, and the copy takes all its names. To be freed by
/// `terrace_writer_finish` or `terrace_writer_close`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_append_to(
    fs: Option<&TerraceFs>,
    name: TerraceSlice<'_>,
    writer: Option<&mut MaybeUninit<*mut TerraceWriter>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(writer, "writer")?;
        let files = &given(fs, "fs")?.files;
        hand_over(out, TerraceWriter(NamedWriter::append_to(files, name.text("name")?)?));
        Ok(())
    })
}

/// Cuts a file without a writer to its first `size` bytes, durably, under all its names. It is
/// finished then. Nothing is copied. Whole blocks after the cut are freed; those of a log are freed
/// with its last name.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_truncate(
    fs: Option<&TerraceFs>,
    name: TerraceSlice<'_>,
    size: u64,
) -> TerraceCode {
    guard(|| Ok(names(fs)?.truncate(name.text("name")?, size)?))
}

/// Information about a file. `TERRACE_CODE_NOT_FOUND` if there is none of this name. `info` may be
/// null.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_stat(
    fs: Option<&TerraceFs>,
    name: TerraceSlice<'_>,
    info: Option<&mut MaybeUninit<TerraceFileInfo>>,
) -> TerraceCode {
    guard(|| {
        let found = names(fs)?.find(name.text("name")?)?;
        if let Some(info) = info {
            info.write(TerraceFileInfo::of(&found));
        }
        Ok(())
    })
}

/// Changes the expected lifetime of a file, durably. Its bytes stay in place.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_set_lifetime(
    fs: Option<&TerraceFs>,
    name: TerraceSlice<'_>,
    lifetime: u32,
) -> TerraceCode {
    guard(|| {
        let file = TerraceFileOptions { lifetime, ..TerraceFileOptions::default() }.file()?;
        Ok(names(fs)?.set_hint_of(name.text("name")?, file.hint)?)
    })
}

/// Stores in `*bytes` the size of all logs and clients' files of a lifetime together. Each file
/// counts once, with any number of names; tables do not count.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_bytes_of_lifetime(
    fs: Option<&TerraceFs>,
    lifetime: u32,
    bytes: Option<&mut MaybeUninit<u64>>,
) -> TerraceCode {
    guard(|| {
        let bytes = given(bytes, "bytes")?;
        bytes.write(0);
        let file = TerraceFileOptions { lifetime, ..TerraceFileOptions::default() }.file()?;
        bytes.write(names(fs)?.bytes_on(file.hint.level));
        Ok(())
    })
}

/// Renames a file, durably. A file that has the name `to` loses it.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_rename(
    fs: Option<&TerraceFs>,
    from: TerraceSlice<'_>,
    to: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| Ok(names(fs)?.rename(from.text("from")?, to.text("to")?)?))
}

/// Renames all files whose names begin with `from`: `to` replaces that prefix, durably and all at
/// once, like the rename of a directory. No effect if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_rename_all(
    fs: Option<&TerraceFs>,
    from: TerraceSlice<'_>,
    to: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| Ok(names(fs)?.rename_all(from.text("from")?, to.text("to")?)?))
}

/// Gives a file a further name, durably. `TERRACE_CODE_EXISTS` if a file has it.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_link(
    fs: Option<&TerraceFs>,
    name: TerraceSlice<'_>,
    further: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| Ok(names(fs)?.link(name.text("name")?, further.text("further")?)?))
}

/// Removes a name, durably. The file is deleted with its last name; open readers go on.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_remove(fs: Option<&TerraceFs>, name: TerraceSlice<'_>) -> TerraceCode {
    guard(|| Ok(names(fs)?.remove(name.text("name")?)?))
}

/// Use of the space.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_fs_space(
    fs: Option<&TerraceFs>,
    space: Option<&mut MaybeUninit<TerraceSpace>>,
) -> TerraceCode {
    guard(|| {
        let found = names(fs)?.store().space();
        given(space, "space")?.write(TerraceSpace {
            capacity: found.capacity.0,
            free: found.free.0,
            live: found.live.0,
            dead: found.dead.0,
            available: found.for_puts.0,
            reserved: [0; 3],
        });
        Ok(())
    })
}
