package terrace.cassandra;

import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.DataRange;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.PartitionPosition;
import org.apache.cassandra.db.Slices;
import org.apache.cassandra.db.commitlog.CommitLogPosition;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.memtable.AbstractMemtableWithCommitlog;
import org.apache.cassandra.db.memtable.Memtable;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.partitions.UnfilteredPartitionIterator;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.exceptions.InvalidRequestException;
import org.apache.cassandra.index.transactions.UpdateTransaction;
import org.apache.cassandra.io.sstable.SSTableReadsListener;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.TableMetadataRef;
import org.apache.cassandra.utils.FBUtilities;
import org.apache.cassandra.utils.concurrent.OpOrder;

/**
 * A memtable of Cassandra 5.0 (CEP-11) that is the primary store of its table: writes go to a
 * store of Terrace and are durable when they are acknowledged, and no table file is ever flushed.
 *
 * <p>Parameters in {@code cassandra.yaml}: {@code library}, the path of {@code libterrace_c.so};
 * {@code store}, the drive or directory; {@code memory}, in bytes, optional.
 *
 * <p>Writes to tables with counters or secondary indexes are refused.
 */
public final class TerraceMemtable extends AbstractMemtableWithCommitlog {
    private final Owner owner;
    private final Store store;
    private final Memtable.Factory factory;
    private final int generation;
    private final Keys keys;
    private volatile boolean isSwitchedOut;
    /** The memtable is being flushed into table files that take its place. */
    private volatile boolean becomesTables;

    TerraceMemtable(AtomicReference<CommitLogPosition> lowerBound, TableMetadataRef table,
                    Owner owner, Store store, Memtable.Factory factory) {
        super(table, lowerBound);
        this.owner = owner;
        this.store = store;
        this.factory = factory;
        Generations.Begun begun = store.generations().begin(metadata().id);
        this.generation = begun.generation;
        this.keys = new Keys(metadata().id, generation);
        if (begun.isFirst) {
            TableFiles.sweep(metadata());
        }
        for (int older : begun.unfinished) {
            pour(older);
        }
    }

    /** Called by Cassandra with the parameters of {@code cassandra.yaml}. */
    public static Memtable.Factory factory(Map<String, String> parameters) {
        return TerraceFactory.of(parameters);
    }

    /** Moves the data of a generation, whose flush was interrupted, into this one. */
    private void pour(int older) {
        TableMetadata table = metadata();
        Keys from = new Keys(table.id, older);
        try (Partitions all = new Partitions(
            store, from, table.partitioner, from.start(), from.end())) {
            while (all.hasNext()) {
                DecoratedKey key = all.next();
                ColumnFilter every = ColumnFilter.all(table);
                try (UnfilteredRowIterator rows =
                         PartitionRows.read(store, from, table, key, Slices.ALL, every, false)) {
                    if (rows != null) {
                        merge(PartitionUpdate.fromIterator(rows, every));
                    }
                }
            }
        }
        store.generations().remove(table.id, older);
    }

    @Override
    public long put(PartitionUpdate update, UpdateTransaction indexer, OpOrder.Group group) {
        refuseUnsupported(metadata());
        merge(update);
        currentOperations.addAndGet(update.operationCount());
        return Long.MAX_VALUE;
    }

    private void merge(PartitionUpdate update) {
        DecoratedKey key = update.partitionKey();
        ReentrantLock lock = store.lock(metadata().id.hashCode() * 31 + key.hashCode());
        lock.lock();
        try {
            new Merge(store, keys, metadata(), key, hasEverything(), FBUtilities.nowInSeconds())
                .apply(update);
        } finally {
            lock.unlock();
        }
    }

    private static void refuseUnsupported(TableMetadata table) {
        if (table.isCounter()) {
            throw new InvalidRequestException(
                table + ": expected no counters in a table on Terrace, found some");
        }
        if (!table.indexes.isEmpty()) {
            throw new InvalidRequestException(
                table + ": expected no index of a table on Terrace, found " + table.indexes);
        }
    }

