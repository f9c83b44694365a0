//! Parses keys and key spaces from the command line: keys as text or as hexadecimal digits, key
//! spaces by name.
//!
//! A key as text is the bytes of the argument; escapes are not interpreted. [`Space::find`] fails
//! if the key space does not exist; [`Space::make`] makes it if it is missing.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use terrace::{Bounds, Db, KeySpace};

use crate::escape::Escaped;
use crate::failure::{Failure, Kind};
use crate::loader::links_of;

/// A key, as one types it.
#[derive(clap::Args)]
pub(crate) struct Key {
    /// The key
    key: OsString,
    /// The key is given as hexadecimal digits
    #[arg(long)]
    hex: bool,
}

impl Key {
    /// The key's bytes.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        parse_key(&self.key, self.hex)
    }
}

/// The bytes of a key, which may be given as hexadecimal digits.
pub(crate) fn parse_key(key: &OsStr, hex: bool) -> Result<Vec<u8>, Failure> {
    if hex { parse_hex(key.as_bytes()) } else { Ok(key.as_bytes().to_vec()) }
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn parse_hex(text: &[u8]) -> Result<Vec<u8>, Failure> {
    let digit = |letter: u8| char::from(letter).to_digit(16).map(|digit| digit as u8);
    let bytes = text.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    bytes.collect::<Option<_>>().ok_or_else(|| {
        let text = Escaped(text);
        Failure::new(Kind::Usage, format!("expected pairs of hexadecimal digits, found `{text}`"))
    })
}

/// A key space, as one types it.
#[derive(clap::Args)]
pub(crate) struct Space {
    /// The key space
    #[arg(long = "space", default_value = "default")]
    name: String,
}

impl Space {
    /// The space of this name, which must exist.
    pub(crate) fn find(&self, db: &Db) -> Result<KeySpace, Failure> {
        db.key_space(&self.name).map_err(|_| no_space(db, &self.name))
    }

    /// The name as it was typed.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The space that holds the links of the files in this one; see [`links_of`].
    pub(crate) fn links(&self) -> Result<String, Failure> {
        links_of(&self.name)
    }

    /// Refuses a name under which no tree can be imported.
    pub(crate) fn check_for_files(&self) -> Result<(), Failure> {
        self.links().map(drop)
    }

    /// The space of this name, made if it is not there.
    pub(crate) fn make(&self, db: &Db) -> Result<KeySpace, Failure> {
        Ok(db.create_key_space(&self.name)?)
    }
}

/// There is no such key space.
pub(crate) fn no_space(db: &Db, name: &str) -> Failure {
    let (shown, others) = (Escaped(name.as_bytes()), others_with_entries(db, name));
    let found = format!(
        "expected a key space named `{shown}`, found none; `put --space` makes one{others}"
    );
    Failure::new(Kind::NotFound, found)
}

/// There is no such key.
pub(crate) fn not_found(db: &Db, space: &KeySpace, key: &[u8]) -> Failure {
    let (key, found) = (Escaped(key), no_keys(db, space));
    Failure::new(Kind::NotFound, format!("there is no key `{key}`{found}"))
}

/// There is no such key in the key space of this name, in a store that another process has open.
pub(crate) fn not_found_in(space: &str, key: &[u8]) -> Failure {
    let (key, space) = (Escaped(key), Escaped(space.as_bytes()));
    Failure::new(Kind::NotFound, format!("there is no key `{key}` in the key space `{space}`"))
}

/// The key space in which nothing was found, and others with entries, in words after a message.
pub(crate) fn no_keys(db: &Db, space: &KeySpace) -> String {
    let (name, others) = (space.name(), others_with_entries(db, space.name()));
    format!(" in the key space `{}`{others}", Escaped(name.as_bytes()))
}

/// Key spaces other than this one that hold entries, in words after a message: the first few.
fn others_with_entries(db: &Db, name: &str) -> String {
    // Looking into a key space may read a block of each of its runs.
    const LOOKED_INTO: usize = 100;
    const NAMED: usize = 4;
    let others: Vec<String> = db.key_spaces().into_iter().filter(|other| other != name).collect();
    // One that cannot be read holds something.
    let holds = |other: &&String| {
        let scan = db.key_space(other).and_then(|space| space.scan(Bounds::all()));
        scan.map_or(true, |mut scan| scan.next().is_some())
    };
    let mut found: Vec<&String> =
        others.iter().take(LOOKED_INTO).filter(holds).take(NAMED + 1).collect();
    let more = found.len() > NAMED || others.len() > LOOKED_INTO;
    found.truncate(NAMED);
    let names = found.iter().map(|name| format!("`{}`", Escaped(name.as_bytes())));
    let names = names.collect::<Vec<_>>().join(", ");
    match (found.len(), more) {
        (0, false) => "; no other key space holds entries".to_owned(),
        (0, true) => format!("; there are {} other key spaces", others.len()),
        (1, false) => format!("; the key space {names} holds entries"),
        (_, false) => format!("; the key spaces {names} hold entries"),
        (_, true) => format!("; the key spaces {names} and others hold entries"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_keys_are_whole_bytes() {
        assert_eq!(parse_hex(b"00fF7a").unwrap(), [0, 255, 0x7a]);
        assert!(parse_hex(b"").unwrap().is_empty());
        for wrong in [&b"0"[..], b"0g", b"\xff\xff"] {
            assert!(parse_hex(wrong).unwrap_err().message.contains("hexadecimal"));
        }
    }
}
