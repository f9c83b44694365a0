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
 *
 * <p>A table can be truncated or dropped on a full drive, which takes deletes alone. A new
 * generation whose number follows the last one of the list needs no place in it: if it has data, a
 * restart finds it. A generation that cannot be marked dead loses its data at once.
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
        int recorded = newest(read(key(table)));
        List<int[]> all = known(table);
        boolean isFirst = !current.containsKey(table);
        if (isFirst && hasData(table, recorded + 1)) {
            all.add(new int[] {recorded + 1, 0});
        }
        boolean continues = isFirst && !all.isEmpty() && all.get(all.size() - 1)[1] == 0;
        int generation = continues ? newest(all) : newest(all) + 1;
        List<Integer> unfinished = new ArrayList<>();
        if (isFirst) {
            all.stream().filter(one -> one[1] == 0 && one[0] != generation)
                .forEach(one -> unfinished.add(one[0]));
        }
        if (!continues) {
            all.add(new int[] {generation, 0});
        }
        if (generation == recorded + 1) {
            writeIfThereIsSpace(key(table), all);
        } else if (generation > recorded) {
            write(key(table), all);
        }
        current.put(table, generation);
        return new Begun(generation, isFirst, unfinished);
    }

    /** The list of a table, with its current generation even if that found no space. */
    private List<int[]> known(TableId table) {
        List<int[]> all = read(key(table));
        Integer now = current.get(table);
        if (now != null && now > newest(all)) {
            all.add(new int[] {now, 0});
        }
        return all;
    }

    /** The number of the last generation in a list; 0 for none. */
    private static int newest(List<int[]> all) {
        return all.isEmpty() ? 0 : all.get(all.size() - 1)[0];
    }

    private boolean hasData(TableId table, int generation) {
        Keys keys = new Keys(table, generation);
        return store.exists(keys.start(), keys.end());
    }

    /**
     * From now on, a restart does not find this generation. {@code mayDelete}: whether its data is
     * not needed any more, and goes at once if there is no space for the mark.
     */
    synchronized void kill(TableId table, int generation, boolean mayDelete) {
        List<int[]> all = known(table);
        for (int[] one : all) {
            if (one[0] == generation) {
                one[1] = 1;
            }
        }
        if (!mayDelete) {
            write(key(table), all);
        } else if (!writeIfThereIsSpace(key(table), all)) {
            deleteData(table, generation);
        }
    }

    /** Removes a generation and all its data. */
    synchronized void remove(TableId table, int generation) {
        List<int[]> all = known(table);
        all.removeIf(one -> one[0] == generation);
        deleteData(table, generation);
        // Without space, the generation stays in the list, and has no data.
        writeIfThereIsSpace(key(table), all);
    }

    private void deleteData(TableId table, int generation) {
        Keys keys = new Keys(table, generation);
        try (Batch batch = store.batch()) {
            batch.deleteRange(keys.start(), keys.end());
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

    /** Writes a list; false if the drive is full. */
    private boolean writeIfThereIsSpace(byte[] key, List<int[]> all) {
        try {
            write(key, all);
            return true;
        } catch (Failure.EngineException error) {
            if (error.code != Failure.NO_SPACE) {
                throw error;
            }
            return false;
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
