//! [`Rig`]: a server in this process, over a directory or the image of a drive, in a temporary
//! place.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use terrace::device::{Access, Emulator, Geometry, Uuid};
use terrace::fs::{DirStore, Fs};
use terrace::{Bounds, ByteCount, Db, Device, FormatOptions, Options};
use terrace_env::random::{Random, RngCore};
use terrace_server::objects::{ObjectRecord, Objects, ObjectsOptions, Place, Swept, Wanted};
use terrace_server::{Keys, Server, ServerOptions};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::client::Client;

/// The medium of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Medium {
    Directory,
    Image,
}

pub(crate) const MEDIA: [Medium; 2] = [Medium::Directory, Medium::Image];

/// A store without a server.
pub(crate) struct Store {
    place: TempDir,
    medium: Medium,
}

impl Store {
    /// An empty store; an image has zones of 2 MiB, of which 8 may be open.
    pub(crate) fn new(medium: Medium, zones: u32) -> Self {
        let store = Self { place: tempfile::tempdir().expect("a directory"), medium };
        let made = match medium {
            Medium::Directory => Db::open_directory(store.path(), Options::default()),
            Medium::Image => {
                Db::create_device(store.blank(zones), &FormatOptions::default(), options())
            }
        };
        made.expect("a store").close().expect("a close");
        store
    }

    /// A checkpoint of the store, in a medium of the same kind.
    pub(crate) fn checkpoint(&self, zones: u32) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let copy = Self { place, medium: self.medium };
        let db = self.open();
        match self.medium {
            Medium::Directory => db.checkpoint_directory(copy.path()),
            Medium::Image => db.checkpoint_device(copy.blank(zones), &FormatOptions::default()),
        }
        .expect("a checkpoint");
        db.close().expect("a close");
        copy
    }

    fn blank(&self, zones: u32) -> Arc<dyn Device> {
        let geometry = Geometry {
            max_open: Some(8),
            max_active: Some(8),
            ..Geometry::uniform(ByteCount::mib(2), zones)
        };
        let image = Emulator::create_image(self.path(), geometry, Uuid([7; 16]));
        Arc::new(image.expect("an image").unsynced())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.place.path().join("store")
    }

    fn drive(&self, access: Access) -> Arc<dyn Device> {
        let image = Emulator::open_image(self.path(), access).expect("the image");
        Arc::new(image.unsynced())
    }

    pub(crate) fn open(&self) -> Db {
        let opened = match self.medium {
            Medium::Directory => Db::open_directory(self.path(), Options::default()),
            Medium::Image => Db::open_device(self.drive(Access::ReadWrite), options()),
        };
        opened.expect("the store")
    }

    /// Checks the store and its files: that they are sound, and that each file of a body has an
    /// entry.
    pub(crate) fn check(&self) -> Swept {
        let checked = match self.medium {
            Medium::Directory => DirStore::check(self.path(), &mut |_, _| ()),
            Medium::Image => Fs::check(self.drive(Access::ReadOnly)),
        };
        let checked = checked.expect("a check");
        assert!(checked.is_clean(), "{:?}", checked.problems);
        let db = self.open();
        db.verify().expect("sound tables");
        assert_eq!(stray_bodies(&db), 0, "small bodies without an object");
        let (objects, swept) = Objects::open(&db, KEPT).expect("objects");
        assert_eq!((swept.missing, swept.uploads), (0, 0));
        assert_eq!(objects.body_files(), files_in(&objects), "files that entries name");
        drop(objects);
        db.close().expect("a close");
        swept
    }
}

const KEPT: ObjectsOptions =
    ObjectsOptions { entry_max: 64 << 10, upload_age_max: u64::MAX, forget_missing: false };

/// Small bodies whose object is gone, or has files.
fn stray_bodies(db: &Db) -> usize {
    let space = db.create_key_space("objects").expect("a key space");
    let bodies = space.scan(Bounds::prefix(b"d")).expect("a scan");
    let is_stray = |body: &[u8]| {
        let object = space.get(&[&b"o"[..], &body[1..]].concat()).expect("a read");
        let record = object.map(|value| ObjectRecord::decode(&value).expect("a record"));
        record.is_none_or(|record| record.place != Place::Entry)
    };
    bodies.filter(|entry| is_stray(&entry.as_ref().expect("an entry").0[..])).count()
}

/// A list of everything.
pub(crate) fn all() -> Wanted {
    Wanted { max: usize::MAX, ..Wanted::default() }
}

/// Files that entries name.
fn files_in(objects: &Objects) -> u64 {
    let mut files = 0;
    for (bucket, _) in objects.buckets().expect("buckets") {
        let listing = objects.list(&bucket, &all()).expect("a list");
        files += listing.objects.iter().map(|(_, one)| one.segments().len()).sum::<usize>();
        let listing = objects.list_uploads(&bucket, &all(), None).expect("a list");
        for (_, id, _) in listing.uploads {
            files += objects.parts(id, 0, usize::MAX).expect("parts").0.len();
        }
    }
    files as u64
}

fn options() -> Options {
    Options::fitting(ByteCount::mib(512))
}

/// See the [module](self).
pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) objects: Arc<Objects>,
    pub(crate) swept: Swept,
    runtime: Runtime,
    end: watch::Sender<bool>,
    running: JoinHandle<Result<usize, terrace::Error>>,
}

impl Rig {
    /// Serves a store without keys.
    pub(crate) fn start(store: &Store) -> Self {
        Self::start_with(store, |_| ())
    }

    /// The same with other options.
    pub(crate) fn start_with(store: &Store, change: impl FnOnce(&mut ServerOptions)) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(16)
            .enable_all()
            .build()
            .expect("a runtime");
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut options = ServerOptions { listen, ..ServerOptions::default() };
        change(&mut options);
        let server = runtime.block_on(Server::start(store.open(), options)).expect("a server");
        let (address, swept) = (server.address(), server.swept());
        let objects = Arc::clone(server.objects());
        let (end, ends) = watch::channel(false);
        let running = runtime.spawn(server.run(ends));
        Self { address, objects, swept, runtime, end, running }
    }

    pub(crate) fn client(&self) -> Client {
        Client { address: self.address, key: None }
    }

    pub(crate) fn client_as(&self, access: &str, secret: &str) -> Client {
        let key = Some((access.to_owned(), secret.to_owned()));
        Client { address: self.address, key }
    }

    /// Ends the server in order; returns the number of connections that were cut off.
    pub(crate) fn stop(self) -> usize {
        drop(self.objects);
        self.end.send(true).expect("a running server");
        self.runtime.block_on(self.running).expect("no panic").expect("a close")
    }
}

pub(crate) fn keys(text: &str) -> Arc<Keys> {
    Arc::new(Keys::parse(text).expect("keys"))
}

/// Bytes from a seed.
pub(crate) fn bytes(seed: u64, size: usize) -> Vec<u8> {
    let mut random = Random::seeded(seed);
    let mut bytes = vec![0; size];
    random.fill_bytes(&mut bytes);
    bytes
}
