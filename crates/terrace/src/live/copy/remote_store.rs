//! [`RemoteStore`]: the target of a checkpoint in another process, as a store of files that can
//! only be filled: files are created, appended to, finished, and committed with annotations. The
//! files of a backup's target can be read, too.
//!
//! Calls that a checkpoint does not make are refused, or get an empty answer. One thread uses a
//! store; no lock is held over a call.

use std::io;
use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileInfo, FileReader, FileWriter, IoCounts, LogSpace, Rank,
    Reservation, SpaceInfo, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::wait::Waits;
use terrace_env::{ByteCount, Cause, FileId, Users};

use super::call::{Call, TargetFile, TargetInfo, encode_transaction};
use crate::live::frame::{FRAME_MAX, Incoming, Kind, Outgoing};

/// Bytes of an append or of a piece of a transaction.
const PIECE: usize = FRAME_MAX / 2;

/// The most bytes that describe a target. A table has some hundred.
const TARGET_MAX: usize = 256 << 20;

/// See the [module](self). Clones are the same store.
#[derive(Clone)]
pub(in crate::live) struct RemoteStore {
    channel: Arc<Channel>,
    users: Users,
    target: Arc<TargetInfo>,
    own: Arc<Mutex<Arc<Annotation>>>,
}

/// The connection, unless a call has it or it has failed.
struct Channel(Mutex<Option<(Incoming, Outgoing)>>);

impl Channel {
    fn send(&self, call: &Call) -> Result<(), StoreError> {
        self.with(|_, outgoing| outgoing.send(Kind::Call, &call.encode()))
    }

    /// Makes a call, and waits for its answer.
    fn ask(&self, call: &Call) -> Result<Vec<u8>, StoreError> {
        let answer = self.with(|incoming, outgoing| {
            outgoing.send(Kind::Call, &call.encode())?;
            match incoming.next()? {
                Some((Kind::Reply, payload)) => Ok(payload.to_vec()),
                Some((Kind::Error, payload)) => {
                    let error = crate::live::remote_error::decode(payload);
                    Err(io::Error::other(error.to_string()))
                }
                Some((kind, _)) => {
                    incoming.end();
                    Err(io::Error::other(format!("expected a reply, found {kind:?}")))
                }
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        })?;
        Ok(answer)
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut Incoming, &mut Outgoing) -> io::Result<T>,
    ) -> Result<T, StoreError> {
        let taken = self.0.lock().take();
        let Some((mut incoming, mut outgoing)) = taken else {
            return Err(lost(io::ErrorKind::NotConnected.into()));
        };
        let done = work(&mut incoming, &mut outgoing);
        // After an error from the client, the connection still works; after others, calls fail
        // again.
        *self.0.lock() = Some((incoming, outgoing));
        done.map_err(lost)
    }
}

fn lost(error: io::Error) -> StoreError {
    StoreError::io("writing the copy in the other process", error)
}

fn invalid(error: impl std::fmt::Display) -> StoreError {
    StoreError::Invalid(format!("the answer of the target of a copy: {error}"))
}

fn refused(what: &str) -> StoreError {
    StoreError::Invalid(format!(
        "the target of a copy in another process: expected to be filled, found {what}"
    ))
}

impl RemoteStore {
    /// The target of the client at the other end, for a checkpoint.
    pub(in crate::live) fn to_fill(
        incoming: Incoming,
        outgoing: Outgoing,
    ) -> Result<Self, StoreError> {
        let channel = Channel(Mutex::new(Some((incoming, outgoing))));
        let bytes = channel.ask(&Call::Describe)?;
        Self::new(channel, &bytes, false)
    }

    /// The target of the client at the other end, for a backup: its files are known whole and can
    /// be read.
    pub(in crate::live) fn to_update(
        incoming: Incoming,
        outgoing: Outgoing,
    ) -> Result<Self, StoreError> {
        let channel = Channel(Mutex::new(Some((incoming, outgoing))));
        let mut bytes = Vec::new();
        loop {
            let piece = channel.ask(&Call::DescribeWhole { offset: bytes.len() as u64 })?;
            if piece.is_empty() {
                return Self::new(channel, &bytes, true);
            }
            if bytes.len() + piece.len() > TARGET_MAX {
                return Err(invalid("expected a list of files of at most 256 MiB"));
            }
            bytes.extend_from_slice(&piece);
        }
    }

    fn new(channel: Channel, bytes: &[u8], is_whole: bool) -> Result<Self, StoreError> {
        let channel = Arc::new(channel);
        let target = TargetInfo::decode(bytes, is_whole).map_err(invalid)?;
        let own = Arc::new(Mutex::new(Arc::new(target.own.clone())));
        Ok(Self { channel, users: Users::default(), target: Arc::new(target), own })
    }

