package terrace.cassandra;

import java.io.IOException;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.cassandra.db.Columns;
import org.apache.cassandra.db.DeletionInfo;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.MutableDeletionInfo;
import org.apache.cassandra.db.RangeTombstone;
import org.apache.cassandra.db.RegularAndStaticColumns;
import org.apache.cassandra.db.SerializationHeader;
import org.apache.cassandra.db.Slice;
import org.apache.cassandra.db.marshal.AbstractType;
import org.apache.cassandra.db.rows.BTreeRow;
import org.apache.cassandra.db.rows.DeserializationHelper;
import org.apache.cassandra.db.rows.EncodingStats;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.SerializationHelper;
import org.apache.cassandra.db.rows.UnfilteredSerializer;
import org.apache.cassandra.io.util.DataInputBuffer;
import org.apache.cassandra.io.util.DataOutputBuffer;
import org.apache.cassandra.net.MessagingService;
import org.apache.cassandra.schema.TableMetadata;

/**
 * Values of the store: rows and deletions, by Cassandra's serialisers.
 *
 * <pre>
 *   row         1 byte 1; the columns of the row by name (Columns.Serializer); the row
 *               (UnfilteredSerializer, without statistics, version 5.0); 1 byte 1
 *   deletions   1 byte 1; deletion of the partition (8 bytes timestamp, 8 bytes local time);
 *               number of range tombstones, of each its slice (Slice.Serializer) and deletion
 * </pre>
 *
 * <p>Rows name their columns, so that a change of the schema rewrites none. Cells of a column that
 * was dropped are skipped, as Cassandra skips them in its tables.
 */
final class Codec {
    private static final int FORMAT = 1;
    private static final int VERSION = MessagingService.Version.VERSION_50.value;

    private final TableMetadata table;
    private final String store;

    Codec(TableMetadata table, String store) {
        this.table = table;
        this.store = store;
    }

    byte[] encode(Row row) {
        Columns columns = Columns.from(row.columns());
        try (DataOutputBuffer out = new DataOutputBuffer(256)) {
            out.writeByte(FORMAT);
            Columns.serializer.serialize(columns, out);
            SerializationHeader header = header(columns, row.isStatic());
            SerializationHelper helper = new SerializationHelper(header);
            if (row.isStatic()) {
                UnfilteredSerializer.serializer.serializeStaticRow(row, helper, out, VERSION);
            } else {
                UnfilteredSerializer.serializer.serialize(row, helper, out, VERSION);
            }
            UnfilteredSerializer.serializer.writeEndOfPartition(out);
            return out.toByteArray();
        } catch (IOException error) {
            throw new IllegalStateException("expected memory to take a row", error);
        }
    }

    /** The row of a value; null if all its cells are of columns that were dropped. */
    Row row(byte[] value, boolean isStatic) {
        try (DataInputBuffer in = new DataInputBuffer(value)) {
            expectFormat(in);
            Columns columns = Columns.serializer.deserialize(in, table);
            SerializationHeader header = header(columns, isStatic);
            DeserializationHelper helper = new DeserializationHelper(
                table, VERSION, DeserializationHelper.Flag.LOCAL);
            if (isStatic) {
                Row row = UnfilteredSerializer.serializer.deserializeStaticRow(in, header, helper);
                return row.isEmpty() ? null : row;
            }
            return (Row) UnfilteredSerializer.serializer.deserialize(
                in, header, helper, BTreeRow.sortedBuilder());
        } catch (IOException | RuntimeException | AssertionError error) {
            throw Failure.undecodable(error, store);
        }
    }

    byte[] encode(DeletionInfo deletions) {
        try (DataOutputBuffer out = new DataOutputBuffer(64)) {
            out.writeByte(FORMAT);
            write(deletions.getPartitionDeletion(), out);
            out.writeUnsignedVInt32(deletions.rangeCount());
            Iterator<RangeTombstone> ranges = deletions.rangeIterator(false);
            while (ranges.hasNext()) {
                RangeTombstone range = ranges.next();
                Slice.serializer.serialize(range.deletedSlice(), out, VERSION, types());
                write(range.deletionTime(), out);
            }
            return out.toByteArray();
        } catch (IOException error) {
            throw new IllegalStateException("expected memory to take deletions", error);
        }
    }

    /** The deletions of a value; none for null. */
    MutableDeletionInfo deletions(byte[] value) {
        if (value == null) {
            return MutableDeletionInfo.live();
        }
        try (DataInputBuffer in = new DataInputBuffer(value)) {
            expectFormat(in);
            MutableDeletionInfo deletions = new MutableDeletionInfo(time(in));
            for (int left = in.readUnsignedVInt32(); left > 0; left--) {
                Slice slice = Slice.serializer.deserialize(in, VERSION, types());
                deletions.add(new RangeTombstone(slice, time(in)), table.comparator);
            }
            return deletions;
        } catch (IOException | RuntimeException | AssertionError error) {
            throw Failure.undecodable(error, store);
        }
    }

    private static void write(DeletionTime time, DataOutputBuffer out) throws IOException {
        out.writeLong(time.markedForDeleteAt());
        out.writeLong(time.localDeletionTime());
    }

    private static DeletionTime time(DataInputBuffer in) throws IOException {
        long at = in.readLong();
        DeletionTime time = DeletionTime.build(at, in.readLong());
        return time.isLive() ? DeletionTime.LIVE : time;
    }

    private static void expectFormat(DataInputBuffer in) throws IOException {
        int format = in.readUnsignedByte();
        if (format != FORMAT) {
            throw new IOException("expected a value of format " + FORMAT + ", found " + format);
        }
    }

    private SerializationHeader header(Columns columns, boolean isStatic) {
        RegularAndStaticColumns both = isStatic
            ? new RegularAndStaticColumns(columns, Columns.NONE)
            : new RegularAndStaticColumns(Columns.NONE, columns);
        return new SerializationHeader(false, table, both, EncodingStats.NO_STATS);
    }

    private List<AbstractType<?>> types() {
        List<AbstractType<?>> types = table.comparator.subtypes();
        return types == null ? Collections.emptyList() : types;
    }
}
