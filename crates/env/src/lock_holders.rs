//! [`lock_holders`]: the processes that hold a lock on a file, for errors that name the process in
//! the way. Linux lists locks and their processes in `/proc/locks`, for every user.
//!
//! - The list is for people. A process may end, and another may take the lock, before it is read.
//! - Nothing is found if `/proc` is missing, if the process is in another PID namespace, or on file
//!   systems that show another device number in the list than in a file's metadata. Then the list
//!   is empty, and no error is returned.
//!
//! A command line may hold anything. It is cut to [`COMMAND_MAX`] bytes, and its invisible
//! characters are escaped.

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

use crate::Escaped;

/// The most bytes of a command line that are shown.
const COMMAND_MAX: usize = 80;

/// The most processes that a text names.
const NAMED_MAX: usize = 3;

/// A process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The number of the process.
    pub pid: u32,
    /// The command line of the process, or the beginning of it; empty if it cannot be read.
    pub command: String,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == std::process::id() {
            return f.write_str("this process");
        }
        write!(f, "process {}", self.pid)?;
        match self.command.as_str() {
            "" => Ok(()),
            command => write!(f, ", `{command}`"),
        }
    }
}

/// The processes that hold a lock on the file at a path.
#[must_use]
pub fn lock_holders(path: &Path) -> Vec<LockHolder> {
    let Ok(found) = fs::metadata(path) else { return Vec::new() };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let mut pids: Vec<u32> = locks.lines().filter_map(|line| holder(line, &found)).collect();
    pids.sort_unstable();
    pids.dedup();
    pids.into_iter().map(|pid| LockHolder { pid, command: command_of(pid) }).collect()
}

/// The holders in words, in brackets after a space; nothing if none is known.
#[must_use]
pub fn lock_holders_in_words(path: &Path) -> String {
    let holders = lock_holders(path);
    let named: Vec<_> = holders.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    match holders.len() {
        0 => String::new(),
        count if count > NAMED_MAX => format!(" ({}, and others)", named.join("; ")),
        _ => format!(" ({})", named.join("; ")),
    }
}

/// The command line of a process as people can read it; empty if there is none.
#[must_use]
pub fn command_of(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<u8> = words.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }).collect();
    let words = words.trim_ascii_end();
    let shown = &words[..words.len().min(COMMAND_MAX)];
    let dots = if shown.len() < words.len() { " ..." } else { "" };
    format!("{}{dots}", Escaped(shown))
}

/// The process of a line such as `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`, if the line is
/// about this file. A line about a waiting process, which begins with `->`, has one word more.
fn holder(line: &str, file: &Metadata) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(4);
    let (pid, place) = (words.next()?, words.next()?);
    let mut parts = place.split(':');
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let (of_major, of_minor) = (hex(parts.next()?)?, hex(parts.next()?)?);
    let inode: u64 = parts.next()?.parse().ok()?;
    let is_same =
        inode == file.ino() && (of_major, of_minor) == (major(file.dev()), minor(file.dev()));
    if is_same { pid.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_this_process_is_found_while_it_is_held() {
        let place = tempfile::NamedTempFile::new().unwrap();
        place.as_file().lock().unwrap();
        let holders = lock_holders(place.path());
        // Some file systems list another device than they show: nothing is found there.
        if let [holder] = &holders[..] {
            assert_eq!(holder.pid, std::process::id());
            assert_eq!(lock_holders_in_words(place.path()), " (this process)");
        }
        place.as_file().unlock().unwrap();
        assert_eq!(lock_holders(place.path()), []);
    }

    #[test]
    fn a_line_names_the_process_of_its_file_and_of_no_other() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let found = place.as_file().metadata().unwrap();
        let (dev, inode) = (found.dev(), found.ino());
        let at = format!("{:02x}:{:02x}:{inode}", major(dev), minor(dev));
        let line = format!("1: FLOCK  ADVISORY  WRITE 4711 {at} 0 EOF");
        assert_eq!(holder(&line, &found), Some(4711));
        let waiting = format!("1: -> FLOCK  ADVISORY  WRITE 4711 {at} 0 EOF");
        assert_eq!(holder(&waiting, &found), None);
        let other = format!("1: FLOCK  ADVISORY  WRITE 4711 ff:ff:{inode} 0 EOF");
        for line in [other.as_str(), "", "1: FLOCK ADVISORY WRITE x", "a b c d 1 2:3"] {
            assert_eq!(holder(line, &found), None, "{line}");
        }
    }

    #[test]
    fn a_holder_is_named_by_number_and_command() {
        let holder = LockHolder { pid: 1, command: "terrace load d.img".to_owned() };
        assert_eq!(holder.to_string(), "process 1, `terrace load d.img`");
        let unknown = LockHolder { pid: 1, command: String::new() };
        assert_eq!(unknown.to_string(), "process 1");
        assert!(!command_of(std::process::id()).is_empty());
    }
}
