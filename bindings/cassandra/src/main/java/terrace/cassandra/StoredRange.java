package terrace.cassandra;

import com.google.common.collect.AbstractIterator;
import java.util.Iterator;
import org.apache.cassandra.db.PartitionPosition;
import org.apache.cassandra.db.RegularAndStaticColumns;
import org.apache.cassandra.db.commitlog.CommitLogPosition;
import org.apache.cassandra.db.memtable.Memtable;
import org.apache.cassandra.db.rows.EncodingStats;
import org.apache.cassandra.schema.TableMetadata;

/**
 * The partitions of a range, for flushes, streams, repairs and snapshots. Its partitions are
 * counted when it is made, for the filter of the table file.
 */
final class StoredRange implements Memtable.FlushablePartitionSet<StoredPartition> {
    private final TerraceMemtable memtable;
    private final Store store;
    private final Keys keys;
    private final TableMetadata table;
    private final PartitionPosition from;
    private final PartitionPosition to;
    private final byte[] start;
    private final byte[] end;
    private final long count;
    private final long keysSize;

    /** From {@code from} up to, and without, {@code to}; null is open. */
    StoredRange(TerraceMemtable memtable, Store store, Keys keys, TableMetadata table,
                PartitionPosition from, PartitionPosition to) {
        this.memtable = memtable;
        this.store = store;
        this.keys = keys;
        this.table = table;
        this.from = from;
        this.to = to;
        this.start = from == null || from.isMinimum() ? keys.start() : keys.bound(from, false);
        this.end = to == null || to.isMinimum() ? keys.end() : keys.bound(to, false);
        long partitions = 0;
        long bytes = 0;
        try (Partitions all = partitions()) {
            for (; all.hasNext(); partitions++) {
                bytes += all.next().getKeyLength();
            }
        }
        this.count = partitions;
        this.keysSize = bytes;
    }

    private Partitions partitions() {
        return new Partitions(store, keys, table.partitioner, start, end);
    }

    @Override
    public Iterator<StoredPartition> iterator() {
        Partitions all = partitions();
        return new AbstractIterator<>() {
            @Override
            protected StoredPartition computeNext() {
                if (all.hasNext()) {
                    return new StoredPartition(store, keys, table, all.next());
                }
                all.close();
                return endOfData();
            }
        };
    }

    @Override
    public Memtable memtable() {
        return memtable;
    }

    @Override
    public TableMetadata metadata() {
        return table;
    }

    @Override
    public PartitionPosition from() {
        return from;
    }

    @Override
    public PartitionPosition to() {
        return to;
    }

    @Override
    public CommitLogPosition commitLogLowerBound() {
        return memtable.isSwitchedOut() ? memtable.getCommitLogLowerBound() : TableFiles.FROM;
    }

    @Override
    public CommitLogPosition commitLogUpperBound() {
        return memtable.isSwitchedOut()
            ? memtable.getFinalCommitLogUpperBound() : TableFiles.TO;
    }

    @Override
    public RegularAndStaticColumns columns() {
        return table.regularAndStaticColumns();
    }

    @Override
    public EncodingStats encodingStats() {
        return EncodingStats.NO_STATS;
    }

    @Override
    public boolean isEmpty() {
        return count == 0;
    }

    @Override
    public long partitionCount() {
        return count;
    }

    @Override
    public long partitionKeysSize() {
        return keysSize;
    }

    @Override
    public long dataSize() {
        return store.size(start, end);
    }
}
