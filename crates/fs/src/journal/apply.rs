//! [`Application`]: applies the journal's payloads to a catalog, one after the other.
//!
//! It starts at a `Head`, which begins a snapshot of the catalog. The chunks of the snapshot bring
//! the files in the order of their ids. Transactions between them are applied to files of the ids
//! that the chunks have covered so far; a later chunk has the other files with the changes in them.
//! The features that a head names must be known: the caller asks
//! [`check_features`](Application::check_features). A `Head` after a complete snapshot begins
//! another one, whose chunks are skipped. For a journal whose head is lost,
//! [`headless`](Application::headless) starts without one.
//!
//! The caller passes whole appends in the journal's order, without links and continuations; those
//! are errors here. After an error in a record, the records before it are applied. After an error
//! in a chunk, the catalog may have a part of the chunk's files.

use terrace_env::FileId;
use terrace_env::codec::Reader;
use terrace_env::store::StoreError;

use super::payload::{End, Head, kind};
use crate::AddressSpace;
use crate::catalog::{Catalog, Record};
use crate::superblock::Features;

/// Value expected and value found instead.
pub(crate) type Mismatch = (&'static str, String);

/// A catalog that is being read.
#[derive(Debug)]
pub(crate) struct Application {
    catalog: Catalog,
    started: bool,
    snapshot: u64,
    /// The features that the heads name.
    features: Features,
    /// A catalog whose counters are not known.
    is_headless: bool,
}

impl Application {
    /// An empty start, before the first append of the journal of a store with these devices.
    pub(crate) fn new(space: AddressSpace) -> Self {
        let (features, is_headless) = (Features::default(), false);
        Self { catalog: Catalog::new(space), started: false, snapshot: 0, features, is_headless }
    }

    /// A catalog that is read off a journal whose head is lost.
    pub(crate) fn headless(space: AddressSpace) -> Self {
        let catalog = Catalog::begin_snapshot(space, FileId::STORE, 0);
        let features = Features::default();
        Self { catalog, started: true, snapshot: 0, features, is_headless: true }
    }

    /// The catalog as read so far, complete or not.
    pub(crate) fn into_catalog(self) -> Catalog {
        self.catalog
    }

    /// Refuses a journal that needs features which this version does not know. The caller asks
    /// after each append, so that no append of an unknown kind is read.
    pub(crate) fn check_features(&self, write: bool) -> Result<(), StoreError> {
        self.features.check(write)
    }

    /// Applies one append of the given type.
    pub(crate) fn apply(
        &mut self,
        of_kind: u8,
        bytes: u64,
        payload: &mut Reader<'_>,
    ) -> Result<(), Mismatch> {
        let undecodable =
            |error: terrace_env::codec::DecodeError| ("a payload that decodes", error.to_string());
        let partial = self.catalog.is_partial();
        match of_kind {
            kind::HEAD => {
                let head = Head::decode(take_rest(payload)).map_err(undecodable)?;
                self.features = self.features.and(head.features);
                if self.started {
                    return Ok(());
                }
                let space = self.catalog.space().clone();
                self.catalog = Catalog::begin_snapshot(space, head.next_file, head.next_epoch);
                self.started = true;
                self.snapshot = bytes;
            }
            kind::CHUNK if partial => {
                self.snapshot += bytes;
                self.catalog.absorb_chunk(take_rest(payload)).map_err(undecodable)?;
            }
            kind::END if partial => {
                let end = End::decode(take_rest(payload)).map_err(undecodable)?;
                self.complete(end)?;
            }
            kind::CHUNK | kind::END => {}
            kind::TRANSACTIONS => self.transactions(payload)?,
            other => return Err(("a frame type from 1 to 6", other.to_string())),
        }
        Ok(())
    }

    fn complete(&mut self, end: End) -> Result<(), Mismatch> {
        self.catalog
            .complete_snapshot()
            .map_err(|reached| ("all chunks of the snapshot", format!("files below {reached}")))?;
        if self.catalog.len() as u64 != end.files {
            let got = format!("{} files, where the end says {}", self.catalog.len(), end.files);
            return Err(("as many files as the snapshot's end says", got));
        }
        Ok(())
    }

    fn transactions(&mut self, payload: &mut Reader<'_>) -> Result<(), Mismatch> {
        while !payload.is_empty() {
            let record = Record::decode(payload, self.catalog.space())
                .map_err(|error| ("a record that decodes", error.to_string()))?;
            self.catalog
                .stage(&mut [record])
                .map_err(|error| ("a record that fits the files before it", error.to_string()))?;
        }
        Ok(())
    }

    /// The catalog and the payload bytes of its snapshot; or the defect, in words. `epoch` is that
    /// of the journal's last frames.
    pub(crate) fn finish(self, epoch: u32) -> Result<(Catalog, u64), String> {
        if !self.started {
            return Err("no snapshot at all".into());
        }
        if self.catalog.is_partial() {
            return Err("the journal's end before the snapshot's".into());
        }
        let next = self.catalog.next_epoch();
        if !self.is_headless && next < epoch {
            return Err(format!("next epoch {next}, where frames have epoch {epoch}"));
        }
        if !self.is_headless
            && let Some((id, epoch)) = self.catalog.log_of_the_future()
        {
            return Err(format!("log {id} of epoch {epoch}, where the next epoch is {next}"));
        }
        Ok((self.catalog, self.snapshot))
    }
}

fn take_rest<'a>(payload: &mut Reader<'a>) -> &'a [u8] {
    payload.bytes("payload", payload.remaining()).unwrap_or_default()
}
