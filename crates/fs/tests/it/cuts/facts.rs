//! Expected contents of a store after a power cut, and their comparison with the store that was
//! found.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::{Annotation, FileInfo, FileKind, FileReader, PlacementHint, Store};
use terrace_env::{Cause, FileId};
use terrace_fs::Fs;

/// Expected state of a committed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) kind: FileKind,
    pub(crate) sealed: bool,
    /// Seed of its bytes.
    pub(crate) seed: u64,
    /// Bytes appended, of which the first `durable` must be found.
    pub(crate) size: u64,
    pub(crate) durable: u64,
    /// Where the appends end.
    pub(crate) ends: Vec<u64>,
    pub(crate) text: String,
    pub(crate) names: Vec<String>,
    /// Ranges that must not be read any more.
    pub(crate) trimmed: Vec<Range<u64>>,
}

/// Expected state of all committed files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) files: BTreeMap<FileId, Fact>,
    pub(crate) text: String,
}

/// Knowledge at a moment: one transaction may be in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) acked: Arc<Facts>,
    pub(crate) next: Option<Arc<Facts>>,
}

/// The bytes `offset..` of the file made from `seed`.
pub(crate) fn pattern(seed: u64, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 16);
    let mut word = offset / 8;
    let skip = (offset % 8) as usize;
    while bytes.len() < len + skip {
        let mixed = (word ^ seed.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bytes.extend_from_slice(&(mixed ^ (mixed >> 29)).to_le_bytes());
        word += 1;
    }
    bytes.drain(..skip);
    bytes.truncate(len);
    bytes
}

/// An annotation that says `text`.
pub(crate) fn note(text: &str) -> Annotation {
    // Files change their level as they are annotated.
    let hint = PlacementHint { level: Some(text.len() as u8 % 4), ..PlacementHint::default() };
    Annotation { opaque: text.as_bytes().to_vec(), hint }
}

impl Known {
    /// Compares a store with the known state, and returns the found one: the state before or after
    /// the transaction in flight, with logs at their found lengths.
    pub(crate) fn verify(&self, fs: &Fs) -> Result<Facts, String> {
        let found = fs.list();
        let text = fs.info(FileId::STORE).map(|info| info.annotation.opaque.clone());
        let matching = [Some(&self.acked), self.next.as_ref()].into_iter().flatten().map(|facts| {
            if text.as_deref() != Some(facts.text.as_bytes()) {
                return Err(format!("the store's annotation is {text:?}, not {:?}", facts.text));
            }
            let facts = facts.matches(&found)?;
            facts.read_all(fs).map(|()| facts)
        });
        let mut errors = Vec::new();
        for result in matching {
            match result {
                Ok(facts) => return Ok(facts),
                Err(error) => errors.push(error),
            }
        }
        Err(errors.join("; or: "))
    }
}

impl Facts {
    /// These facts with the lengths that were found, if they agree.
    fn matches(&self, found: &[FileInfo]) -> Result<Self, String> {
        let ids: Vec<FileId> = found.iter().map(|info| info.id).collect();
        let expected: Vec<FileId> = self.files.keys().copied().collect();
        if ids != expected {
            return Err(format!("files {ids:?}, not {expected:?}"));
        }
        let mut facts = self.clone();
        for info in found {
            let fact = facts.files.get_mut(&info.id).expect("compared above");
            fact.agree(info).map_err(|what| format!("file {}: {what}", info.id))?;
            (fact.size, fact.durable) = (info.size, info.size);
            fact.ends.retain(|end| *end <= info.size);
        }
        Ok(facts)
    }

    fn read_all(&self, fs: &Fs) -> Result<(), String> {
        for (id, fact) in &self.files {
            let reader = fs.open(*id).map_err(|error| format!("file {id}: {error}"))?;
            fact.read(&*reader).map_err(|error| format!("file {id}: {error}"))?;
        }
        Ok(())
    }
}

impl Fact {
    fn agree(&self, info: &FileInfo) -> Result<(), String> {
        if (info.kind, info.sealed) != (self.kind, self.sealed) {
            return Err(format!("{:?}, sealed {}", info.kind, info.sealed));
        }
        if info.annotation.opaque != self.text.as_bytes() || info.names != self.names {
            let got = String::from_utf8_lossy(&info.annotation.opaque).into_owned();
            return Err(format!("{got:?} {:?}, not {:?} {:?}", info.names, self.text, self.names));
        }
        let possible = self.durable <= info.size && info.size <= self.size;
        let whole = self.kind != FileKind::Log
            || info.size == self.durable
            || self.ends.contains(&info.size);
        if possible && whole && (!self.sealed || info.size == self.size) {
            return Ok(());
        }
        let Self { durable, size, ends, .. } = self;
        Err(format!("{} bytes, where {durable} of {size} are durable and {ends:?} ends", info.size))
    }

    /// Reads all that is not trimmed.
    fn read(&self, reader: &dyn FileReader) -> Result<(), String> {
        let mut at = 0;
        let mut holes = self.trimmed.clone();
        holes.sort_by_key(|hole| hole.start);
        holes.push(self.size..self.size);
        for hole in holes {
            if at < hole.start {
                let mut bytes = vec![0; (hole.start - at) as usize];
                reader.read_at(at, &mut bytes, Cause::Read).map_err(|error| error.to_string())?;
                let expected = pattern(self.seed, at, bytes.len());
                if let Some(wrong) = bytes.iter().zip(&expected).position(|(a, b)| a != b) {
                    return Err(format!("byte {} differs from the written one", at + wrong as u64));
                }
            }
            at = at.max(hole.end);
        }
        Ok(())
    }
}
