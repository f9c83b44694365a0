//! [`Application`]: applies the journal's payloads to a catalog, one after the other.
//!
//! It starts at a `Head`, which begins a snapshot of the catalog. The chunks of the snapshot bring
//! the files in the order of their ids. Transactions between them are applied to files of the ids
//! that the chunks have covered so far; a later chunk has the other files with the changes in them.
//! A `Head` behind a complete snapshot begins another one, whose chunks are passed over. For a
//! journal whose head is lost, [`headless`](Application::headless) starts without one.
//!
//! The caller passes whole appends in the journal's order, without links and continuations; those
//! are errors here. After an error in a record, the records before it are applied. After an error
//! in a chunk, the catalog may have a part of the chunk's files.

use terrace_env::FileId;
use terrace_env::codec::Reader;

use super::payload::{End, Head, kind};
use crate::AddressSpace;
use crate::catalog::{Catalog, Record};

/// Value expected and value found instead.
pub(crate) type Mismatch = (&'static str, String);

/// A catalog that is being read.
#[derive(Debug)]
pub(crate) struct Application {
    catalog: Catalog,
    started: bool,
    snapshot: u64,
}

impl Application {
    /// Nothing has been read yet of the journal of a store with these devices.
    pub(crate) fn new(space: AddressSpace) -> Self {
        Self { catalog: Catalog::new(space), started: false, snapshot: 0 }
    }

    /// A catalog that is read off a journal whose head is lost.
    pub(crate) fn headless(space: AddressSpace) -> Self {
        let catalog = Catalog::begin_snapshot(space, FileId::STORE, 0);
        Self { catalog, started: true, snapshot: 0 }
    }

    /// The catalog as read so far, complete or not.
    pub(crate) fn into_catalog(self) -> Catalog {
        self.catalog
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
            kind::HEAD if !self.started => {
                let rest = take_rest(payload);
                let head = Head::decode(rest).map_err(undecodable)?;
                let space = self.catalog.space().clone();
                self.catalog = Catalog::begin_snapshot(space, head.next_file, head.next_epoch);
                self.started = true;
                self.snapshot = bytes;
            }
            kind::HEAD => {}
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

    /// The catalog and the payload bytes of its snapshot; or what is missing.
    pub(crate) fn finish(self) -> Result<(Catalog, u64), String> {
        if !self.started {
            return Err("no snapshot at all".into());
        }
        if self.catalog.is_partial() {
            return Err("the journal's end before the snapshot's".into());
        }
        Ok((self.catalog, self.snapshot))
    }
}

fn take_rest<'a>(payload: &mut Reader<'a>) -> &'a [u8] {
    payload.bytes("payload", payload.remaining()).unwrap_or_default()
}