    /** Whether the table has no files whose data a deletion in the store may hide. */
    private boolean hasEverything() {
        return !(owner instanceof ColumnFamilyStore)
            || ((ColumnFamilyStore) owner).getTracker().getView().liveSSTables().isEmpty();
    }

    @Override
    public UnfilteredRowIterator rowIterator(DecoratedKey key, Slices slices, ColumnFilter filter,
                                             boolean reversed, SSTableReadsListener listener) {
        return PartitionRows.read(store, keys, metadata(), key, slices, filter, reversed);
    }

    @Override
    public UnfilteredPartitionIterator partitionIterator(ColumnFilter filter, DataRange range,
                                                         SSTableReadsListener listener) {
        return new TableScan(store, keys, metadata(), filter, range);
    }

    @Override
    public FlushablePartitionSet<?> getFlushSet(PartitionPosition from, PartitionPosition to) {
        return new StoredRange(this, store, keys, metadata(), from, to);
    }

    @Override
    public void switchOut(OpOrder.Barrier barrier, AtomicReference<CommitLogPosition> upperBound) {
        super.switchOut(barrier, upperBound);
        isSwitchedOut = true;
        if (!becomesTables) {
            // Truncated or dropped: from the answer to the client on, a restart must not find it.
            // With a snapshot, its data is written into files first.
            boolean mayDelete = !DatabaseDescriptor.isAutoSnapshot();
            store.generations().kill(metadata().id, generation, mayDelete);
        }
    }

    boolean isSwitchedOut() {
        return isSwitchedOut;
    }

    @Override
    public void discard() {
        super.discard();
        store.generations().remove(metadata().id, generation);
    }

    /**
     * True for a change of the table's memtable, which moves the data into table files, and for
     * truncations and drops with a snapshot, whose table files become the snapshot.
     */
    @Override
    public boolean shouldSwitch(ColumnFamilyStore.FlushReason reason) {
        switch (reason) {
            case SCHEMA_CHANGE:
                becomesTables = !factory.equals(metadata().params.memtable.factory());
                return becomesTables;
            case TRUNCATE:
            case DROP:
                return true;
            default:
                return false;
        }
    }

    /** Writes the data into table files of the snapshot, which any Cassandra reads. */
    @Override
    public void performSnapshot(String name) {
        if (owner instanceof ColumnFamilyStore) {
            TableFiles.snapshot((ColumnFamilyStore) owner, name);
        }
    }

    @Override
    public void metadataUpdated() {
        // Every call takes the table's metadata anew.
    }

    @Override
    public void localRangesUpdated() {
        // Keys are in the order of tokens; no range has a place of its own.
    }

    @Override
    public boolean isClean() {
        return !store.exists(keys.start(), keys.end());
    }

    /** An estimate from the first partitions: see {@link Estimate}. */
    @Override
    public long partitionCount() {
        return Estimate.partitions(store, keys, metadata().partitioner);
    }

    /** About the bytes of the engine's tables, as stored. */
    @Override
    public long getLiveDataSize() {
        return store.size(keys.start(), keys.end());
    }

    /** Older than everything: the store may have data of any age. */
    @Override
    public long getMinTimestamp() {
        return Long.MIN_VALUE;
    }

    @Override
    public boolean mayContainDataBefore(CommitLogPosition position) {
        return false;
    }

    @Override
    public void addMemoryUsageTo(MemoryUsage usage) {
        // The engine has its own budget, outside Cassandra's.
    }

    @Override
    public void markExtraOnHeapUsed(long bytes, OpOrder.Group group) {
        // Only indexes call this.
    }

    @Override
    public void markExtraOffHeapUsed(long bytes, OpOrder.Group group) {
        // Only indexes call this.
    }

    @Override
    public String toString() {
        return "Terrace " + store.path + ", " + metadata() + ", generation " + generation;
    }
}
