package terrace.cassandra;

import java.util.Iterator;
import org.apache.cassandra.db.DeletionInfo;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.RangeTombstone;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.ColumnData;
import org.apache.cassandra.db.rows.ComplexColumnData;
import org.apache.cassandra.db.rows.Row;

/**
 * When the engine may forget a value, in milliseconds since 1970.
 *
 * <p>A value may go once all in it is deleted or expired and {@code gc_grace_seconds} have passed
 * since. That is the rule by which Cassandra's compaction purges, under one condition: nothing
 * older is in the store that the deletion hides. {@link Merge} keeps that condition.
 */
final class Expiry {
    private static final long LIVE = Cell.NO_DELETION_TIME;

    private Expiry() {}

    static long of(Row row, int grace) {
        long last = 0;
        if (!row.primaryKeyLivenessInfo().isEmpty()) {
            last = Math.max(last, row.primaryKeyLivenessInfo().localExpirationTime());
        }
        if (!row.deletion().isLive()) {
            last = Math.max(last, row.deletion().time().localDeletionTime());
        }
        for (ColumnData data : row) {
            if (data.column().isSimple()) {
                last = Math.max(last, ((Cell<?>) data).localDeletionTime());
            } else {
                ComplexColumnData complex = (ComplexColumnData) data;
                if (!complex.complexDeletion().isLive()) {
                    last = Math.max(last, complex.complexDeletion().localDeletionTime());
                }
                for (Cell<?> cell : complex) {
                    last = Math.max(last, cell.localDeletionTime());
                }
            }
        }
        return after(last, grace);
    }

    static long of(DeletionInfo deletions, int grace) {
        long last = 0;
        DeletionTime whole = deletions.getPartitionDeletion();
        if (!whole.isLive()) {
            last = whole.localDeletionTime();
        }
        Iterator<RangeTombstone> ranges = deletions.rangeIterator(false);
        while (ranges.hasNext()) {
            last = Math.max(last, ranges.next().deletionTime().localDeletionTime());
        }
        return after(last, grace);
    }

    /** A second more than the grace: Cassandra counts whole seconds. */
    private static long after(long second, int grace) {
        return second >= LIVE ? Batch.NEVER : (second + grace + 1) * 1000;
    }
}
