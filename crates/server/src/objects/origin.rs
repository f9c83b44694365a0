//! The origin of the entries: the identity of the store in which their files are, kept as an entry.
//!
//! An entry names a file by its id, and ids belong to a store. A checkpoint or a backup copies the
//! entries and not the files of bodies, and the copy counts its ids anew. So an entry of a copy may
//! name a file that has nothing to do with it: a new body, a table, or the log of the engine.
//!
//! An opening therefore compares the kept identity with that of the store. If they differ and files
//! are missing, the opening fails with [`Fault::NoFiles`], unless entries without files are to be
//! forgotten. After the opening all entries are of this store, and an id in an entry is never that
//! of another file: a store uses an id once.

use terrace::{Bounds, Durability};
use terrace_env::Uuid;
use terrace_env::codec::{DecodeError, Reader};

use super::objects::Objects;
use super::record::{ObjectRecord, PartRecord};
use super::segment::Segment;
use super::sweep::Bodies;
use super::{Fault, key};

/// Version of the entry.
const VERSION: u8 = 1;
/// Entries that one transaction forgets.
const AT_ONCE: usize = 1000;

fn encode(store: Uuid) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&store.0);
    bytes
}

fn decode(bytes: &[u8]) -> Result<Uuid, DecodeError> {
    let mut reader = Reader::new(bytes);
    match reader.u8("version of the origin")? {
        VERSION => {}
        other => return Err(reader.wrong("version of the origin", 1, "1", other.into())),
    }
    let store = reader.uuid("store")?;
    reader.finish("origin")?;
    Ok(store)
}

/// The files that an entry names: the entry of an object or of a part.
pub(super) fn files_of(place: &[u8], value: &[u8]) -> Result<Vec<Segment>, Fault> {
    Ok(match place.starts_with(key::PARTS) {
        true => vec![PartRecord::decode(value)?.segment],
        false => ObjectRecord::decode(value)?.segments().to_vec(),
    })
}

impl Objects {
    /// Whether the entries are known to be of this store, or the store has no identity.
    pub(super) fn is_origin(&self) -> Result<bool, Fault> {
        let Some(store) = self.files.store().uuid() else { return Ok(true) };
        match self.space.get(key::ORIGIN)? {
            Some(value) => Ok(decode(&value)? == store),
            None => Ok(false),
        }
    }

    /// Keeps the identity of this store, durably.
    pub(super) fn set_origin(&self) -> Result<(), Fault> {
        match self.files.store().uuid() {
            Some(store) => self.change(|entries| Ok(entries.put(key::ORIGIN, &encode(store))?)),
            None => Ok(()),
        }
    }

    /// Forgets the objects and parts whose files are not all there; returns their number.
    pub(super) fn forget_without_files(&self, bodies: &Bodies) -> Result<u64, Fault> {
        let mut forgotten = 0;
        for kind in [key::OBJECTS, key::PARTS] {
            let mut places = Vec::new();
            for entry in self.space.scan(Bounds::prefix(kind))? {
                let (place, value) = entry?;
                if files_of(&place, &value)?.iter().any(|one| !bodies.have(one)) {
                    places.push(place);
                }
            }
            for some in places.chunks(AT_ONCE) {
                let transaction = self.db.transaction()?;
                let entries = transaction.key_space(&self.space)?;
                for place in some {
                    entries.delete(place)?;
                }
                transaction.commit_with(Durability::Synced)?;
            }
            forgotten += places.len() as u64;
        }
        Ok(forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_decodes_to_its_store_and_nothing_else_does() {
        let store = Uuid([7; 16]);
        let bytes = encode(store);
        assert_eq!(decode(&bytes).unwrap(), store);
        for end in 0..bytes.len() {
            decode(&bytes[..end]).unwrap_err();
        }
        decode(&[&bytes[..], &[0]].concat()).unwrap_err();
        decode(&[&[2], &bytes[1..]].concat()).unwrap_err();
    }
}
