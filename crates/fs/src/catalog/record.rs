//! [`Record`]: a change of the catalog, and its bytes in the journal.
//!
//! A record in the journal is *resolved*: it names ids and blocks, so applying it needs nothing but
//! the catalog. A record that removes or moves a name may be made without the file's id. Staging
//! fills in the id before the record is written.
//!
//! Decoding checks that the fields are well-formed, that numbers which grow are below their ends,
//! and that the store has the blocks. It does not
//! check whether the record fits the files; staging does. This module has the fields of each record
//! and their order; names, extents and annotations, for example, have codecs of their own.
//! `docs/format/journal.md` has the byte tables.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{Annotation, FileKind};

use super::Extent;
use super::annotation::{decode_annotation, encode_annotation};
use super::extent_codec::{decode_extent, decode_extents, encode_extent, encode_extents};
use super::kind::{decode_kind, encode_kind};
use super::name::{decode_name, encode_name};
use crate::AddressSpace;
use crate::growing::{read_epoch, read_file_id, read_sequence};

/// A change of the catalog.
///
/// Where a field is a file that has a name, [`FileId::STORE`] stands for "the file that has this
/// name when the record is staged"; staging fills in the id, and only resolved records are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A mount for writing starts: no other mount uses its epoch, and file ids below
    /// `next_file` may have been given out before it.
    Mount {
        /// The epoch of this mount.
        epoch: u32,
        /// The next file id that may be given out.
        next_file: FileId,
    },
    /// A file that is found again before it is sealed.
    Create {
        /// The file.
        id: FileId,
        /// How it is written.
        kind: FileKind,
        /// Its length so far (0 for a log).
        size: u64,
        /// Its blocks; for a log, its lease.
        extents: Vec<Extent>,
        /// The epoch of a log's frames; 0 for other kinds.
        epoch: u32,
        /// Its annotation.
        annotation: Arc<Annotation>,
    },
    /// A file becomes immutable; it is created by this if it was not before.
    Seal {
        /// The file.
        id: FileId,
        /// How it was written.
        kind: FileKind,
        /// Its final length in bytes.
        size: u64,
        /// All its blocks, exactly.
        extents: Vec<Extent>,
        /// The epoch of a log's frames if this creates the log; 0 otherwise.
        epoch: u32,
        /// Its annotation.
        annotation: Arc<Annotation>,
    },
    /// Blocks `from..to` of a file are given back.
    Trim {
        /// The file.
        id: FileId,
        /// The first block of the file.
        from: u32,
        /// The block after the last one.
        to: u32,
    },
    /// A file and its names are gone.
    Delete {
        /// The file.
        id: FileId,
    },
    /// An annotation is replaced; [`FileId::STORE`] is the store's own.
    Annotate {
        /// The file.
        id: FileId,
        /// The new annotation.
        annotation: Arc<Annotation>,
    },
    /// A file gets a further name, which must be free.
    Link {
        /// The name.
        name: Arc<str>,
        /// The file.
        id: FileId,
    },
    /// A name is taken away; the file goes with its last name.
    Unlink {
        /// The name.
        name: Arc<str>,
        /// The file that has it.
        id: FileId,
    },
    /// A name moves. If another file has the new name, the file loses it.
    Rename {
        /// The name now.
        from: Arc<str>,
        /// The name then.
        to: Arc<str>,
        /// The file.
        id: FileId,
        /// The file that loses the new name, if another has it.
        replaced: Option<FileId>,
    },
    /// A log takes a further lease; the lease before it ends at its `end`-th file block.
    Extend {
        /// The log.
        id: FileId,
        /// The block of the file (frames and padding counted) where the new lease starts.
        end: u32,
        /// The further lease.
        extent: Extent,
    },
    /// A client's file has a new length: its blocks from `from` on are replaced.
    Resize {
        /// The file.
        id: FileId,
        /// Its length in bytes.
        size: u64,
        /// The first block of the file that is replaced.
        from: u32,
        /// Extents that the catalog has there now.
        extents: Vec<Extent>,
    },
    /// A recovery has found where a log ends; later appends are a new run.
    LogEnd {
        /// The log.
        id: FileId,
        /// The block of the file after its last valid frame.
        end: u32,
        /// Its payload bytes up to there.
        size: u64,
        /// The sequence of the next frame.
        sequence: u64,
        /// The epoch of the next frame.
        epoch: u32,
    },
    /// An extent was copied elsewhere and is now found there.
    Move {
        /// The file.
        id: FileId,
        /// The block of the file that the extent's first block holds.
        at: u32,
        /// The extent as it is mapped now.
        old: Extent,
        /// Where its blocks are from now on.
        new: Vec<Extent>,
    },
    /// An unsealed log is durable up to there: its frames before that must be found.
    LogDurable {
        /// The log.
        id: FileId,
        /// The block of the file after the last durable frame.
        end: u32,
        /// The payload bytes up to there.
        size: u64,
        /// The sequence of the next frame.
        sequence: u64,
    },
    /// The store is closed: every unsealed log ends where it is durable. Any further record says
    /// that it is open again.
    Close,
}

