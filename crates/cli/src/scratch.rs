//! [`Scratch`]: a directory that a command makes for its work, and that is removed when the value
//! is dropped. It is also removed at Ctrl-C (SIGINT), at SIGTERM, and when the terminal is closed
//! (SIGHUP). Other signals, such as SIGKILL, leave it. A signal that was ignored from the start, as
//! under `nohup`, stays ignored.
//!
//! As long as the value lives, the directory is locked (`flock`), if its file system has that. So
//! [`Scratch::sweep`] knows those that a killed process has left.
//!
//! 1. A directory is made and listed under one lock. It is taken off the list when its owner has
//!    removed it.
//! 2. After a signal no further directory is made. The listed directories are removed, and the
//!    process ends by the default action of the signal.
//!
//! Threads: an actor waits for the signals from the first directory on. If others still write to a
//! directory while it removes it, it tries again for some seconds, and then leaves the rest.

use std::fs::{self, File, TryLockError};
use std::io;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;
use terrace_env::runner;
use terrace_env::sync::{Mutex, MutexGuard};

use crate::failure::Failure;
use crate::{screen, signals};

static MADE: Mutex<Made> = Mutex::new(Made { dirs: Vec::new(), taken: false });

struct Made {
    /// The directories that are there now.
    dirs: Vec<PathBuf>,
    /// A signal has taken the list.
    taken: bool,
}

/// How often the removal of a directory is tried while others write there, and the time between.
const TRIES: u32 = 2_000;
const BETWEEN: Duration = Duration::from_millis(5);

/// See the [module](self).
pub(crate) struct Scratch {
    /// `None` once it is dropped.
    dir: Option<TempDir>,
    /// Keeps the directory locked.
    _lock: File,
}

impl Scratch {
    /// Makes an empty directory in another one.
    pub(crate) fn make(parent: &Path, prefix: &str) -> Result<Self, Failure> {
        watch().map_err(|error| Failure::from(error).while_doing("waiting for signals"))?;
        let mut made = list();
        let locked = make_locked(parent, prefix);
        let (dir, lock) = locked.map_err(|error| Failure::path(parent, &error))?;
        made.dirs.push(dir.path().to_owned());
        Ok(Self { dir: Some(dir), _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.as_ref().expect("it is there until it is dropped").path()
    }

    /// Removes the directories of this prefix that no process has locked: killed processes have
    /// left them. The prefix must be one that no other directory has. A directory that cannot be
    /// removed stays.
    pub(crate) fn sweep(parent: &Path, prefix: &str) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let is_meant = entry.file_name().as_bytes().starts_with(prefix.as_bytes());
            if !is_meant || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            let lock = File::open(&path).and_then(|dir| Ok(dir.try_lock().map(|()| dir)?));
            if lock.is_ok() {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// Makes a directory and locks it. A sweep may find it in between, and remove it: then another one
/// is made.
fn make_locked(parent: &Path, prefix: &str) -> io::Result<(TempDir, File)> {
    loop {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        let lock = match File::open(dir.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let is_swept = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
        if !is_swept && dir.path().exists() {
            return Ok((dir, lock));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(dir) = self.dir.take() else { return };
        let path = dir.path().to_owned();
        drop(dir);
        list().dirs.retain(|made| *made != path);
    }
}

/// The list of directories. Does not return once a signal has taken it: the process ends.
fn list() -> MutexGuard<'static, Made> {
    loop {
        let made = MADE.lock();
        if !made.taken {
            return made;
        }
        drop(made);
        runner::sleep(BETWEEN);
    }
}

/// Waits for signals from now on, if no actor does yet.
fn watch() -> io::Result<()> {
    static WATCHED: OnceLock<()> = OnceLock::new();
    if WATCHED.get().is_some() {
        return Ok(());
    }
    signals::watch(|signal| {
        // A command whose files are gone need not say so.
        let _silence = screen::silence();
        list().taken = true;
        let dirs = mem::take(&mut MADE.lock().dirs);
        dirs.iter().for_each(|path| remove(path));
        signals::end_by(signal);
    })?;
    let _ = WATCHED.set(());
    Ok(())
}

fn remove(path: &Path) {
    for _ in 0..TRIES {
        // A file that others remove at the same time is an error too.
        if fs::remove_dir_all(path).is_ok() || !path.exists() {
            return;
        }
        runner::sleep(BETWEEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_goes_with_its_value_and_from_the_list() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(parent.path(), "scratch-").unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("file"), "bytes").unwrap();
        assert!(list().dirs.contains(&path));
        drop(scratch);
        assert!(!path.exists() && !list().dirs.contains(&path));
        assert!(Scratch::make(&parent.path().join("missing"), "scratch-").is_err());
    }

    #[test]
    fn what_a_killed_process_has_left_is_swept_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let in_use = Scratch::make(parent.path(), "scratch-").unwrap();
        let at = |name: &str| parent.path().join(name);
        for name in ["scratch-left", "other"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("file"), "bytes").unwrap();
        }
        fs::write(at("scratch-file"), "bytes").unwrap();
        Scratch::sweep(parent.path(), "scratch-");
        assert!(in_use.path().exists() && !at("scratch-left").exists());
        assert!(at("other").exists() && at("scratch-file").exists());
    }
}
