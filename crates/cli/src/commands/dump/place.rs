//! Words and JSON for the parts of a dump: frames, block addresses, extents, annotations of files,
//! and the engine's part of these. Words are for people, JSON is for programs.
//!
//! The block numbers of addresses and extents count from the start of a device. The offset of a
//! frame and its payload are in bytes, its length is in blocks.

use serde_json::{Map, Value, json};
use terrace_env::ByteCount;
use terrace_env::store::{Annotation, FileKind};
use terrace_fs::catalog::Extent;
use terrace_fs::inspect::FrameSeen;
use terrace_fs::{AddressSpace, BlockAddr};
use terrace_lsm::KeySpaceEntry;
use terrace_lsm::inspect::{Role, SegmentRole};

use super::printer::{insert_key, key_text};
use crate::commands::options::{Remembered, own_options};
use crate::escape::{self, Escaped, Visible};
use crate::output::counted;

/// A kind in words.
pub(crate) fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Table => "table",
        FileKind::Log => "log",
        FileKind::Client => "client",
    }
}

/// The place of a frame, and its fields.
pub(crate) fn frame_text(frame: &FrameSeen) -> String {
    let FrameSeen { region, offset, blocks, sequence, synced, epoch, payload, .. } = frame;
    let goes_on = if frame.continues { ", goes on in the next" } else { "" };
    format!(
        "frame {sequence} in {region} at offset {offset}: {}, {payload} bytes, epoch {epoch}, \
         synced {synced}{goes_on}",
        counted(u64::from(*blocks), "block", "blocks")
    )
}

/// A frame as an object.
pub(crate) fn frame_object(frame: &FrameSeen) -> Value {
    json!({
        "region": frame.region,
        "offset": frame.offset,
        "blocks": frame.blocks,
        "sequence": frame.sequence,
        "synced": frame.synced,
        "epoch": frame.epoch,
        "type": frame.kind,
        "payload": frame.payload,
        "continues": frame.continues,
    })
}

/// The zone of an address, in words: nothing if its device has no zones.
fn zone_text(at: BlockAddr, space: &AddressSpace) -> String {
    space.zone(at).map_or(String::new(), |(_, zone)| format!(" (zone {zone})"))
}

/// An address in words.
pub(crate) fn addr_text(at: BlockAddr, space: &AddressSpace) -> String {
    format!("{at}{}", zone_text(at, space))
}

/// A block address as an object, with `besides` added.
pub(crate) fn addr_object(at: BlockAddr, space: &AddressSpace, besides: Value) -> Value {
    let zone = space.zone(at).map(|(_, zone)| zone);
    let mut object = json!({ "device": at.device(), "block": at.block(), "zone": zone });
    if let (Some(object), Value::Object(besides)) = (object.as_object_mut(), besides) {
        object.extend(besides);
    }
    object
}

