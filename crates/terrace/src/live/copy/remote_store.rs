//! [`RemoteStore`]: the target of a checkpoint in another process, as a store of files that can
//! only be filled: files are created, appended to, finished, and committed with annotations.
//!
//! What a checkpoint does not ask of a target is refused, or answered with nothing. One thread uses
//! a store; no lock is held over a call.

use std::io;
use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileInfo, FileReader, FileWriter, IoCounts, LogSpace, Rank,
    Reservation, SpaceInfo, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::wait::Waits;
use terrace_env::{ByteCount, FileId, Users};

use super::call::{Call, TargetInfo, encode_transaction};
use crate::live::frame::{FRAME_MAX, Incoming, Kind, Outgoing};

/// Bytes of an append or of a piece of a transaction.
const PIECE: usize = FRAME_MAX / 2;

/// See the [module](self). Clones are the same.
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
        // An error that the client has sent leaves the connection as it is; after others, calls
        // fail again.
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
    /// The target of the client at the other end.
    pub(in crate::live) fn new(incoming: Incoming, outgoing: Outgoing) -> Result<Self, StoreError> {
        let channel = Arc::new(Channel(Mutex::new(Some((incoming, outgoing)))));
        let target = TargetInfo::decode(&channel.ask(&Call::Describe)?).map_err(invalid)?;
        let own = Arc::new(Mutex::new(Arc::new(target.own.clone())));
        Ok(Self { channel, users: Users::default(), target: Arc::new(target), own })
    }

    /// Tells the client how far the copy is. An error is found by the next call.
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

    fn open(&self, _: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        Err(refused("a file to be read"))
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
        let of = |(id, kind, size): &(FileId, _, u64)| FileInfo {
            id: *id,
            kind: *kind,
            size: *size,
            sealed: true,
            annotation: Arc::default(),
            names: Vec::new(),
        };
        self.target.files.iter().map(of).collect()
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