    /// Sends the progress of the copy to the client. The next call returns an error of this.
    pub(in crate::live) fn progress(&self, done: ByteCount, all: ByteCount) {
        let _ = self.channel.send(&Call::Progress { done, all });
    }

    /// The connection, once the copy is done.
    pub(in crate::live) fn into_channel(self) -> Option<(Incoming, Outgoing)> {
        self.channel.0.lock().take()
    }
}

/// A file that is written there.
struct RemoteWriter {
    channel: Arc<Channel>,
    file: FileId,
    len: u64,
}

impl FileWriter for RemoteWriter {
    fn id(&self) -> FileId {
        self.file
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        for piece in bytes.chunks(PIECE) {
            self.channel.send(&Call::Append { file: self.file, bytes: piece.to_vec() })?;
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Err(refused("a sync"))
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.channel.ask(&Call::Finish { file: self.file }).map(drop)
    }
}

/// A file that was there before the copy.
struct RemoteReader {
    channel: Arc<Channel>,
    file: FileId,
    len: u64,
}

impl FileReader for RemoteReader {
    fn id(&self) -> FileId {
        self.file
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, mut offset: u64, into: &mut [u8], _: Cause) -> Result<(), StoreError> {
        for piece in into.chunks_mut(PIECE) {
            let (file, size) = (self.file, piece.len() as u32);
            let bytes = self.channel.ask(&Call::Read { file, offset, size })?;
            if bytes.len() != piece.len() {
                return Err(invalid(format_args!("{} bytes instead of {size}", bytes.len())));
            }
            piece.copy_from_slice(&bytes);
            offset += u64::from(size);
        }
        Ok(())
    }
}

impl Store for RemoteStore {
    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let size = options.size.map_or(0, |size| size.0);
        let call = Call::Create { kind: options.kind, hint: options.hint, size };
        let answer = self.channel.ask(&call)?;
        let number = answer.as_slice().try_into().map_err(|_| invalid("no number of a file"))?;
        let (channel, file) = (Arc::clone(&self.channel), FileId(u64::from_le_bytes(number)));
        Ok(Box::new(RemoteWriter { channel, file, len: 0 }))
    }

    fn reopen(&self, _: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        Err(refused("a file to be opened again"))
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        let file = self.target.files.iter().find(|file| file.id == id && file.facts.is_some());
        let len = file.ok_or(StoreError::NotFound(id))?.size;
        Ok(Arc::new(RemoteReader { channel: Arc::clone(&self.channel), file: id, len }))
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        let bytes = encode_transaction(&transaction).ok_or_else(|| refused("another change"))?;
        for piece in bytes.chunks(PIECE) {
            self.channel.send(&Call::CommitPart { bytes: piece.to_vec() })?;
        }
        self.channel.ask(&Call::Commit)?;
        for change in transaction.changes() {
            if let terrace_env::store::Change::Annotate { id: FileId::STORE, annotation } = change {
                *self.own.lock() = Arc::new(annotation.clone());
            }
        }
        Ok(())
    }

    fn info(&self, id: FileId) -> Option<FileInfo> {
        let own = || FileInfo {
            id: FileId::STORE,
            kind: terrace_env::store::FileKind::Client,
            size: 0,
            sealed: true,
            annotation: Arc::clone(&self.own.lock()),
            names: Vec::new(),
        };
        (id == FileId::STORE).then(own)
    }

    fn lookup(&self, _: &str) -> Option<FileId> {
        None
    }

    /// The files that were there before the copy.
    fn list(&self) -> Vec<FileInfo> {
        let of = |file: &TargetFile| FileInfo {
            id: file.id,
            kind: file.kind,
            size: file.size,
            sealed: file.facts.as_ref().is_none_or(|facts| facts.is_sealed),
            annotation: file
                .facts
                .as_ref()
                .map_or_else(Arc::default, |facts| Arc::new(facts.annotation.clone())),
            names: Vec::new(),
        };
        self.target.files.iter().map(of).collect()
    }

    fn is_lost(&self, id: FileId) -> bool {
        let file = self.target.files.iter().find(|file| file.id == id);
        file.and_then(|file| file.facts.as_ref()).is_some_and(|facts| facts.is_lost)
    }

    fn reserve(&self, _: Rank, _: ByteCount) -> Result<Reservation, StoreError> {
        Err(refused("a reservation"))
    }

    fn space(&self) -> SpaceInfo {
        SpaceInfo::default()
    }

    fn log_space(&self) -> Option<LogSpace> {
        None
    }

    fn rotational(&self) -> bool {
        false
    }

    fn log_unit(&self) -> ByteCount {
        ByteCount(0)
    }

    fn users(&self) -> &Users {
        &self.users
    }

    fn io(&self) -> IoCounts {
        IoCounts::default()
    }

    fn waits(&self) -> Waits {
        Waits::default()
    }
}
