//! [`Inspector`]: reads the structures of a store that is not mounted, and keeps its catalog.
//!
//! Opening reads the superblocks and the whole journal. Damage is collected, and reading goes on
//! after it as far as it can. The journal is not read, and the catalog stays empty, if no
//! superblock of this version says that the journal is on its device, or if that superblock needs
//! features or has a number of devices that this version does not know.
//!
//! Opening fails if devices cannot be asked, or if the second one is not plain. In a directory it
//! fails if a writer has the directory, or if `CURRENT` cannot be read. A directory with a file
//! `LOCK` is locked as long as the inspector lives. Nothing keeps writers off devices, so the
//! caller has to.

use std::path::Path;
use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader};
use terrace_env::store::{FileInfo, FileKind, FileReader, StoreError};
use terrace_env::{Cause, FileId};

use super::extents::Extents;
use super::{JournalWalk, LogWalk};
use crate::assembly::find;
use crate::catalog::{Catalog, FileRecord};
use crate::dir::{self, Files, OsFiles};
use crate::file::FileSource;
use crate::frame::BlockSource;
use crate::journal::{Application, ZoneSource, kind};
use crate::media::Media;
use crate::superblock::{Foreign, Superblock, SuperblockArea, survey};
use crate::volume::as_device;
use crate::{Access, AddressSpace, BlockAddr, Devices};

/// A block that is, or should be, a superblock.
#[derive(Clone, Debug)]
pub struct SuperblockSeen {
    /// The device and zone, or the file.
    pub region: String,
    /// The byte of the device, or of the file, where the block begins.
    pub offset: u64,
    /// The superblock, or the reason why it does not decode.
    pub superblock: Result<Superblock, DecodeError>,
    /// Whether this is the one that counts.
    pub is_in_force: bool,
}

/// A store on a device or in a directory, for inspection. Writes nothing; the store must not be
/// written meanwhile.
pub struct Inspector {
    subject: Subject,
    superblocks: Vec<SuperblockSeen>,
    damage: Vec<StoreError>,
    catalog: Catalog,
}

enum Subject {
    Devices(Arc<Media>),
    Files(Arc<dyn Files>),
}

impl Subject {
    /// The devices that addresses are on.
    fn space(&self) -> AddressSpace {
        match self {
            Self::Devices(media) => media.space().clone(),
            Self::Files(_) => AddressSpace::plain(),
        }
    }
}

impl Inspector {
    /// Looks at a store's devices. An error only if they cannot be asked, or are of the wrong
    /// layouts; faults of the store are [`damage`](Self::damage). A device that is lost
    /// ([`Devices::without_offload`]) is none; its blocks cannot be read.
    pub fn device(devices: impl Into<Devices>) -> Result<Self, StoreError> {
        let devices = devices.into();
        devices.check_layouts()?;
        let media = Arc::new(Media::new(&devices));
        let (mut seen, mut damage) = (Vec::new(), Vec::new());
        for medium in media.present() {
            for (place, block) in survey(&**medium)? {
                let at = medium.grid().addr_of(place);
                let (region, offset) = media.describe("superblock", at);
                let superblock = Superblock::decode(&block);
                seen.push(SuperblockSeen { region, offset, superblock, is_in_force: false });
            }
            // Whether there are more broken blocks than a power cut leaves.
            damage.extend(SuperblockArea::find(as_device(medium)).err());
        }
        let several = |it: &SuperblockSeen| it.superblock.as_ref().is_ok_and(|it| it.devices > 1);
        if damage.is_empty() && (devices.second().is_some() || seen.iter().any(several)) {
            // Whether the devices belong together.
            damage.extend(find(&media, false).err());
        }
        Ok(Self::look(Subject::Devices(media), seen, damage))
    }

    /// Looks at a directory.
    pub fn directory(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::files(Arc::new(OsFiles::open(path.as_ref(), Access::ReadOnly)?))
    }

    /// Looks at files that need not be a directory's.
    pub fn files(files: Arc<dyn Files>) -> Result<Self, StoreError> {
        let (block, name) = dir::superblock_block(&*files)?;
        let superblock = Superblock::decode(&block);
        let damage = superblock.as_ref().err().map(|error| match Foreign::read(&block) {
            Some(foreign) => foreign.refusal(),
            None => StoreError::Corruption {
                region: name.clone(),
                offset: 0,
                expected: "a superblock".into(),
                got: error.to_string(),
            },
        });
        let seen = SuperblockSeen { region: name, offset: 0, superblock, is_in_force: false };
        Ok(Self::look(Subject::Files(files), vec![seen], damage.into_iter().collect()))
    }

    fn look(subject: Subject, mut seen: Vec<SuperblockSeen>, damage: Vec<StoreError>) -> Self {
        // Of several devices, that of the journal.
        let leads =
            |seen: &SuperblockSeen| seen.superblock.as_ref().is_ok_and(|it| it.has_journal());
        let newest = seen.iter_mut().filter(|seen| leads(seen));
        let generation =
            |seen: &&mut SuperblockSeen| seen.superblock.as_ref().map_or(0, |it| it.generation);
        if let Some(newest) = newest.max_by_key(generation) {
            newest.is_in_force = true;
        }
        let catalog = Catalog::new(subject.space());
        let mut inspector = Self { subject, superblocks: seen, damage, catalog };
        inspector.replay();
        inspector
    }

