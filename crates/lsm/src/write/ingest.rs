//! Ingest: sorted puts become tables directly, without log and memtable. All of the tables are
//! added to the tree at once.
//!
//! 1. The client gives keys in order, and they go into tables, one table after the other. They are
//!    not visible yet, and an ingest that is dropped leaves no trace. No space is reserved: any put
//!    may fail for lack of it. After an error of the store the ingest is lost.
//! 2. To finish, the ingest takes the lead of the writes; other writers wait meanwhile. If
//!    memtables may hold a key of its range, or have any range tombstone, all memtables are
//!    flushed, because memory is searched before the tree. Most of that is done before the lead is
//!    taken. Then the log is synced, or its memtable is flushed if the log has no space. So no
//!    power cut takes back older writes that went to the log.
//! 3. All tables get the next sequence number as their *global sequence number*
//!    ([`crate::table::GlobalSequenceCursor`]). They are newer than all earlier writes, and earlier
//!    snapshots do not see them. One transaction seals them and adds them to the tree. Readers see
//!    the sequence and the tables from the same moment on.
//!
//! The decider says to which level each table goes. If one of them cannot go there now, for example
//! because a compaction in flight may change the same keys, all go on top of level 0. An answer
//! that the tree does not allow is an error.
//!
//! Threads: an ingest belongs to one thread at a time. Several ingests can run at the same time.

use std::sync::Arc;

use terrace_env::store::{CreateOptions, FileKind, Rank};
use terrace_env::{ByteCount, Cause, Date, SeqNo};
use terrace_policy::{Place, RunId, Span};

use super::log::ActiveLog;
use super::writer::Writer;
use crate::Error;
use crate::canary::{self, Rule};
use crate::cost;
use crate::expiry;
use crate::key::{self, KeySpaceId, Kind, SPACE_BYTES, Trailer, check_sizes};
use crate::memory::JobShare;
use crate::memtable::MemoryCursor;
use crate::table::{BuiltTable, SpaceLayouts, TableBuilder, TableLayout};
use crate::tree::{Edit, NewTable};
use crate::tree::{INGEST_STREAM, TableRecord, table_hint};

/// Bytes after which processor time is charged.
const CHARGE_BYTES: usize = 64 << 10;

/// Sorted input on its way into the tree. If it is dropped before it is finished, it leaves no
/// trace.
pub struct Ingest {
    writer: Arc<Writer>,
    /// The tables that are being built take memory of jobs.
    _share: JobShare,
    builder: Option<TableBuilder>,
    built: Vec<BuiltTable>,
    /// The last full key.
    last: Vec<u8>,
    /// The key spaces of all keys, in order.
    spaces: Vec<KeySpaceId>,
    key: Vec<u8>,
    entries: u64,
    bytes: u64,
    uncharged: (u32, usize),
    /// Error of the store that ended the ingest.
    lost: Option<Error>,
}

/// Counts of an ingest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Entries.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub bytes: ByteCount,
    /// Tables.
    pub tables: u64,
    /// Bytes of the tables.
    pub table_bytes: ByteCount,
}

impl Ingest {
    pub(crate) fn new(writer: &Arc<Writer>) -> Result<Self, Error> {
        writer.tree.check_open()?;
        if writer.read_only {
            return Err(Error::ReadOnly("an ingest"));
        }
        writer.lifecycle.check_writable()?;
        Ok(Self {
            writer: Arc::clone(writer),
            _share: writer.memory.job(),
            builder: None,
            built: Vec::new(),
            last: Vec::new(),
            spaces: Vec::new(),
            key: Vec::new(),
            entries: 0,
            bytes: 0,
            uncharged: (0, 0),
            lost: None,
        })
    }

    /// Adds a key, which must come after all others: in a later key space, or after them in the
    /// same one. An error leaves out only this key, unless it is an error of the store: then the
    /// ingest is lost, and every further call fails with this error.
    pub fn put(&mut self, space: KeySpaceId, user_key: &[u8], value: &[u8]) -> Result<(), Error> {
        let closed = self.writer.tree.glance().closed.clone();
        closed.check()?;
        self.put_open(space, user_key, value).map_err(|error| closed.explain(error))
    }

