package terrace.cassandra;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.cassandra.schema.TableId;

/**
 * Which generations of a table's data are in a store.
 *
 * <p>Each memtable of a table has a generation of its own: a memtable that takes the place of
 * another one begins empty, while reads of the older one go on. The list of a table is a value
 * under a zero byte and the table's id: one byte 1, and for each generation four bytes of its
 * number and one byte, 1 if it is <em>dead</em>. A dead generation was truncated or dropped: it is
 * read by what began before, and never after a restart.
 */
final class Generations {
    private static final byte FORMAT = 1;
    private static final int ENTRY = 5;

    private final Store store;
    /** The tables that have a memtable in this process. */
    private final Map<TableId, Integer> current = new HashMap<>();

    Generations(Store store) {
        this.store = store;
        sweep();
    }

    /** What a new memtable of a table begins with. */
    static final class Begun {
        final int generation;
        /** Whether it is the table's first memtable in this process. */
        final boolean isFirst;
        /** Older ones whose data is to be poured into the new memtable. */
        final List<Integer> unfinished;

        Begun(int generation, boolean isFirst, List<Integer> unfinished) {
            this.generation = generation;
            this.isFirst = isFirst;
            this.unfinished = unfinished;
        }
    }

    /**
     * The generation of a new memtable. The first memtable of the process takes the newest
     * generation that is there; one that follows another gets a new one.
     */
    synchronized Begun begin(TableId table) {
        List<int[]> all = read(key(table));
        Integer before = current.get(table);
        List<Integer> unfinished = new ArrayList<>();
        int generation;
        if (before == null && !all.isEmpty()) {
            generation = all.get(all.size() - 1)[0];
            for (int[] one : all.subList(0, all.size() - 1)) {
                unfinished.add(one[0]);
            }
        } else {
            int newest = all.isEmpty() ? 0 : all.get(all.size() - 1)[0];
            generation = Math.max(newest, before == null ? 0 : before) + 1;
            all.add(new int[] {generation, 0});
            write(key(table), all);
        }
        current.put(table, generation);
        return new Begun(generation, before == null, unfinished);
    }

    /** From now on, a restart does not find this generation. */
    synchronized void kill(TableId table, int generation) {
        List<int[]> all = read(key(table));
        for (int[] one : all) {
            if (one[0] == generation) {
                one[1] = 1;
            }
        }
        write(key(table), all);
    }

    /** Removes a generation and all its data. */
    synchronized void remove(TableId table, int generation) {
        List<int[]> all = read(key(table));
        all.removeIf(one -> one[0] == generation);
        Keys keys = new Keys(table, generation);
        try (Batch batch = store.batch()) {
            batch.deleteRange(keys.start(), keys.end());
            put(batch, key(table), all);
            batch.commit();
        }
    }

    /** Removes what a process that was killed had no time to remove. */
    private void sweep() {
        Map<TableId, List<Integer>> dead = new HashMap<>();
        try (Cursor cursor = store.cursor(new byte[] {0}, new byte[] {1})) {
            for (boolean on = cursor.first(); on; on = cursor.next()) {
                byte[] key = cursor.key();
                TableId table = table(key);
                for (int[] one : decode(cursor.value())) {
                    if (one[1] != 0) {
                        dead.computeIfAbsent(table, any -> new ArrayList<>()).add(one[0]);
                    }
                }
            }
        }
        dead.forEach((table, generations) -> generations.forEach(one -> remove(table, one)));
    }

    private List<int[]> read(byte[] key) {
        byte[] value = store.get(key);
        return value == null ? new ArrayList<>() : decode(value);
    }

    private List<int[]> decode(byte[] value) {
        if (value.length % ENTRY != 1 || value[0] != FORMAT) {
            throw Failure.undecodable(
                new IllegalStateException("expected a list of generations of format " + FORMAT
                    + ", found " + value.length + " bytes of format " + value[0]),
                store.path);
        }
        List<int[]> all = new ArrayList<>();
        ByteBuffer bytes = ByteBuffer.wrap(value, 1, value.length - 1);
        while (bytes.hasRemaining()) {
            all.add(new int[] {bytes.getInt(), bytes.get()});
        }
        return all;
    }

    private void write(byte[] key, List<int[]> all) {
        try (Batch batch = store.batch()) {
            put(batch, key, all);
            batch.commit();
        }
    }

    private static void put(Batch batch, byte[] key, List<int[]> all) {
        if (all.isEmpty()) {
            batch.delete(key);
            return;
        }
        ByteBuffer bytes = ByteBuffer.allocate(1 + all.size() * ENTRY).put(FORMAT);
        all.forEach(one -> bytes.putInt(one[0]).put((byte) one[1]));
        batch.put(key, bytes.array(), Batch.NEVER);
    }

    private static byte[] key(TableId table) {
        return ByteBuffer.allocate(17)
            .put((byte) 0)
            .putLong(table.asUUID().getMostSignificantBits())
            .putLong(table.asUUID().getLeastSignificantBits())
            .array();
    }

    private static TableId table(byte[] key) {
        ByteBuffer bytes = ByteBuffer.wrap(key, 1, 16);
        return TableId.fromUUID(new java.util.UUID(bytes.getLong(), bytes.getLong()));
    }
}
