package terrace.cassandra;

import com.google.common.collect.AbstractIterator;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.DeletionInfo;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.MutableDeletionInfo;
import org.apache.cassandra.db.Slice;
import org.apache.cassandra.db.Slices;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.rows.AbstractUnfilteredRowIterator;
import org.apache.cassandra.db.rows.EncodingStats;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.RowAndDeletionMergeIterator;
import org.apache.cassandra.db.rows.Rows;
import org.apache.cassandra.db.rows.Unfiltered;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.schema.TableMetadata;

/**
 * The rows of a partition, read one by one from a cursor: a partition of any size takes the memory
 * of one row. Everything comes from one moment, that of the call.
 */
final class PartitionRows extends AbstractUnfilteredRowIterator {
    private final Cursor cursor;
    private final byte[] partition;
    private final Codec codec;
    private final DeletionInfo deletions;
    private final ColumnFilter filter;
    private final Slices slices;
    private int sliceIndex;
    private Iterator<Unfiltered> slice;

    private PartitionRows(TableMetadata table, DecoratedKey key, DeletionInfo deletions,
                          Row staticRow, Slices slices, ColumnFilter filter, boolean reversed,
                          Cursor cursor, byte[] partition, Codec codec) {
        super(table, key, deletions.getPartitionDeletion(), filter.fetchedColumns(), staticRow,
            reversed, EncodingStats.NO_STATS);
        this.cursor = cursor;
        this.partition = partition;
        this.codec = codec;
        this.deletions = deletions;
        this.filter = filter;
        this.slices = slices;
    }

    /** The partition, or null if the store has nothing of it. */
    static UnfilteredRowIterator read(Store store, Keys keys, TableMetadata table,
                                      DecoratedKey key, Slices slices, ColumnFilter filter,
                                      boolean reversed) {
        byte[] partition = keys.partition(key);
        Codec codec = new Codec(table, store.path);
        Cursor cursor = store.cursor(Keys.deletions(partition), Keys.afterRows(partition));
        boolean isOpen = false;
        try {
            if (!cursor.first()) {
                return null;
            }
            MutableDeletionInfo deletions = MutableDeletionInfo.live();
            boolean on = true;
            if (Keys.section(cursor.key(), partition) == Keys.DELETIONS) {
                deletions = codec.deletions(cursor.value());
                on = cursor.next();
            }
            Row staticRow = Rows.EMPTY_STATIC_ROW;
            boolean wantsStatic = !filter.fetchedColumns().statics.isEmpty();
            if (on && wantsStatic && Keys.section(cursor.key(), partition) == Keys.STATIC) {
                staticRow = staticRow(codec, cursor, deletions, filter, table);
            }
            PartitionRows rows = new PartitionRows(table, key, deletions, staticRow, slices,
                filter, reversed, cursor, partition, codec);
            isOpen = true;
            return rows;
        } finally {
            if (!isOpen) {
                cursor.close();
            }
        }
    }

    private static Row staticRow(Codec codec, Cursor cursor, DeletionInfo deletions,
                                 ColumnFilter filter, TableMetadata table) {
        Row stored = codec.row(cursor.value(), true);
        if (stored == null) {
            return Rows.EMPTY_STATIC_ROW;
        }
        DeletionTime hiding = deletions.getPartitionDeletion();
        Row row = stored.filter(filter, hiding, false, table);
        return row == null ? Rows.EMPTY_STATIC_ROW : row;
    }

    @Override
    protected Unfiltered computeNext() {
        while (true) {
            if (slice == null) {
                if (sliceIndex == slices.size()) {
                    return endOfData();
                }
                int at = isReverseOrder() ? slices.size() - 1 - sliceIndex : sliceIndex;
                sliceIndex++;
                slice = in(slices.get(at));
            }
            if (slice.hasNext()) {
                return slice.next();
            }
            slice = null;
        }
    }

    private Iterator<Unfiltered> in(Slice of) {
        return new RowAndDeletionMergeIterator(metadata(), partitionKey(),
            partitionLevelDeletion(), filter, Rows.EMPTY_STATIC_ROW, isReverseOrder(), stats(),
            rows(of), deletions.rangeIterator(of, isReverseOrder()), true);
    }

    private Iterator<Row> rows(Slice of) {
        byte[] start = Keys.row(partition, metadata().comparator, of.start());
        byte[] end = Keys.row(partition, metadata().comparator, of.end());
        boolean reversed = isReverseOrder();
        return new AbstractIterator<>() {
            private boolean begun;

            @Override
            protected Row computeNext() {
                while (true) {
                    boolean on = move();
                    if (!on || isBeyond(cursor.key())) {
                        return endOfData();
                    }
                    Row row = codec.row(cursor.value(), false);
                    if (row != null) {
                        return row;
                    }
                }
            }

            private boolean move() {
                if (begun) {
                    return reversed ? cursor.prev() : cursor.next();
                }
                begun = true;
                return reversed ? cursor.seekBack(end) : cursor.seek(start);
            }

            private boolean isBeyond(byte[] key) {
                return reversed
                    ? Arrays.compareUnsigned(key, start) < 0
                    : Arrays.compareUnsigned(key, end) > 0;
            }
        };
    }

    @Override
    public void close() {
        cursor.close();
    }
}
