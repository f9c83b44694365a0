package terrace.cassandra;

import java.util.NoSuchElementException;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.dht.IPartitioner;

/** The keys of partitions of a range, in order, without reading their rows. */
final class Partitions implements AutoCloseable {
    private final Cursor cursor;
    private final Keys keys;
    private final IPartitioner partitioner;
    private boolean begun;
    private DecoratedKey next;
    private byte[] after;

    /** {@code start} and {@code end} are keys of the store. */
    Partitions(Store store, Keys keys, IPartitioner partitioner, byte[] start, byte[] end) {
        this.cursor = store.cursor(start, end);
        this.keys = keys;
        this.partitioner = partitioner;
    }

    boolean hasNext() {
        if (next != null) {
            return true;
        }
        boolean on = begun ? after != null && cursor.seek(after) : cursor.first();
        begun = true;
        if (!on) {
            after = null;
            return false;
        }
        next = keys.decorated(cursor.key(), partitioner);
        after = Keys.afterRows(keys.partition(next));
        return true;
    }

    DecoratedKey next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        DecoratedKey key = next;
        next = null;
        return key;
    }

    @Override
    public void close() {
        cursor.close();
    }
}
