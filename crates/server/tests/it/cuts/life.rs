//! [`Life`]: a client that makes one change after the other, drawn at random: puts as entries and
//! as files, copies, deletes; uploads, their parts, completions and aborts.
//!
//! A change is drawn first ([`Life::next`]), so that the states before and after it are known
//! while it is in flight, and then carried out ([`Life::carry_out`]).

use terrace_env::random::{Random, Rng};
use terrace_server::objects::{Chosen, ChosenPart, Condition, Fault, Objects, UploadId};

use super::world::{self, BUCKET, Bytes, World};
use crate::rig::all;

const KEYS: usize = 5;
/// Least bytes of a part other than the last one.
const PART: usize = 5 << 20;

/// The state of all objects, and the one that the change in flight makes.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) before: World,
    pub(super) after: Option<World>,
}

#[derive(Clone, Debug)]
enum Change {
    Put(String, Bytes),
    Copy(String, String),
    Delete(String),
    DeleteAll(Vec<String>),
    Begin(String),
    Part(String, u16, Bytes),
    Complete(String),
    Abort(String),
}

/// See the [module](self).
pub(super) struct Life<'a> {
    objects: &'a Objects,
    pub(super) world: World,
    next: Option<(Change, World)>,
}

impl<'a> Life<'a> {
    pub(super) fn new(objects: &'a Objects, world: World) -> Self {
        Self { objects, world, next: None }
    }

    fn draw(&self, random: &mut Random) -> Change {
        let key = format!("key{}", random.random_range(0..KEYS));
        let uploads: Vec<&String> = self.world.uploads.keys().collect();
        let bytes = |random: &mut Random, most: usize| {
            (u64::from(random.random::<u32>()), random.random_range(1..most))
        };
        match random.random_range(0..12) {
            0..3 => Change::Put(key, bytes(random, 60_000)),
            3..6 => Change::Put(key, bytes(random, 900_000)),
            6 => match self.world.objects.keys().next() {
                Some(from) => Change::Copy(from.clone(), key),
                None => Change::Put(key, bytes(random, 900_000)),
            },
            7 if random.random_bool(0.5) => Change::Delete(key),
            7 => Change::DeleteAll(self.world.objects.keys().take(3).cloned().collect()),
            _ if uploads.is_empty() => Change::Begin(key),
            number => {
                let key = uploads[random.random_range(0..uploads.len())].clone();
                let parts = &self.world.uploads[&key];
                match number {
                    8..10 if !parts.contains_key(&1) => {
                        let (seed, size) = bytes(random, 100_000);
                        Change::Part(key, 1, (seed, PART + size))
                    }
                    8..10 => Change::Part(key, 2, bytes(random, 300_000)),
                    10 if !parts.is_empty() => Change::Complete(key),
                    _ if random.random_bool(0.3) => Change::Abort(key),
                    _ => Change::Part(key, 9, bytes(random, 300_000)),
                }
            }
        }
    }

    /// Draws the next change; returns the states before and after it.
    pub(super) fn next(&mut self, random: &mut Random) -> Known {
        let change = self.draw(random);
        let mut after = self.world.clone();
        match &change {
            Change::Put(key, bytes) => {
                after.objects.insert(key.clone(), vec![*bytes]);
            }
            Change::Copy(from, to) => {
                after.objects.insert(to.clone(), after.objects[from].clone());
            }
            Change::Delete(key) => {
                after.objects.remove(key);
            }
            Change::DeleteAll(keys) => keys.iter().for_each(|key| {
                after.objects.remove(key);
            }),
            Change::Begin(key) => {
                after.uploads.entry(key.clone()).or_default();
            }
            Change::Part(key, number, bytes) => {
                after.uploads.get_mut(key).expect("an upload").insert(*number, *bytes);
            }
            Change::Complete(key) => {
                let parts = after.uploads.remove(key).expect("an upload");
                after.objects.insert(key.clone(), chosen(parts.into_iter()));
            }
            Change::Abort(key) => {
                after.uploads.remove(key);
            }
        }
        self.next = Some((change, after.clone()));
        Known { before: self.world.clone(), after: Some(after) }
    }

    /// Carries the drawn change out.
    pub(super) fn carry_out(&mut self, random: &mut Random) -> Result<(), Fault> {
        let (change, after) = self.next.take().expect("a change that was drawn");
        let objects = self.objects;
        match &change {
            Change::Put(key, bytes) => world::put(objects, key, *bytes)?,
            Change::Copy(from, to) => world::copy(objects, from, to)?,
            Change::Delete(key) => {
                objects.delete(BUCKET, key, &Condition::Always)?;
            }
            Change::DeleteAll(keys) => {
                let wanted = keys.iter().map(|key| (key.clone(), Condition::Always));
                for done in objects.delete_all(BUCKET, &wanted.collect::<Vec<_>>()) {
                    done?;
                }
            }
            Change::Begin(key) => {
                objects.begin_upload(BUCKET, key, Default::default())?;
            }
            Change::Part(key, number, bytes) => {
                let mut body = objects.begin_body(BUCKET, Some(bytes.1 as u64))?;
                let all = crate::rig::bytes(bytes.0, bytes.1);
                let (first, rest) = all.split_at(random.random_range(0..all.len()));
                body.append(first)?;
                body.append(rest)?;
                objects.put_part((BUCKET, key), (self.upload(key)?, *number), body, None)?;
            }
            Change::Complete(key) => {
                let id = self.upload(key)?;
                let (parts, _) = objects.parts(id, 0, usize::MAX)?;
                let parts = parts.into_iter().map(|(number, part)| (number, part.etag()));
                let named: Vec<ChosenPart> = chosen_of(parts)
                    .into_iter()
                    .map(|(number, etag)| ChosenPart { number, etag, checksum: None })
                    .collect();
                let chosen = Chosen { parts: named, size: None, whole: None };
                objects.complete((BUCKET, key), id, &chosen, &Condition::Always)?;
            }
            Change::Abort(key) => objects.abort(BUCKET, key, self.upload(key)?)?,
        }
        self.world = after;
        Ok(())
    }

    fn upload(&self, key: &str) -> Result<UploadId, Fault> {
        let listing = self.objects.list_uploads(BUCKET, &all(), None)?;
        let found = listing.uploads.into_iter().find(|(of, _, _)| of == key);
        Ok(found.unwrap_or_else(|| panic!("{key}: expected its upload")).1)
    }
}

/// Parts that a completion names: 1 and 2 if 1 is there, or else the last one. The others are
/// removed with their files.
fn chosen_of<T>(parts: impl Iterator<Item = (u16, T)>) -> Vec<(u16, T)> {
    let mut parts: Vec<(u16, T)> = parts.collect();
    match parts.first() {
        Some((1, _)) => parts.retain(|(number, _)| *number < 3),
        _ => drop(parts.drain(..parts.len() - 1)),
    }
    parts
}

fn chosen(parts: impl Iterator<Item = (u16, Bytes)>) -> Vec<Bytes> {
    chosen_of(parts).into_iter().map(|(_, bytes)| bytes).collect()
}
