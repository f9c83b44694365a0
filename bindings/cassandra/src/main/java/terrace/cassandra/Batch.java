package terrace.cassandra;

/** Writes that are applied together and in order. One thread uses it. */
final class Batch implements AutoCloseable {
    /** An expiry that never comes. */
    static final long NEVER = Long.MAX_VALUE;

    private final long store;
    private final long space;
    private final String path;
    private final long handle;
    private int writes;

    Batch(long store, long space, String path) {
        this.store = store;
        this.space = space;
        this.path = path;
        long[] batch = new long[1];
        Failure.checkWrite(Library.terrace_batch_new(batch), path);
        this.handle = batch[0];
    }

    /** Writes a value until {@code expiry}, in milliseconds since 1970, or for {@link #NEVER}. */
    void put(byte[] key, byte[] value, long expiry) {
        int code = expiry == NEVER
            ? Library.terrace_batch_put(handle, space, key, key.length, value, value.length)
            : Library.terrace_batch_put_with_expiry(
                handle, space, key, key.length, value, value.length, expiry);
        Failure.checkWrite(code, path);
        writes++;
    }

    void delete(byte[] key) {
        Failure.checkWrite(
            Library.terrace_batch_delete(handle, space, key, key.length), path);
        writes++;
    }

    void deleteRange(byte[] start, byte[] end) {
        Failure.checkWrite(
            Library.terrace_batch_delete_range(
                handle, space, start, start.length, end, end.length),
            path);
        writes++;
    }

    /** Applies the writes; they survive a power cut when this returns. */
    void commit() {
        if (writes > 0) {
            Failure.checkWrite(Library.terrace_write(store, handle, Library.SYNCED), path);
        }
    }

    @Override
    public void close() {
        Library.terrace_batch_free(handle);
    }
}