    fn put_open(&mut self, space: KeySpaceId, user_key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.check_not_lost()?;
        check_sizes(user_key, value)?;
        let ttl = {
            let view = self.writer.tree.glance();
            // Every time: a key space may be dropped meanwhile, and then later puts are useless.
            view.spaces.check_write(space)?;
            view.spaces.options().of(space).ttl_of_puts()
        };
        self.key.clear();
        key::put_full_key(&mut self.key, space, user_key);
        if self.entries > 0 && self.key <= self.last {
            let text = |full_key: &[u8]| {
                full_key.get(SPACE_BYTES..).unwrap_or_default().escape_ascii().to_string()
            };
            return Err(Error::OutOfOrder { last: text(&self.last), got: text(&self.key) });
        }
        self.last.clone_from(&self.key);
        if self.spaces.last() != Some(&space) {
            self.spaces.push(space);
        }
        let kind = if ttl.is_some() { Kind::PutWithExpiry } else { Kind::Put };
        self.key.extend_from_slice(&Trailer::new(SeqNo(0), kind).to_bytes());
        let stored = ttl.map(|ttl| [&expiry::encode(Date::from_now(ttl))[..], value].concat());
        let written = self.write(stored.as_deref().unwrap_or(value));
        written.inspect_err(|error| self.lost = Some(error.clone()))?;
        self.entries += 1;
        self.bytes += (user_key.len() + value.len()) as u64;
        self.charge(user_key.len() + value.len());
        Ok(())
    }

    /// Writes an entry of the last checked key.
    fn write(&mut self, value: &[u8]) -> Result<(), Error> {
        let builder = match &mut self.builder {
            Some(builder) => builder,
            None => self.builder.insert(begin_table(&self.writer)?),
        };
        builder.add(&self.key, value)?;
        if builder_is_full(&self.builder, self.writer.room.options.table_size) {
            self.end_table()?;
        }
        Ok(())
    }

    fn check_not_lost(&self) -> Result<(), Error> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    /// Number of keys so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Makes all entries visible at once: durable, and newer than all earlier writes. After an
    /// error, none is visible.
    pub fn finish(self) -> Result<Ingested, Error> {
        let closed = self.writer.tree.glance().closed.clone();
        closed.check()?;
        self.finish_open().map_err(|error| closed.explain(error))
    }

    fn finish_open(mut self) -> Result<Ingested, Error> {
        self.check_not_lost()?;
        self.end_table()?;
        let built = std::mem::take(&mut self.built);
        let sum = built.iter().map(|table| table.size.0).sum();
        let ingested = Ingested {
            entries: self.entries,
            bytes: ByteCount(self.bytes),
            tables: built.len() as u64,
            table_bytes: ByteCount(sum),
        };
        if !built.is_empty() {
            self.put_in(built, &self.spaces)?;
            self.writer.counters.entries_written.add(self.entries);
            self.writer.counters.user_bytes.add(self.bytes);
        }
        Ok(ingested)
    }

    fn end_table(&mut self) -> Result<(), Error> {
        if let Some(builder) = self.builder.take() {
            // There may be very many tables until the commit.
            let built = BuiltTable { tail: None, ..builder.finish()? };
            self.built.push(built);
        }
        Ok(())
    }

    fn charge(&mut self, bytes: usize) {
        let (entries, sum) = &mut self.uncharged;
        (*entries, *sum) = (*entries + 1, *sum + bytes);
        if *sum >= CHARGE_BYTES {
            cost::charge_merge(*entries, *sum);
            self.uncharged = (0, 0);
        }
    }
}

fn begin_table(
    Writer { room, tree, committer, memory, .. }: &Writer,
) -> Result<TableBuilder, Error> {
    let (last, size) = (tree.view().version.last_level(), room.options.table_size.0);
    let writer = room.store.create(&CreateOptions {
        kind: FileKind::Table,
        hint: table_hint(last, INGEST_STREAM),
        // A table may become larger than its cut by its last entry and the rest of a block.
        size: Some(ByteCount(size.saturating_add(size / 32))),
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Flush,
    })?;
    let options = committer.options_now();
    let layout = TableLayout::of(&options, last, last);
    let layout = layout.with_histogram(room.decider.histogram_max(), ByteCount(size));
    let builder = TableBuilder::new(writer, layout, &memory.jobs);
    Ok(builder.with_spaces(SpaceLayouts::new(&options, last, last)))
}

fn builder_is_full(builder: &Option<TableBuilder>, size: ByteCount) -> bool {
    builder.as_ref().is_some_and(|builder| builder.estimated_size() >= size)
}

