package terrace.cassandra;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.DeletionInfo;
import org.apache.cassandra.db.DeletionPurger;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.MutableDeletionInfo;
import org.apache.cassandra.db.RangeTombstone;
import org.apache.cassandra.db.Slice;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.Rows;
import org.apache.cassandra.schema.TableMetadata;

/**
 * Joins one update of a partition with the data in the store, as one batch.
 *
 * <p>Each row of the update is read, merged by Cassandra's own classes and written back. Other
 * rows are touched only where the update deletes them. The caller holds the partition's lock.
 *
 * <p>Afterwards no row in the store has anything that a deletion of its partition hides. So the
 * engine may forget a deletion after its grace, and no hidden row comes to light.
 */
final class Merge {
    private final Store store;
    private final TableMetadata table;
    private final Codec codec;
    private final ColumnFilter all;
    private final byte[] partition;
    private final boolean mayPurge;
    private final long now;

    /** Rows to be written, by key; null for a row that goes. */
    private final Map<byte[], Row> rows = new TreeMap<>(java.util.Arrays::compareUnsigned);
    private MutableDeletionInfo deletions;

    /**
     * {@code mayPurge}: whether all of the table is in the store. {@code now} is in seconds since
     * 1970.
     */
    Merge(Store store, Keys keys, TableMetadata table, DecoratedKey key, boolean mayPurge,
          long now) {
        this.store = store;
        this.table = table;
        this.codec = new Codec(table, store.path);
        this.all = ColumnFilter.all(table);
        this.partition = keys.partition(key);
        this.mayPurge = mayPurge;
        this.now = now;
    }

    /** Applies the update; it is durable when this returns. */
    void apply(PartitionUpdate update) {
        deletions = codec.deletions(store.get(Keys.deletions(partition)));
        DeletionInfo added = update.deletionInfo();
        if (!added.isLive()) {
            deletions.add(added.mutableCopy());
        }
        if (!update.staticRow().isEmpty()) {
            join(Keys.staticRow(partition), update.staticRow());
        }
        for (Row row : update) {
            join(Keys.row(partition, table.comparator, row.clustering()), row);
        }
        try (Batch batch = store.batch()) {
            if (!added.isLive()) {
                hide(added, batch);
                prune();
                batch.put(Keys.deletions(partition), codec.encode(deletions), expiry(deletions));
            }
            rows.forEach((key, row) -> {
                if (row == null) {
                    batch.delete(key);
                } else {
                    batch.put(key, codec.encode(row), expiry(row));
                }
            });
            batch.commit();
        }
    }

    private void join(byte[] key, Row update) {
        byte[] value = store.get(key);
        Row existing = value == null ? null : codec.row(value, update.isStatic());
        Row merged = existing == null ? update : Rows.merge(existing, update);
        merged = visible(merged);
        if (merged != null && existing != null && mayPurge) {
            long before = now - table.params.gcGraceSeconds;
            DeletionPurger purger = (timestamp, deleted) -> deleted < before;
            merged = merged.purge(purger, now, table.enforceStrictLiveness());
        }
        if (merged != null || existing != null || value != null) {
            rows.put(key, merged);
        }
    }

    /** The part of a row that no deletion of the partition hides; null for nothing. */
    private Row visible(Row row) {
        DeletionTime hiding = deletions.getPartitionDeletion();
        if (!row.isStatic() && deletions.hasRanges()) {
            RangeTombstone range = deletions.rangeCovering(row.clustering());
            if (range != null && range.deletionTime().supersedes(hiding)) {
                hiding = range.deletionTime();
            }
        }
        return row.filter(all, hiding, false, table);
    }

    /** Removes what an added deletion hides of rows that the update does not have. */
    private void hide(DeletionInfo added, Batch batch) {
        try (Cursor cursor = store.cursor(
            Keys.staticRow(partition), Keys.afterRows(partition))) {
            if (!added.getPartitionDeletion().isLive()) {
                if (!hide(cursor, Keys.staticRow(partition), Keys.afterRows(partition))) {
                    // One record in place of one for each row. It goes before the others.
                    batch.deleteRange(Keys.staticRow(partition), Keys.afterRows(partition));
                    rows.values().removeIf(row -> row == null);
                }
                return;
            }
            Iterator<RangeTombstone> ranges = added.rangeIterator(false);
            while (ranges.hasNext()) {
                Slice slice = ranges.next().deletedSlice();
                hide(cursor,
                    Keys.row(partition, table.comparator, slice.start()),
                    Keys.row(partition, table.comparator, slice.end()));
            }
        }
    }

    /** Whether a row in the range stays, apart from rows of the update. */
    private boolean hide(Cursor cursor, byte[] start, byte[] end) {
        boolean stays = false;
        for (boolean on = cursor.seek(start); on; on = cursor.next()) {
            byte[] key = cursor.key();
            if (java.util.Arrays.compareUnsigned(key, end) >= 0) {
                break;
            }
            if (rows.containsKey(key)) {
                continue;
            }
            boolean isStatic = Keys.section(key, partition) == Keys.STATIC;
            Row row = codec.row(cursor.value(), isStatic);
            Row left = row == null ? null : visible(row);
            if (left == null || left != row) {
                rows.put(key, left);
            }
            stays |= left != null;
        }
        return stays;
    }

    /** Forgets range tombstones that are hidden by the partition's deletion, or past their grace. */
    private void prune() {
        if (!deletions.hasRanges()) {
            return;
        }
        DeletionTime whole = deletions.getPartitionDeletion();
        long before = now - table.params.gcGraceSeconds;
        List<RangeTombstone> kept = new ArrayList<>();
        deletions.rangeIterator(false).forEachRemaining(range -> {
            DeletionTime time = range.deletionTime();
            boolean isOver = mayPurge && time.localDeletionTime() < before;
            if (time.supersedes(whole) && !isOver) {
                kept.add(range);
            }
        });
        if (kept.size() < deletions.rangeCount()) {
            deletions = new MutableDeletionInfo(whole);
            kept.forEach(range -> deletions.add(range, table.comparator));
        }
    }

    private long expiry(Row row) {
        return mayPurge ? Expiry.of(row, table.params.gcGraceSeconds) : Batch.NEVER;
    }

    private long expiry(DeletionInfo info) {
        return mayPurge ? Expiry.of(info, table.params.gcGraceSeconds) : Batch.NEVER;
    }
}
