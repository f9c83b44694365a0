package terrace.cassandra;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import java.util.List;

/**
 * The calls of {@code terrace.h} that a memtable needs, bound by JNA.
 *
 * <p>The header passes a {@code TerraceSlice}, two words, by value. On x86-64 (System V) and on
 * aarch64 a structure of two words is passed as two words are, so a slice is declared here as an
 * array and a length. {@link #load} refuses other processors. An array that is null is the slice
 * {@code terrace_none()}.
 *
 * <p>Handles are addresses. Nothing here checks them.
 */
final class Library {
    /** {@code TERRACE_DURABILITY_SYNCED}: a write survives a power cut. */
    static final int SYNCED = 4;

    private static boolean loaded;

    private Library() {}

    /** A slice that a call returns. */
    @Structure.FieldOrder({"data", "len"})
    public static class Slice extends Structure implements Structure.ByValue {
        public Pointer data;
        public long len;

        /** A copy of the bytes; null for no slice. */
        byte[] bytes() {
            return data == null ? null : data.getByteArray(0, (int) len);
        }
    }

    /** {@code TerraceOptions}: all of its fields, because the library reads all of them. */
    @Structure.FieldOrder({
        "readOnly", "unsynced", "durability", "reclaimBelow", "memory", "memtableSize",
        "fileCache", "live", "counters", "compactionRate", "mergeOperator", "compactionFilters",
        "system", "copyTables", "reserved"
    })
    public static class Options extends Structure {
        public int readOnly;
        public int unsynced;
        public int durability;
        public int reclaimBelow;
        public long memory;
        public long memtableSize;
        public long fileCache;
        public int live;
        public int counters;
        public long compactionRate;
        public Pointer mergeOperator;
        public Pointer compactionFilters;
        public Slice system;
        public int copyTables;
        public int[] reserved = new int[17];
    }

    /** Loads the library at a path; the first path of the process counts. */
    static synchronized void load(String path) {
        if (loaded) {
            return;
        }
        String processor = System.getProperty("os.arch");
        if (!List.of("amd64", "x86_64", "aarch64").contains(processor)) {
            throw new UnsatisfiedLinkError(
                "expected a processor amd64 or aarch64, found " + processor);
        }
        Native.register(Library.class, NativeLibrary.getInstance(path));
        loaded = true;
    }

    static native int terrace_store_open(byte[] path, long len, Options options, long[] store);

    static native int terrace_store_close(long store);

    static native long terrace_store_default(long store);

    static native int terrace_get(long space, byte[] key, long len, long[] value);

    static native Slice terrace_value_bytes(long value);

    static native void terrace_value_free(long value);

    static native int terrace_range_exists(
        long space, byte[] start, long startLen, byte[] end, long endLen, int[] exists);

    static native int terrace_range_size(
        long space, byte[] start, long startLen, byte[] end, long endLen, long[] bytes);

    static native int terrace_batch_new(long[] batch);

    static native int terrace_batch_put(
        long batch, long space, byte[] key, long keyLen, byte[] value, long valueLen);

    static native int terrace_batch_put_with_expiry(
        long batch, long space, byte[] key, long keyLen, byte[] value, long valueLen, long expiry);

    static native int terrace_batch_delete(long batch, long space, byte[] key, long len);

    static native int terrace_batch_delete_range(
        long batch, long space, byte[] start, long startLen, byte[] end, long endLen);

    static native void terrace_batch_free(long batch);

    static native int terrace_write(long store, long batch, int durability);

    static native int terrace_cursor_open(
        long space, byte[] start, long startLen, byte[] end, long endLen, long[] cursor);

    static native int terrace_cursor_first(long cursor);

    static native int terrace_cursor_next(long cursor);

    static native int terrace_cursor_prev(long cursor);

    static native int terrace_cursor_seek(long cursor, byte[] key, long len);

    static native int terrace_cursor_seek_back(long cursor, byte[] key, long len);

    static native int terrace_cursor_on_key(long cursor);

    static native Slice terrace_cursor_key(long cursor);

    static native Slice terrace_cursor_value(long cursor);

    static native void terrace_cursor_free(long cursor);

    static native String terrace_error_message();
}