impl Ingest {
    /// Adds the tables of an ingest to the tree, in the lead of the writes.
    fn put_in(&self, built: Vec<BuiltTable>, spaces: &[KeySpaceId]) -> Result<(), Error> {
        let hull = hull(&built);
        debug_assert!(
            built.windows(2).all(|pair| pair[0].properties.largest < pair[1].properties.smallest),
            "the tables of an ingest do not overlap"
        );
        // Most memtables are flushed before other writers have to wait.
        if self.memory_overlaps(&hull) {
            self.writer.rotate_memtable()?;
            self.writer.room.wait_for_flushes()?;
        }
        self.writer.lane.leading(|log| {
            // If a key space is dropped after this, that hides its new entries.
            let existing = self.writer.tree.view().spaces.clone();
            spaces.iter().try_for_each(|space| existing.check_write(*space))?;
            self.put_in_behind(log, built, &hull)
        })
    }

    fn put_in_behind(
        &self,
        log: &mut ActiveLog,
        built: Vec<BuiltTable>,
        hull: &Span,
    ) -> Result<(), Error> {
        self.writer.lifecycle.check_writable()?;
        if self.memory_overlaps(hull) {
            self.writer
                .room
                .rotate_if_filled(log)
                .inspect_err(|error| self.writer.room.note(error.clone()))?;
            self.writer.room.wait_for_flushes()?;
        }
        self.writer
            .room
            .make_durable(log)
            .inspect_err(|error| self.writer.room.note(error.clone()))?;
        self.commit_ingested(log, built)
    }

    fn commit_ingested(&self, log: &mut ActiveLog, built: Vec<BuiltTable>) -> Result<(), Error> {
        let global_sequence = log.next;
        debug_assert!(self.writer.tree.visible() < global_sequence, "newer than all writes");
        // Even if the commit fails, the sequence is not used again.
        log.next = global_sequence.next();
        // The age of a run of level 0 is the sequence after its last one.
        let on_top = Place { level: 0, run: RunId(global_sequence.0 + 1) };
        let spans: Vec<Span> = built.iter().map(span_of).collect();
        let (places, admitted) = self.writer.intake.ingest_places(&spans, on_top)?;
        if self.writer.empty_ranges.is_watching() {
            for span in &spans {
                self.writer.empty_ranges.note_ingest(global_sequence, &span.start, &span.end);
            }
        }
        let late = canary::is_broken(Rule::IngestVisibleWithItsTables);
        let mut edit = Edit::of_ingest((!late).then_some(global_sequence));
        let mut written = Vec::new();
        for (table, place) in built.iter().zip(places) {
            let mut record = TableRecord::new(table.tag, &table.properties);
            (record.first_sequence, record.last_sequence) = (global_sequence, global_sequence);
            record.global_sequence = Some(global_sequence);
            record.histogram = table.histogram.clone();
            record.expiries = table.expiries.clone();
            written.push((place, table.size));
            let (id, size, stream) = (table.writer.id(), table.size, INGEST_STREAM);
            let tail = table.tail.clone();
            edit.put(NewTable { id, size, stream, place, record, tail });
        }
        let committer = &self.writer.committer;
        let committed = committer.commit(edit, None, None, || {});
        let committed = committed.inspect_err(|error| committer.stop_unless_space(error))?;
        self.writer.room.notifier.tree_has_changed(committed, None);
        drop(admitted);
        if late {
            self.writer.tree.make_visible(global_sequence);
        }
        drop(built);
        for (place, size) in written {
            self.writer.counters.levels[usize::from(place.level)].bytes_written.add(size.0);
        }
        Ok(())
    }

    /// Whether a memtable may have a key of the range.
    fn memory_overlaps(&self, span: &Span) -> bool {
        let view = self.writer.tree.view();
        let start = key::internal_key(&span.start, Trailer::NEWEST);
        view.memtables().any(|table| {
            let ignores_ranges = canary::is_broken(Rule::IngestFlushesRangeDeletes);
            if !table.ranges().is_empty() && !ignores_ranges {
                return true;
            }
            let mut cursor = MemoryCursor::new(Arc::clone(table));
            cursor.seek(&start);
            cursor.key().is_some_and(|found| key::split(found).0 < &span.end[..])
        })
    }
}

fn span_of(table: &BuiltTable) -> Span {
    let properties = &table.properties;
    Span::new(&properties.smallest[..], key::successor(&properties.largest))
}

fn hull(built: &[BuiltTable]) -> Span {
    let spans = built.iter().map(span_of);
    spans.reduce(|hull, span| hull.hull(&span)).expect("an ingest of at least one table")
}

impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ingest({} entries)", self.entries)
    }
}
