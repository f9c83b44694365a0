//! [`answer_calls`]: the client's side of a checkpoint. It makes the calls of the owner on the
//! target, until the owner sends the result of the checkpoint.
//!
//! If a call fails, the first error of the target is returned, also if the owner then ends the
//! connection: the owner knows only its text.

use std::collections::BTreeMap;
use std::io;

use terrace_env::codec::DecodeError;
use terrace_env::store::{
    Annotation, CreateOptions, FileInfo, FileWriter, Rank, Store, StoreError,
};
use terrace_env::{ByteCount, Cause, FileId};

use super::Call;
use super::call::{FileFacts, TargetFile, TargetInfo, decode_transaction};
use crate::Error;
use crate::live::frame::{FRAME_MAX, Incoming, Kind, Outgoing};
use crate::live::remote_error;

/// The most bytes of a transaction. The annotation of a table has some hundred.
const TRANSACTION_MAX: usize = 256 << 20;

/// The most files of a target that are listed: one is too many already, unless it is an empty log.
const FILES_MAX: usize = 1000;

/// The most bytes of a description or of a file in one answer.
const PIECE: usize = FRAME_MAX / 2;

/// A target while it is filled.
struct Target<'a> {
    store: &'a dyn Store,
    writers: BTreeMap<FileId, Box<dyn FileWriter>>,
    transaction: Vec<u8>,
    /// A description that is being sent.
    description: Vec<u8>,
    /// The first error.
    failed: Option<Error>,
}