const MOUNT: u8 = 1;
const CREATE: u8 = 2;
const SEAL: u8 = 3;
const TRIM: u8 = 4;
const DELETE: u8 = 5;
const ANNOTATE: u8 = 6;
const LINK: u8 = 7;
const UNLINK: u8 = 8;
const RENAME: u8 = 9;
const EXTEND: u8 = 10;
const RESIZE: u8 = 11;
const LOG_END: u8 = 12;
const MOVE: u8 = 13;
const LOG_DURABLE: u8 = 14;
const CLOSE: u8 = 15;

impl Record {
    /// The file that it changes; `None` if it concerns all.
    #[must_use]
    pub fn file(&self) -> Option<FileId> {
        match self {
            Self::Mount { .. } | Self::Close => None,
            Self::Create { id, .. }
            | Self::Seal { id, .. }
            | Self::Trim { id, .. }
            | Self::Delete { id }
            | Self::Annotate { id, .. }
            | Self::Link { id, .. }
            | Self::Unlink { id, .. }
            | Self::Rename { id, .. }
            | Self::Extend { id, .. }
            | Self::Resize { id, .. }
            | Self::LogEnd { id, .. }
            | Self::LogDurable { id, .. }
            | Self::Move { id, .. } => Some(*id),
        }
    }

    /// Appends the record's bytes.
    pub fn encode(&self, to: &mut impl Writer) {
        match self {
            Self::Mount { epoch, next_file } => {
                to.put_u8(MOUNT);
                to.put_u32(*epoch);
                to.put_u64(next_file.0);
            }
            Self::Create { id, kind, size, extents, epoch, annotation } => {
                to.put_u8(CREATE);
                encode_birth(to, *id, *kind, *size, *epoch, extents);
                encode_annotation(annotation, to);
            }
            Self::Seal { id, kind, size, extents, epoch, annotation } => {
                to.put_u8(SEAL);
                encode_birth(to, *id, *kind, *size, *epoch, extents);
                encode_annotation(annotation, to);
            }
            Self::Annotate { id, annotation } => {
                to.put_u8(ANNOTATE);
                to.put_u64(id.0);
                encode_annotation(annotation, to);
            }
            Self::Link { name, id } => {
                to.put_u8(LINK);
                to.put_u64(id.0);
                encode_name(name, to);
            }
            Self::Unlink { name, id } => {
                to.put_u8(UNLINK);
                to.put_u64(id.0);
                encode_name(name, to);
            }
            Self::Rename { from, to: target, id, replaced } => {
                to.put_u8(RENAME);
                to.put_u64(id.0);
                to.put_u64(replaced.map_or(0, |id| id.0));
                encode_name(from, to);
                encode_name(target, to);
            }
            Self::Delete { id } => {
                to.put_u8(DELETE);
                to.put_u64(id.0);
            }
            Self::Close => to.put_u8(CLOSE),
            _ => self.encode_blocks(to),
        }
    }