/// Extents in words.
pub(crate) fn extents_text(extents: &[Extent], space: &AddressSpace) -> String {
    let one = |extent: &Extent| {
        let (device, zone) = (extent.device(), zone_text(extent.first, space));
        format!("device {device} blocks {}..{}{zone}", extent.start(), extent.end())
    };
    match extents {
        [] => "no extents".into(),
        many => many.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

/// Extents as objects.
pub(crate) fn extents_object(extents: &[Extent], space: &AddressSpace) -> Value {
    let one = |extent: &Extent| {
        let besides = json!({ "blocks": extent.blocks, "crc32c": extent.crc });
        addr_object(extent.first, space, besides)
    };
    extents.iter().map(one).collect()
}

/// An annotation in words.
pub(crate) fn annotation_text(annotation: &Annotation) -> String {
    let hint = &annotation.hint;
    let level = hint.level.map_or("no level".to_owned(), |level| format!("level {level}"));
    let (stream, opaque) = (hint.stream, annotation.opaque.len());
    format!("{level}, stream {stream}, {opaque} bytes opaque")
}

/// An annotation as an object.
pub(crate) fn annotation_object(annotation: &Annotation) -> Value {
    let hint = &annotation.hint;
    json!({
        "level": hint.level,
        "stream": hint.stream,
        "opaque_hex": escape::hex(&annotation.opaque),
    })
}

/// A segment in words.
pub(crate) fn segment_text(segment: &SegmentRole) -> String {
    let SegmentRole { level, run, size, start, end } = segment;
    let (start, end) = (key_text(start), key_text(end));
    format!("level {level} run {run}: {start} up to, without, {end}, about {size}")
}

fn segment_object(segment: &SegmentRole) -> Value {
    let mut object = Map::new();
    object.insert("level".into(), segment.level.into());
    object.insert("run".into(), segment.run.into());
    object.insert("size".into(), segment.size.0.into());
    insert_key(&mut object, "start", &segment.start);
    insert_key(&mut object, "end", &segment.end);
    object.into()
}

/// The engine's annotation of a file, in lines.
pub(crate) fn role_text(role: &Role) -> Vec<String> {
    match role {
        Role::Table { segments, global_sequence, set, histogram_keys, .. } => {
            let global_sequence = global_sequence
                .map(|global_sequence| format!("every entry has sequence {global_sequence}"));
            let set = set.map(|set| {
                let (id, tables, size) = (set.id, set.tables, set.size);
                format!("written in set {id}, of {tables} tables with {size}")
            });
            let histogram =
                (*histogram_keys > 0).then(|| format!("histogram of {histogram_keys} keys"));
            let rest = global_sequence.into_iter().chain(set).chain(histogram);
            segments.iter().map(segment_text).chain(rest).collect()
        }
        Role::Log { first_sequence } => vec![format!("nothing older than {first_sequence}")],
        Role::KeySpaces { spaces } => vec![format!("key spaces: {}", spaces_text(spaces))],
        Role::Store { next_space, spaces, pages, tables, decider, state, backup_of } => {
            let spaces = spaces_text(spaces);
            let pages = match pages {
                0 => String::new(),
                pages => format!(", and those of {}", counted(u64::from(*pages), "page", "pages")),
            };
            let state = ByteCount(state.len() as u64);
            let backup = backup_of.map(|uuid| format!("a backup of the store {uuid}"));
            let lines = [
                format!("key spaces: {spaces}{pages}; the next gets id {next_space}"),
                format!("decider: {}, with {state} of state", Visible(decider)),
                format!("new tables: {}", Remembered::of(tables).line()),
            ];
            lines.into_iter().chain(backup).collect()
        }
        other => vec![format!("{other:?}")],
    }
}

fn spaces_text(spaces: &[KeySpaceEntry]) -> String {
    let text = |KeySpaceEntry { id, name, options }: &KeySpaceEntry| {
        let own =
            if options.is_none() { String::new() } else { format!(" ({})", own_options(options)) };
        format!("{id} \"{}\"{own}", Escaped(name.as_bytes()))
    };
    spaces.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn spaces_value(spaces: &[KeySpaceEntry]) -> Value {
    let value = |KeySpaceEntry { id, name, options }: &KeySpaceEntry| {
        let mut value = json!({ "id": id.0, "name": &**name });
        if !options.is_none() {
            value["options"] = json!(options);
        }
        value
    };
    spaces.iter().map(value).collect()
}

/// The engine's annotation of a file as an object.
pub(crate) fn role_object(role: &Role) -> Value {
    match role {
        Role::Table {
            tag,
            entries,
            tombstones,
            first_sequence,
            last_sequence,
            global_sequence,
            set,
            histogram_keys,
            segments,
        } => {
            let set =
                set.map(|set| json!({ "id": set.id.0, "tables": set.tables, "size": set.size.0 }));
            json!({
                "tag": tag,
                "entries": entries,
                "tombstones": tombstones,
                "first_sequence": first_sequence,
                "last_sequence": last_sequence,
                "global_sequence": global_sequence,
                "set": set,
                "histogram_keys": histogram_keys,
                "segments": segments.iter().map(segment_object).collect::<Value>(),
            })
        }
        Role::Log { first_sequence } => json!({ "first_sequence": first_sequence }),
        Role::KeySpaces { spaces } => json!({ "key_spaces": spaces_value(spaces) }),
        Role::Store { next_space, spaces, pages, tables, decider, state, backup_of } => {
            json!({
                "next_space": next_space,
                "key_spaces": spaces_value(spaces),
                "key_space_pages": pages,
                "tables": Remembered::of(tables),
                "decider": decider,
                "decider_state_hex": escape::hex(state),
                "backup_of": backup_of.map(|uuid| uuid.to_string()),
            })
        }
        other => Value::from(format!("{other:?}")),
    }
}
