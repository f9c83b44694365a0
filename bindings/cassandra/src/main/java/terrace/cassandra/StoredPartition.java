package terrace.cassandra;

import java.util.NavigableSet;
import org.apache.cassandra.db.Clustering;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.EmptyIterators;
import org.apache.cassandra.db.RegularAndStaticColumns;
import org.apache.cassandra.db.Slice;
import org.apache.cassandra.db.Slices;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.partitions.Partition;
import org.apache.cassandra.db.rows.EncodingStats;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.Rows;
import org.apache.cassandra.db.rows.Unfiltered;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.schema.TableMetadata;

/** A partition in the store, which is read when it is asked for. */
final class StoredPartition implements Partition {
    private final Store store;
    private final Keys keys;
    private final TableMetadata table;
    private final DecoratedKey key;

    StoredPartition(Store store, Keys keys, TableMetadata table, DecoratedKey key) {
        this.store = store;
        this.keys = keys;
        this.table = table;
        this.key = key;
    }

    @Override
    public TableMetadata metadata() {
        return table;
    }

    @Override
    public DecoratedKey partitionKey() {
        return key;
    }

    @Override
    public DeletionTime partitionLevelDeletion() {
        try (UnfilteredRowIterator rows = unfilteredIterator()) {
            return rows.partitionLevelDeletion();
        }
    }

    @Override
    public RegularAndStaticColumns columns() {
        return table.regularAndStaticColumns();
    }

    @Override
    public EncodingStats stats() {
        return EncodingStats.NO_STATS;
    }

    @Override
    public boolean isEmpty() {
        try (UnfilteredRowIterator rows = unfilteredIterator()) {
            return rows.isEmpty();
        }
    }

    @Override
    public boolean hasRows() {
        try (UnfilteredRowIterator rows = unfilteredIterator()) {
            while (rows.hasNext()) {
                if (rows.next().isRow()) {
                    return true;
                }
            }
            return false;
        }
    }

    @Override
    public Row getRow(Clustering<?> clustering) {
        ColumnFilter all = ColumnFilter.all(table);
        boolean isStatic = clustering == Clustering.STATIC_CLUSTERING;
        Slices slices = isStatic
            ? Slices.NONE : Slices.with(table.comparator, Slice.make(clustering));
        try (UnfilteredRowIterator rows = unfilteredIterator(all, slices, false)) {
            if (isStatic) {
                return rows.staticRow() == Rows.EMPTY_STATIC_ROW ? null : rows.staticRow();
            }
            while (rows.hasNext()) {
                Unfiltered next = rows.next();
                if (next.isRow()) {
                    return (Row) next;
                }
            }
            return null;
        }
    }

    @Override
    public UnfilteredRowIterator unfilteredIterator() {
        return unfilteredIterator(ColumnFilter.all(table), Slices.ALL, false);
    }

    @Override
    public UnfilteredRowIterator unfilteredIterator(ColumnFilter filter, Slices slices,
                                                    boolean reversed) {
        UnfilteredRowIterator rows =
            PartitionRows.read(store, keys, table, key, slices, filter, reversed);
        return rows != null ? rows : EmptyIterators.unfilteredRow(table, key, reversed);
    }

    @Override
    public UnfilteredRowIterator unfilteredIterator(ColumnFilter filter,
                                                    NavigableSet<Clustering<?>> clusterings,
                                                    boolean reversed) {
        Slices.Builder slices = new Slices.Builder(table.comparator, clusterings.size());
        clusterings.forEach(one -> slices.add(Slice.make(one)));
        return unfilteredIterator(filter, slices.build(), reversed);
    }
}