    /// The records that are about a file's blocks.
    fn encode_blocks(&self, to: &mut impl Writer) {
        match self {
            Self::Trim { id, from, to: end } => {
                to.put_u8(TRIM);
                to.put_u64(id.0);
                to.put_u32(*from);
                to.put_u32(*end);
            }
            Self::Extend { id, end, extent } => {
                to.put_u8(EXTEND);
                to.put_u64(id.0);
                to.put_u32(*end);
                encode_extent(extent, to);
            }
            Self::Resize { id, size, from, extents } => {
                to.put_u8(RESIZE);
                to.put_u64(id.0);
                to.put_u64(*size);
                to.put_u32(*from);
                encode_extents(extents, to);
            }
            Self::LogEnd { id, end, size, sequence, epoch } => {
                to.put_u8(LOG_END);
                to.put_u64(id.0);
                to.put_u32(*end);
                to.put_u64(*size);
                to.put_u64(*sequence);
                to.put_u32(*epoch);
            }
            Self::LogDurable { id, end, size, sequence } => {
                to.put_u8(LOG_DURABLE);
                to.put_u64(id.0);
                to.put_u32(*end);
                to.put_u64(*size);
                to.put_u64(*sequence);
            }
            Self::Move { id, at, old, new } => {
                to.put_u8(MOVE);
                to.put_u64(id.0);
                to.put_u32(*at);
                encode_extent(old, to);
                encode_extents(new, to);
            }
            other => unreachable!("{other:?} is encoded by the caller"),
        }
    }

    /// Reads a record of a store with these devices off the front of `from`.
    pub fn decode(from: &mut Reader<'_>, space: &AddressSpace) -> Result<Self, DecodeError> {
        let tag = from.u8("record type")?;
        if tag == MOUNT {
            let epoch = read_epoch(from, "epoch")?;
            return Ok(Self::Mount { epoch, next_file: read_file_id(from, "next file")? });
        }
        if tag == CLOSE {
            return Ok(Self::Close);
        }
        if !(CREATE..=LOG_DURABLE).contains(&tag) {
            return Err(from.wrong("record type", 1, "1 to 15", tag.into()));
        }
        let id = read_file_id(from, "file")?;
        Ok(match tag {
            CREATE | SEAL => {
                let (kind, size) = (decode_kind(from)?, from.u64("size")?);
                let epoch = read_epoch(from, "epoch")?;
                let extents = decode_extents(from, space)?;
                let annotation = decode_annotation(from)?;
                if tag == CREATE {
                    Self::Create { id, kind, size, extents, epoch, annotation }
                } else {
                    Self::Seal { id, kind, size, extents, epoch, annotation }
                }
            }
            TRIM => Self::Trim { id, from: from.u32("first block")?, to: from.u32("end block")? },
            DELETE => Self::Delete { id },
            ANNOTATE => Self::Annotate { id, annotation: decode_annotation(from)? },
            LINK => Self::Link { name: decode_name(from)?, id },
            UNLINK => Self::Unlink { name: decode_name(from)?, id },
            RENAME => {
                let replaced = read_file_id(from, "replaced file")?;
                let replaced = (replaced != FileId::STORE).then_some(replaced);
                Self::Rename { from: decode_name(from)?, to: decode_name(from)?, id, replaced }
            }
            EXTEND => {
                Self::Extend { id, end: from.u32("end")?, extent: decode_extent(from, space)? }
            }
            RESIZE => Self::Resize {
                id,
                size: from.u64("size")?,
                from: from.u32("first block")?,
                extents: decode_extents(from, space)?,
            },
            LOG_END => Self::LogEnd {
                id,
                end: from.u32("end")?,
                size: from.u64("size")?,
                sequence: read_sequence(from, "sequence")?,
                epoch: read_epoch(from, "epoch")?,
            },
            LOG_DURABLE => Self::LogDurable {
                id,
                end: from.u32("end")?,
                size: from.u64("size")?,
                sequence: read_sequence(from, "sequence")?,
            },
            _ => Self::Move {
                id,
                at: from.u32("first block")?,
                old: decode_extent(from, space)?,
                new: decode_extents(from, space)?,
            },
        })
    }
}

fn encode_birth(
    to: &mut impl Writer,
    id: FileId,
    kind: FileKind,
    size: u64,
    epoch: u32,
    extents: &[Extent],
) {
    to.put_u64(id.0);
    encode_kind(kind, to);
    to.put_u64(size);
    to.put_u32(epoch);
    encode_extents(extents, to);
}