    /// Reads the catalog, as far as the journal verifies.
    fn replay(&mut self) {
        let Some(superblock) = self.superblock() else { return };
        let known = superblock.check("superblock", false).and_then(|()| superblock.check_devices());
        if let Err(error) = known {
            self.damage.push(error);
            return;
        }
        let (mut application, mut damage) = (None, Vec::new());
        match self.journal() {
            Err(error) => damage.push(error),
            Ok(walk) => {
                for append in walk {
                    let append = match append {
                        Ok(append) => append,
                        Err(error) => {
                            damage.push(error);
                            continue;
                        }
                    };
                    if matches!(append.kind, kind::LINK | kind::CONTINUE) {
                        continue;
                    }
                    let space = || self.subject.space();
                    let application = application.get_or_insert_with(|| match append.kind {
                        kind::HEAD => Application::new(space()),
                        _ => Application::headless(space()),
                    });
                    let (bytes, mut reader) =
                        (append.payload.len() as u64, Reader::new(&append.payload));
                    if let Err((expected, got)) = application.apply(append.kind, bytes, &mut reader)
                    {
                        let first = append.frames.into_iter().next();
                        let (region, offset) =
                            first.map(|frame| (frame.region, frame.offset)).unwrap_or_default();
                        let expected = expected.into();
                        damage.push(StoreError::Corruption { region, offset, expected, got });
                    }
                    if let Err(error) = application.check_features(false) {
                        damage.push(error);
                        break;
                    }
                }
            }
        }
        self.damage.extend(damage);
        if let Some(application) = application {
            self.catalog = application.into_catalog();
        }
    }

    /// Errors that a mount would end with: of the superblock's place, and of the journal. If there
    /// is any, files may be missing, or be as they once were.
    #[must_use]
    pub fn damage(&self) -> &[StoreError] {
        &self.damage
    }

    /// The blocks where superblocks may stand and that are marked as one.
    #[must_use]
    pub fn superblocks(&self) -> &[SuperblockSeen] {
        &self.superblocks
    }

    /// The superblock in force: of those that verify and have the journal on their device, the
    /// newest.
    #[must_use]
    pub fn superblock(&self) -> Option<&Superblock> {
        self.superblocks.iter().find(|seen| seen.is_in_force)?.superblock.as_ref().ok()
    }

    /// The store's own annotation, and all files that the journal names, by id. The size of an
    /// unsealed log is the one that the last recovery found.
    pub fn list(&self) -> impl Iterator<Item = FileInfo> + '_ {
        let store = self.catalog.info(FileId::STORE);
        store.into_iter().chain(self.catalog.files().map(|(id, record)| record.info(id)))
    }

    /// The journal's record of a file.
    pub fn record(&self, id: FileId) -> Result<&FileRecord, StoreError> {
        self.catalog.file(id)
    }

    /// The devices that the store's blocks are on: says in which zone an address lies.
    #[must_use]
    pub fn space(&self) -> AddressSpace {
        self.subject.space()
    }

    /// Goes through the journal, from the superblock's head on.
    pub fn journal(&self) -> Result<JournalWalk<'_>, StoreError> {
        let Some(superblock) = self.superblock() else { return Err(self.nothing()) };
        match &self.subject {
            Subject::Devices(media) => {
                let medium = media.logs();
                let open = |at| {
                    let (source, place) = ZoneSource::at(&**medium, *medium.grid(), at)?;
                    Ok((Box::new(source) as Box<dyn BlockSource>, place.block))
                };
                Ok(JournalWalk::new(superblock, self.subject.space(), Box::new(open)))
            }
            Subject::Files(files) => {
                let open = |at: BlockAddr| {
                    let block = u32::try_from(at.block()).unwrap_or(u32::MAX);
                    Ok((dir::journal_source(&**files, superblock)? as Box<_>, block))
                };
                Ok(JournalWalk::new(superblock, self.subject.space(), Box::new(open)))
            }
        }
    }

    /// Goes through a write-ahead file.
    pub fn log(&self, id: FileId) -> Result<LogWalk, StoreError> {
        let record = self.record(id)?;
        let Some(superblock) = self.superblock() else { return Err(self.nothing()) };
        if record.kind != FileKind::Log {
            return Err(StoreError::Invalid(format!("file {id}: expected a log")));
        }
        match &self.subject {
            Subject::Devices(media) => {
                let source = FileSource::new(media, id, &record.extents, Cause::Recovery);
                Ok(LogWalk::new(Box::new(source), superblock.uuid, id, record))
            }
            Subject::Files(files) => {
                let source = dir::file_source(&**files, id, record)?;
                let tail = dir::tail(&**files, superblock.uuid)?.filter(|_| !record.sealed);
                Ok(LogWalk::new(source, superblock.uuid, id, record).with_tail(tail))
            }
        }
    }

    /// Opens a file that is no log.
    pub fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        let record = self.record(id)?;
        if record.kind == FileKind::Log {
            return Err(StoreError::Invalid(format!("file {id}: expected a file without frames")));
        }
        Ok(match &self.subject {
            Subject::Devices(media) => Arc::new(Extents {
                media: Arc::clone(media),
                id,
                map: Arc::clone(&record.extents),
                size: record.size,
            }),
            Subject::Files(files) => Arc::new(dir::FilePart::open(&**files, id, record)?),
        })
    }

    /// The error that there is no superblock.
    fn nothing(&self) -> StoreError {
        self.damage.first().cloned().unwrap_or_else(|| StoreError::Corruption {
            region: "superblock".into(),
            offset: 0,
            expected: "one that verifies".into(),
            got: "none".into(),
        })
    }
}
