package terrace.cassandra;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A store that is open for this process, shared by all tables whose memtable names its place.
 *
 * <p>It stays open until the process ends, because reads may still run while Cassandra stops.
 * Every write is durable when it is acknowledged, so that an end without a close loses nothing.
 */
final class Store {
    private static final int STRIPES = 1024;
    private static final Map<String, Store> OPEN = new HashMap<>();

    final String path;
    private final long handle;
    private final long space;
    private final ReentrantLock[] stripes = new ReentrantLock[STRIPES];
    private final Generations generations;

    private Store(String path, long handle) {
        this.path = path;
        this.handle = handle;
        this.space = Library.terrace_store_default(handle);
        for (int i = 0; i < STRIPES; i++) {
            stripes[i] = new ReentrantLock();
        }
        this.generations = new Generations(this);
    }

    /**
     * The store at a place, which is opened by the first call. {@code memory} is in bytes, 0 for
     * the default of the engine; it counts at the first call only.
     */
    static synchronized Store at(String library, String path, long memory) {
        Store store = OPEN.get(path);
        if (store == null) {
            Library.load(library);
            Library.Options options = new Library.Options();
            options.memory = memory;
            options.durability = Library.SYNCED;
            options.live = 1;
            byte[] name = path.getBytes(StandardCharsets.UTF_8);
            long[] handle = new long[1];
            int code = Library.terrace_store_open(name, name.length, options, handle);
            Failure.checkRead(code, path);
            try {
                store = new Store(path, handle[0]);
            } catch (RuntimeException | Error error) {
                // The next call opens it anew, and meets the same error if its cause remains.
                Library.terrace_store_close(handle[0]);
                throw error;
            }
            OPEN.put(path, store);
        }
        return store;
    }

    /** The lock for writes of the partition with this hash. */
    ReentrantLock lock(int hash) {
        return stripes[(hash ^ (hash >>> 16)) & (STRIPES - 1)];
    }

    Generations generations() {
        return generations;
    }

    /** The value of a key, or null. */
    byte[] get(byte[] key) {
        long[] value = new long[1];
        int code = Library.terrace_get(space, key, key.length, value);
        if (code == Failure.NOT_FOUND) {
            return null;
        }
        Failure.checkRead(code, path);
        try {
            return Library.terrace_value_bytes(value[0]).bytes();
        } finally {
            Library.terrace_value_free(value[0]);
        }
    }

    /** Whether there is a key from {@code start} up to, and without, {@code end}. */
    boolean exists(byte[] start, byte[] end) {
        int[] exists = new int[1];
        int code = Library.terrace_range_exists(
            space, start, start.length, end, end.length, exists);
        Failure.checkRead(code, path);
        return exists[0] != 0;
    }

    /** About the bytes of the tables for a range. */
    long size(byte[] start, byte[] end) {
        long[] bytes = new long[1];
        int code = Library.terrace_range_size(space, start, start.length, end, end.length, bytes);
        Failure.checkRead(code, path);
        return bytes[0];
    }

    /** A cursor over the range as it is now. */
    Cursor cursor(byte[] start, byte[] end) {
        long[] cursor = new long[1];
        int code = Library.terrace_cursor_open(
            space, start, start.length, end, end.length, cursor);
        Failure.checkRead(code, path);
        return new Cursor(cursor[0], path);
    }

    /** An empty batch. */
    Batch batch() {
        return new Batch(handle, space, path);
    }
}