/// Makes the calls of the owner, and returns the payload of its last frame.
pub(in crate::live) fn answer_calls(
    store: &dyn Store,
    incoming: &mut Incoming,
    outgoing: &mut Outgoing,
    progress: &mut dyn FnMut(ByteCount, ByteCount),
) -> Result<Vec<u8>, Error> {
    let (writers, transaction, description) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut target = Target { store, writers, transaction, description, failed: None };
    loop {
        let (kind, payload) = match incoming.next() {
            Ok(Some(frame)) => frame,
            ended => {
                let error = ended.err().unwrap_or_else(gone);
                return Err(target.failed.unwrap_or_else(|| Error::of_window(error)));
            }
        };
        match kind {
            Kind::Call => {
                let call = Call::decode(payload).map_err(Error::of_protocol)?;
                if let Call::Progress { done, all } = call {
                    progress(done, all);
                } else if let Some(reply) = target.make(call)? {
                    let (kind, payload) = match reply {
                        Ok(payload) => (Kind::Reply, payload),
                        Err(error) => (Kind::Error, remote_error::encode(&error)),
                    };
                    outgoing.send(kind, &payload).map_err(Error::of_window)?;
                }
            }
            Kind::End => return target.failed.map_or_else(|| Ok(payload.to_vec()), Err),
            Kind::Error => {
                return Err(target.failed.unwrap_or_else(|| remote_error::decode(payload)));
            }
            other => return Err(Error::of_window(unexpected(other))),
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the process that has the store open has gone")
}

fn unexpected(kind: Kind) -> io::Error {
    let message = format!("expected a call or the end of a checkpoint, found a frame {kind:?}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The answer to a call, if it has one.
type Reply = Option<Result<Vec<u8>, Error>>;

impl Target<'_> {
    /// Makes a call.
    fn make(&mut self, call: Call) -> Result<Reply, Error> {
        let done = match call {
            Call::Describe => self.describe(),
            Call::Create { kind, hint, size } => self.create(kind, hint, size),
            Call::Append { file, bytes } => {
                if self.failed.is_none() {
                    let appended = self.writer(file).and_then(|writer| writer.append(&bytes));
                    self.failed = appended.err().map(Error::from);
                }
                return Ok(None);
            }
            Call::Finish { file } => match self.failed.clone() {
                Some(error) => Err(error),
                None => self.finish(file),
            },
            Call::CommitPart { bytes } => {
                if self.transaction.len() + bytes.len() > TRANSACTION_MAX {
                    let message = "expected a transaction of at most 256 MiB, found a larger one";
                    return Err(Error::of_window(io::Error::other(message)));
                }
                self.transaction.extend_from_slice(&bytes);
                return Ok(None);
            }
            Call::Commit => self.commit()?,
            Call::Progress { .. } => return Ok(None),
            Call::DescribeWhole { offset } => Ok(self.describe_whole(offset)),
            Call::Read { file, offset, size } => {
                // The owner copies a table that it cannot read, so the copy has not failed.
                return Ok(Some(self.read(file, offset, size).map_err(Error::from)));
            }
        };
        Ok(Some(done.inspect_err(|error| {
            self.failed.get_or_insert_with(|| error.clone());
        })))
    }

    /// A store that is too large for this description is not empty.
    fn describe(&self) -> Result<Vec<u8>, Error> {
        let files = self.store.list();
        let count = files.len();
        let files = files.into_iter().take(FILES_MAX);
        let of = |file: FileInfo| TargetFile {
            id: file.id,
            kind: file.kind,
            size: file.size,
            facts: None,
        };
        let description = TargetInfo { files: files.map(of).collect(), own: self.own() }.encode();
        if description.len() > FRAME_MAX {
            return Err(terrace_lsm::Error::TargetNotEmpty { files: count }.into());
        }
        Ok(description)
    }

    /// A piece of the description with annotations, which is made for the first piece and dropped
    /// after the last one.
    fn describe_whole(&mut self, offset: u64) -> Vec<u8> {
        if offset == 0 {
            let of = |file: FileInfo| {
                let (is_lost, annotation) =
                    (self.store.is_lost(file.id), (*file.annotation).clone());
                let facts = Some(FileFacts { is_sealed: file.sealed, is_lost, annotation });
                TargetFile { id: file.id, kind: file.kind, size: file.size, facts }
            };
            let files = self.store.list().into_iter().map(of).collect();
            self.description = TargetInfo { files, own: self.own() }.encode();
        }
        let rest = usize::try_from(offset).ok().and_then(|at| self.description.get(at..));
        let piece = rest.map_or_else(Vec::new, |rest| rest[..rest.len().min(PIECE)].to_vec());
        if piece.is_empty() {
            self.description = Vec::new();
        }
        piece
    }

    fn own(&self) -> Annotation {
        let own = self.store.info(FileId::STORE).map(|info| (*info.annotation).clone());
        own.unwrap_or_default()
    }

    fn read(&self, file: FileId, offset: u64, size: u32) -> Result<Vec<u8>, StoreError> {
        let size = size as usize;
        if size > PIECE {
            let message = format!("expected a read of at most {PIECE} bytes, found {size}");
            return Err(StoreError::Invalid(message));
        }
        let mut bytes = vec![0; size];
        self.store.open(file)?.read_at(offset, &mut bytes, Cause::Client)?;
        Ok(bytes)
    }

    fn create(
        &mut self,
        kind: terrace_env::store::FileKind,
        hint: terrace_env::store::PlacementHint,
        size: u64,
    ) -> Result<Vec<u8>, Error> {
        let writer = self.store.create(&CreateOptions {
            kind,
            hint,
            size: Some(ByteCount(size)),
            rank: Rank::Log,
            reservation: None,
            group: None,
            offload: false,
            cause: Cause::Client,
        })?;
        let file = writer.id();
        self.writers.insert(file, writer);
        Ok(file.0.to_le_bytes().to_vec())
    }

    fn writer(&mut self, file: FileId) -> Result<&mut Box<dyn FileWriter>, StoreError> {
        self.writers.get_mut(&file).ok_or(StoreError::NotFound(file))
    }

    fn finish(&mut self, file: FileId) -> Result<Vec<u8>, Error> {
        self.writer(file)?.finish()?;
        Ok(Vec::new())
    }

    fn commit(&mut self) -> Result<Result<Vec<u8>, Error>, Error> {
        let bytes = std::mem::take(&mut self.transaction);
        let transaction = decode_transaction(&bytes).map_err(Error::of_protocol)?;
        Ok(self.store.commit(transaction).map(|()| Vec::new()).map_err(Error::from))
    }
}

impl Error {
    /// An error for an unreadable frame of the other side.
    pub(in crate::live) fn of_protocol(error: DecodeError) -> Self {
        let error = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        Self::of_window(error)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use terrace_env::store::{MemoryStore, PlacementHint, Transaction};

    use super::*;
    use crate::ErrorKind;
    use crate::live::frame::Limits;

    const LIMITS: Limits = Limits { idle: Duration::from_secs(60), frame: Duration::from_secs(60) };

    /// The error of a copy into a store, whose owner makes these calls and goes.
    fn error_of(store: &dyn Store, calls: &[Call]) -> Error {
        let (here, there) = UnixStream::pair().unwrap();
        let mut outgoing = Outgoing::new(here.try_clone().unwrap(), LIMITS);
        let mut incoming = Incoming::new(here, LIMITS);
        let mut owner = Outgoing::new(there.try_clone().unwrap(), LIMITS);
        calls.iter().for_each(|call| owner.send(Kind::Call, &call.encode()).unwrap());
        there.shutdown(std::net::Shutdown::Write).unwrap();
        answer_calls(store, &mut incoming, &mut outgoing, &mut |_, _| {}).unwrap_err()
    }

    #[test]
    fn a_target_whose_description_is_too_long_for_a_frame_is_not_empty() {
        let store = MemoryStore::new();
        let mut transaction = Transaction::new();
        let opaque = vec![0; FRAME_MAX];
        let annotation = Annotation { hint: PlacementHint::default(), opaque };
        transaction.annotate(FileId::STORE, annotation);
        store.commit(transaction).unwrap();
        let error = error_of(&store, &[Call::Describe]);
        assert_eq!(error.kind(), ErrorKind::TargetNotEmpty, "{error}");
    }

    #[test]
    fn the_error_of_a_target_is_told_even_if_the_owner_goes() {
        let calls = [Call::Append { file: FileId(9), bytes: b"bytes".to_vec() }];
        let error = error_of(&MemoryStore::new(), &calls);
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert_eq!(error_of(&MemoryStore::new(), &[]).kind(), ErrorKind::Closed);
    }
}
