//! [`Place`]: the path of the socket of a store, its rights, and how it is bound and found.
//!
//! | store | socket |
//! |---|---|
//! | directory `D` | `D/LIVE` |
//! | image `d.img` | `d.img.live`, in the directory in which the image itself is |
//! | block device | named by its numbers, in the directory of the user |
//! | image, if no file can be made there, or the name is too long | the same |
//!
//! The directory of root is `/run/terrace`, that of another user `terrace-UID` in `/tmp`.
//!
//! - *Rights.* The socket belongs to the owner and the group of the store's file, if the process
//!   may set them. A connection needs the right to write to the socket. The classes of users that
//!   may read the store's file have this right, and no others.
//! - *No gap.* A socket accepts no connection before it listens, and it listens only after its
//!   rights are set.
//! - *Stale sockets.* The process that binds holds the lock of the store, so an existing socket is
//!   from a killed process. It is replaced, in one step.
//! - *Full queues.* A connection waits until the process accepts it or another one. A process that
//!   is stopped accepts none, so the wait has a limit.
//! - *Long paths.* A socket's address has 108 bytes. Addresses go through `/proc/self/fd`, so paths
//!   may be longer.
//! - *Impostors.* A client refuses a socket whose process runs neither as root nor as the client's
//!   own user nor as the owner of the store's file.
//!
//! Linux only. Any thread.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, major, minor};
use rustix::io::retry_on_intr;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use rustix::process::geteuid;
use terrace_env::runner;

use super::bound::Bound;

/// Name of the socket in the directory of a store.
const IN_DIRECTORY: &str = "LIVE";

/// Ending of the name of an image's socket.
const OF_IMAGE: &str = ".live";

/// The longest name of a file on Linux, in bytes.
const NAME_MAX: usize = 255;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 8;

/// Lock file of a directory store.
const LOCK: &str = "LOCK";

/// The place of a store's socket.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The file whose rights are those of the store: the image, the device, or the lock of a
    /// directory.
    pub(crate) file: PathBuf,
    /// The socket next to the store's file, unless the file is a device.
    adjacent: Option<PathBuf>,
    /// Name of the socket in the directory of a user. A directory store has none.
    name: Option<String>,
}

impl Place {
    /// The place for the store at a path, for a client or for the process that has it open.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let found = fs::metadata(&path)?;
        if found.is_dir() {
            let adjacent = Some(path.join(IN_DIRECTORY));
            return Ok(Self { file: path.join(LOCK), adjacent, name: None });
        }
        if found.file_type().is_block_device() {
            let (major, minor) = (major(found.rdev()), minor(found.rdev()));
            let name = Some(format!("live-device-{major}-{minor}"));
            return Ok(Self { file: path, adjacent: None, name });
        }
        let name = Some(format!("live-file-{}-{}", found.dev(), found.ino()));
        Ok(Self { adjacent: adjacent(&path), file: path, name })
    }

    /// Binds a socket with the store's rights, and replaces a stale one. The caller holds the
    /// store's lock.
    pub(crate) fn bind(&self) -> io::Result<(UnixListener, Bound)> {
        let file = fs::metadata(&self.file)?;
        let why = match self.adjacent.as_ref().map(|socket| bind_at(socket, &file)) {
            Some(Ok(bound)) => return Ok(bound),
            Some(Err(error)) => Some(error),
            None => None,
        };
        let Some(name) = &self.name else {
            return Err(why.unwrap_or_else(|| io::ErrorKind::NotFound.into()));
        };
        let directory = directory_of(geteuid());
        make_shared(&directory)?;
        bind_at(&directory.join(name), &file)
    }

    /// Connects to the process that has the store open; `None` if there is no socket, or only a
    /// stale one. If the queue of the socket is full, it waits for at most `patience`.
    pub(crate) fn connect(&self, patience: Duration) -> io::Result<Option<UnixStream>> {
        let owner = fs::metadata(&self.file).map(|found| Uid::from_raw(found.uid()));
        let users: BTreeSet<u32> = [Some(Uid::ROOT), Some(geteuid()), owner.ok()]
            .into_iter()
            .flatten()
            .map(Uid::as_raw)
            .collect();
        let shared = self.name.iter().flat_map(|name| {
            users.iter().map(move |user| directory_of(Uid::from_raw(*user)).join(name))
        });
        let mut refused = None;
        for socket in self.adjacent.iter().cloned().chain(shared) {
            match connect_at(&socket, patience) {
                Ok(stream) => return self.trusted(stream).map(Some),
                Err(error) if is_absent(&error) => {}
                Err(error) => {
                    let message = format!("{}: {error}", socket.display());
                    refused = Some(io::Error::new(error.kind(), message));
                }
            }
        }
        refused.map_or(Ok(None), Err)
    }

    /// The connection; an error if the process at its other end may be an impostor.
    fn trusted(&self, stream: UnixStream) -> io::Result<UnixStream> {
        let peer = sockopt::socket_peercred(&stream)?;
        let owner = fs::metadata(&self.file).map(|found| Uid::from_raw(found.uid()));
        let is_owner = owner.is_ok_and(|owner| owner == peer.uid);
        if is_owner || peer.uid == Uid::ROOT || peer.uid == geteuid() {
            return Ok(stream);
        }
        let (user, pid) = (peer.uid.as_raw(), peer.pid.as_raw_nonzero());
        let message = format!(
            "expected the socket of root, of this user or of the store's owner, found that of \
             user {user}, process {pid}"
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
    }
}

/// Opens the store's file for writing, to prove that this process may write.
pub(crate) fn proof(file: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(file)
}

