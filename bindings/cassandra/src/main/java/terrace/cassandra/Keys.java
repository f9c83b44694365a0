package terrace.cassandra;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.cassandra.db.BufferDecoratedKey;
import org.apache.cassandra.db.ClusteringComparator;
import org.apache.cassandra.db.ClusteringPrefix;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.PartitionPosition;
import org.apache.cassandra.dht.IPartitioner;
import org.apache.cassandra.schema.TableId;
import org.apache.cassandra.utils.bytecomparable.ByteComparable;
import org.apache.cassandra.utils.bytecomparable.ByteSourceInverse;

/**
 * Keys of one generation of one table, in Cassandra's own order.
 *
 * <pre>
 *   1 byte    1
 *   16 bytes  table id
 *   4 bytes   generation, big-endian
 *   n bytes   token and partition key, byte-comparable (version OSS50), which is prefix-free
 *   1 byte    0 deletions, 1 static row, 2 row
 *   n bytes   clustering, byte-comparable (version OSS50); for rows only
 * </pre>
 */
final class Keys {
    static final byte DELETIONS = 0;
    static final byte STATIC = 1;
    static final byte ROW = 2;
    private static final byte AFTER_ROWS = 3;

    private static final byte DATA = 1;
    private static final int HEAD = 1 + 16 + 4;
    private static final ByteComparable.Version VERSION = ByteComparable.Version.OSS50;

    private final byte[] head;

    Keys(TableId table, int generation) {
        head = ByteBuffer.allocate(HEAD)
            .put(DATA)
            .putLong(table.asUUID().getMostSignificantBits())
            .putLong(table.asUUID().getLeastSignificantBits())
            .putInt(generation)
            .array();
    }

    /** The first possible key. */
    byte[] start() {
        return head;
    }

    /** The first key after all of them. */
    byte[] end() {
        return successor(head);
    }

    /** The part of keys that all keys of a partition share. */
    byte[] partition(DecoratedKey key) {
        return join(head, bytes(key));
    }

    /**
     * A key that partitions before, and not at, {@code position} are below, and others above;
     * with {@code after}, a partition at the position is below as well.
     */
    byte[] bound(PartitionPosition position, boolean after) {
        return join(head, bytes(position.asComparableBound(!after)));
    }

    /** The partition of a key. */
    DecoratedKey decorated(byte[] key, IPartitioner partitioner) {
        byte[] rest = Arrays.copyOfRange(key, HEAD, key.length);
        return BufferDecoratedKey.fromByteComparable(
            ByteComparable.fixedLength(rest), VERSION, partitioner);
    }

    static byte[] deletions(byte[] partition) {
        return with(partition, DELETIONS);
    }

    static byte[] staticRow(byte[] partition) {
        return with(partition, STATIC);
    }

    static byte[] rows(byte[] partition) {
        return with(partition, ROW);
    }

    static byte[] afterRows(byte[] partition) {
        return with(partition, AFTER_ROWS);
    }

    /** The key of a row; or, of a bound, a key between those of the rows that it divides. */
    static byte[] row(byte[] partition, ClusteringComparator order, ClusteringPrefix<?> at) {
        return join(with(partition, ROW), bytes(order.asByteComparable(at)));
    }

    /** What a key of this partition is about. */
    static byte section(byte[] key, byte[] partition) {
        return key[partition.length];
    }

    /** The first key that does not begin with these bytes, which are not all 255. */
    static byte[] successor(byte[] prefix) {
        byte[] next = prefix.clone();
        int at = next.length - 1;
        while (next[at] == (byte) 0xff) {
            at--;
        }
        next[at]++;
        return Arrays.copyOf(next, at + 1);
    }

    private static byte[] bytes(ByteComparable of) {
        return ByteSourceInverse.readBytes(of.asComparableBytes(VERSION));
    }

    private static byte[] with(byte[] prefix, byte section) {
        byte[] key = Arrays.copyOf(prefix, prefix.length + 1);
        key[prefix.length] = section;
        return key;
    }

    private static byte[] join(byte[] first, byte[] second) {
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }
}
