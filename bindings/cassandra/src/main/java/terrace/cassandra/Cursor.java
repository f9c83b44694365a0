package terrace.cassandra;

/** A walk over a range as it was when the cursor was made. One thread at a time uses it. */
final class Cursor implements AutoCloseable {
    private final String path;
    private long handle;

    Cursor(long handle, String path) {
        this.handle = handle;
        this.path = path;
    }

    boolean first() {
        return moved(Library.terrace_cursor_first(open()));
    }

    boolean next() {
        return moved(Library.terrace_cursor_next(open()));
    }

    boolean prev() {
        return moved(Library.terrace_cursor_prev(open()));
    }

    /** Moves to the first key that is not before {@code key}. */
    boolean seek(byte[] key) {
        return moved(Library.terrace_cursor_seek(open(), key, key.length));
    }

    /** Moves to the last key that is not after {@code key}. */
    boolean seekBack(byte[] key) {
        return moved(Library.terrace_cursor_seek_back(open(), key, key.length));
    }

    byte[] key() {
        return Library.terrace_cursor_key(open()).bytes();
    }

    byte[] value() {
        return Library.terrace_cursor_value(open()).bytes();
    }

    @Override
    public void close() {
        Library.terrace_cursor_free(handle);
        handle = 0;
    }

    private boolean moved(int code) {
        Failure.checkRead(code, path);
        return Library.terrace_cursor_on_key(handle) != 0;
    }

    private long open() {
        if (handle == 0) {
            throw new IllegalStateException("expected an open cursor, found a closed one");
        }
        return handle;
    }
}
