package terrace.cassandra;

import java.io.IOException;
import java.util.List;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.Directories;
import org.apache.cassandra.db.PartitionPosition;
import org.apache.cassandra.db.commitlog.CommitLogPosition;
import org.apache.cassandra.dht.Range;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.io.sstable.metadata.MetadataType;
import org.apache.cassandra.io.sstable.metadata.StatsMetadata;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.utils.concurrent.Refs;

/**
 * Table files that Cassandra writes from a memtable that keeps its data: for streams, repairs and
 * snapshots.
 *
 * <p>Cassandra 5.0.9 leaves those of streams and repairs in the table's directory, and would read
 * them as data of the table after a restart. By then they may have rows that were deleted since,
 * and whose deletion is forgotten. So each has the mark {@link #FROM} to {@link #TO} as its part of
 * the commit log, and {@link #sweep} removes such files before Cassandra looks for files.
 */
final class TableFiles {
    static final CommitLogPosition FROM = new CommitLogPosition(-1, 0x7e55);
    static final CommitLogPosition TO = new CommitLogPosition(-1, 0x7e56);

    private TableFiles() {}

    /** Writes all data of a table, and links the files into a snapshot. */
    static void snapshot(ColumnFamilyStore table, String name) {
        PartitionPosition minimum = table.getPartitioner().getMinimumToken().minKeyBound();
        Range<PartitionPosition> everything = new Range<>(minimum, minimum);
        try (Refs<SSTableReader> written = new Refs<>()) {
            table.writeAndAddMemtableRanges(null, () -> List.of(everything), written);
            for (SSTableReader file : written) {
                file.createLinks(Directories.getSnapshotDirectory(file.descriptor, name).path());
                file.descriptor.getFormat().delete(file.descriptor);
            }
        }
    }

    /** Removes the marked files of a table. None of them is open. */
    static void sweep(TableMetadata table) {
        Directories.SSTableLister files =
            new Directories(table).sstableLister(Directories.OnTxnErr.IGNORE);
        for (Descriptor file : files.list().keySet()) {
            if (isMarked(file)) {
                file.getFormat().delete(file);
            }
        }
    }

    /** A file that cannot be read is left to Cassandra. */
    private static boolean isMarked(Descriptor file) {
        try {
            StatsMetadata stats = (StatsMetadata) file.getMetadataSerializer()
                .deserialize(file, MetadataType.STATS);
            return stats != null && stats.commitLogIntervals.starts().contains(FROM);
        } catch (IOException | RuntimeException error) {
            return false;
        }
    }
}
