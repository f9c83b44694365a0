package terrace.cassandra;

import java.util.NoSuchElementException;
import org.apache.cassandra.db.DataRange;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.PartitionPosition;
import org.apache.cassandra.db.filter.ClusteringIndexFilter;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.partitions.AbstractUnfilteredPartitionIterator;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.dht.AbstractBounds;
import org.apache.cassandra.schema.TableMetadata;

/**
 * The partitions of a range with their rows. The list of partitions is that of the moment of the
 * call; the rows of each are those of the moment at which it is reached.
 */
final class TableScan extends AbstractUnfilteredPartitionIterator {
    private final Store store;
    private final Keys keys;
    private final TableMetadata table;
    private final ColumnFilter filter;
    private final DataRange range;
    private final Partitions partitions;
    private UnfilteredRowIterator next;

    TableScan(Store store, Keys keys, TableMetadata table, ColumnFilter filter, DataRange range) {
        this.store = store;
        this.keys = keys;
        this.table = table;
        this.filter = filter;
        this.range = range;
        AbstractBounds<PartitionPosition> bounds = range.keyRange();
        byte[] start = bounds.left.isMinimum()
            ? keys.start() : keys.bound(bounds.left, !bounds.inclusiveLeft());
        byte[] end = bounds.right.isMinimum()
            ? keys.end() : keys.bound(bounds.right, bounds.inclusiveRight());
        this.partitions = new Partitions(store, keys, table.partitioner, start, end);
    }

    @Override
    public TableMetadata metadata() {
        return table;
    }

    @Override
    public boolean hasNext() {
        while (next == null && partitions.hasNext()) {
            DecoratedKey key = partitions.next();
            ClusteringIndexFilter rows = range.clusteringIndexFilter(key);
            next = PartitionRows.read(store, keys, table, key, rows.getSlices(table), filter,
                rows.isReversed());
        }
        return next != null;
    }

    @Override
    public UnfilteredRowIterator next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        UnfilteredRowIterator rows = next;
        next = null;
        return rows;
    }

    @Override
    public void close() {
        partitions.close();
        if (next != null) {
            next.close();
            next = null;
        }
    }
}