/// Whether a file is the store's, and open for writing.
pub(crate) fn proves(proof: &OwnedFd, file: &Metadata) -> bool {
    let (Ok(found), Ok(flags)) = (rustix::fs::fstat(proof), rustix::fs::fcntl_getfl(proof)) else {
        return false;
    };
    let is_same = (found.st_dev, found.st_ino) == (file.dev(), file.ino());
    is_same && flags & OFlags::RWMODE != OFlags::RDONLY && !flags.contains(OFlags::PATH)
}

/// The socket of an image, if its name is not too long.
fn adjacent(image: &Path) -> Option<PathBuf> {
    let mut name = OsString::from(image.file_name()?);
    name.push(OF_IMAGE);
    (name.len() <= NAME_MAX).then(|| image.with_file_name(name))
}

/// The directory for sockets that cannot be next to the store.
fn directory_of(user: Uid) -> PathBuf {
    match user {
        Uid::ROOT => "/run/terrace".into(),
        user => Path::new("/tmp").join(format!("terrace-{}", user.as_raw())),
    }
}

/// Creates the directory of this user, which no other user may change.
fn make_shared(directory: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o755).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(directory)?;
    let is_own = found.is_dir() && found.uid() == geteuid().as_raw();
    if is_own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let message = format!(
        "{}: expected a directory of this user that no other may write to",
        directory.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Binds a socket under another name, gives it its rights, and moves it to its place.
fn bind_at(socket: &Path, file: &Metadata) -> io::Result<(UnixListener, Bound)> {
    let wrap =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", socket.display()));
    if fs::symlink_metadata(socket).is_ok_and(|found| !found.file_type().is_socket()) {
        let message = format!("{}: expected a socket or nothing, found a file", socket.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    let parent = socket.parent().unwrap_or(Path::new("/"));
    let directory = open_path(parent).map_err(wrap)?;
    let name = format!(".live-{}", runner::fork_random().uuid());
    let (unready, address) = (parent.join(&name), through(&directory, &name)?);
    let flags = SocketFlags::CLOEXEC;
    let made = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&made, &address).map_err(|error| wrap(error.into()))?;
    let ready = || -> io::Result<Stat> {
        let own = allow(&open_path(&unready)?, file)?;
        rustix::net::listen(&made, BACKLOG)?;
        fs::rename(&unready, socket)?;
        Ok(own)
    };
    match ready() {
        Ok(own) => Ok((made.into(), Bound::new(socket, directory, own))),
        Err(error) => {
            let _ = fs::remove_file(&unready);
            Err(wrap(error))
        }
    }
}

/// Gives a socket the owner, the group and the rights of the store's file. Returns its state
/// before.
fn allow(socket: &OwnedFd, file: &Metadata) -> io::Result<Stat> {
    let own = rustix::fs::fstat(socket)?;
    if !FileType::from_raw_mode(own.st_mode).is_socket() {
        return Err(io::Error::other("expected the socket just bound, found another file"));
    }
    let readers = file.mode() & 0o444;
    let mut mode = readers | readers >> 1;
    // By the open file, because the name could lead to another file by now.
    let change = |uid, gid| rustix::fs::chownat(socket, c"", uid, gid, AtFlags::EMPTY_PATH);
    if own.st_gid != file.gid() && change(None, Some(Gid::from_raw(file.gid()))).is_err() {
        // Its group is another one, which may not have the right.
        mode &= !0o060;
    }
    if own.st_uid != file.uid() {
        // If it fails, the user of this process has the rights of the owner: it has the store open.
        let _ = change(Some(Uid::from_raw(file.uid())), None);
    }
    let by_number = format!("/proc/self/fd/{}", socket.as_raw_fd());
    fs::set_permissions(by_number, fs::Permissions::from_mode(mode))?;
    Ok(own)
}

fn connect_at(socket: &Path, patience: Duration) -> io::Result<UnixStream> {
    let found = open_path(socket)?;
    let flags = SocketFlags::CLOEXEC;
    let made = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(format!("/proc/self/fd/{}", found.as_raw_fd()))?;
    // The limit of a send is that of a connection, too.
    sockopt::set_socket_timeout(&made, sockopt::Timeout::Send, Some(patience))?;
    match retry_on_intr(|| rustix::net::connect(&made, &address)) {
        Ok(()) => Ok(made.into()),
        Err(rustix::io::Errno::AGAIN) => {
            let message = format!(
                "expected the process that has the store open to accept a connection within \
                 {patience:?}, found it accept none; it may be stopped"
            );
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        }
        Err(error) => Err(error.into()),
    }
}

fn open_path(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?)
}

/// The address of a name in an open directory, for a path of any length.
fn through(directory: &OwnedFd, name: &str) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))?)
}

/// Whether no process listens at a socket: there is none, or it is stale.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotADirectory, NotFound};
    matches!(error.kind(), ConnectionRefused | NotFound | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_others_may_write_to_is_not_used() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("shared");
        make_shared(&directory).unwrap();
        for mode in [0o775, 0o757, 0o777] {
            fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
            let error = make_shared(&directory).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{mode:o}");
        }
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        make_shared(&directory).unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        assert!(make_shared(&link).is_err());
    }

    #[test]
    fn a_connection_to_a_process_that_accepts_none_ends_in_time() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(LOCK), b"").unwrap();
        let place = Place::of(directory.path()).unwrap();
        let (listener, _) = place.bind().unwrap();
        let patience = Duration::from_millis(50);
        let mut waiting = Vec::new();
        let error = loop {
            match place.connect(patience) {
                Ok(stream) => waiting.push(stream.expect("a socket")),
                Err(error) => break error,
            }
            assert!(waiting.len() <= 2 * BACKLOG as usize, "the queue of the socket has an end");
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("may be stopped"), "{error}");
        listener.accept().unwrap();
        assert!(place.connect(patience).unwrap().is_some(), "there is room again");
    }
}
