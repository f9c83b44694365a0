//! Ingests, checkpoints and drops of key spaces of a [`Player`].

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::{Append, Db, MemoryStore, Options};

use super::super::contents::value;
use super::super::operation::{Change, KeyNumber};
use super::{Player, same, take, unless_full};

impl Player<'_> {
    /// Ingests entries into a key space: each key once, in order.
    pub(super) fn ingest(
        &mut self,
        space: u8,
        entries: &[(KeyNumber, u32, u32)],
    ) -> Result<(), String> {
        let sorted: BTreeMap<Vec<u8>, &(KeyNumber, u32, u32)> =
            entries.iter().map(|entry| (entry.0.bytes(), entry)).collect();
        let into = self.spaces[self.contents.space(space)].clone();
        let ingested = || -> Result<(), terrace::Error> {
            let mut ingest = self.db().ingest()?;
            for (key, (_, size, tag)) in &sorted {
                ingest.key_space(&into)?.put(key, &value(*size, *tag))?;
            }
            ingest.finish().map(drop)
        };
        if !unless_full(ingested(), "ingest")? {
            self.tally.refused += 1;
            return Ok(());
        }
        let put = |(key, size, tag): &(KeyNumber, u32, u32)| Change::Put {
            space,
            key: *key,
            size: *size,
            tag: *tag,
        };
        let changes: Vec<Change> = sorted.values().map(|entry| put(entry)).collect();
        self.contents.write_durably(&changes);
        Ok(())
    }

    /// Copies the store into another one, and compares all of it.
    pub(super) fn checkpoint(&self) -> Result<(), String> {
        let target = Arc::new(MemoryStore::new());
        let copied = self.db().checkpoint(target.clone()).map(drop);
        if !unless_full(copied, "checkpoint")? {
            return Ok(());
        }
        let wrong = |error: terrace::Error| format!("a checkpoint: {error}");
        let options = Options::default().merge_operator(Append::new(b""));
        let copy = Db::open(target, options).map_err(wrong)?;
        for (name, held) in self.names.iter().zip(&self.contents.now) {
            let scan = copy.key_space(name).and_then(|space| space.scan(..)).map_err(wrong)?;
            let found = take(scan, false, usize::MAX)?;
            same(&found, &held.clone().as_ref().clone().into_iter().collect(), "a checkpoint")?;
        }
        same(&copy.key_spaces().len(), &self.names.len(), "key spaces of a checkpoint")?;
        copy.close().map_err(wrong)
    }

    /// Drops a key space, unless it is the default one; another one, of another name, takes its
    /// place. Cursors of it go on, and snapshots no longer have it.
    pub(super) fn drop_space(&mut self, space: u8) -> Result<(), String> {
        let slot = self.contents.space(space);
        if slot == 0 {
            return Ok(());
        }
        self.drops += 1;
        let name = format!("space {slot}, drop {}", self.drops);
        let created = self.db().create_key_space(&name);
        let next = match created {
            Err(error) if error.is_space() => return Ok(()),
            created => created.map_err(|error| format!("create key space: {error}"))?,
        };
        let dropped = self.db().drop_key_space(&self.names[slot]);
        same(&dropped.map_err(|error| format!("drop: {error}"))?, &true, "drop")?;
        self.spaces[slot] = next;
        self.names[slot] = name;
        self.contents.drop_space(slot as u8);
        for (_, spaces) in &mut self.snapshots {
            if let Some(held) = spaces.get_mut(slot) {
                *held = Arc::default();
            }
        }
        Ok(())
    }
}
