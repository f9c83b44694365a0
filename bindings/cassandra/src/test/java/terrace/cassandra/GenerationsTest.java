package terrace.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Path;
import java.util.List;
import org.apache.cassandra.schema.TableId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Generations of tables over restarts, without a node. */
class GenerationsTest {
    private static Store store(Path place) {
        return Store.at(System.getProperty("terrace.library"), place.toString(), 0);
    }

    private static void fill(Store store, TableId table, int generation) {
        try (Batch batch = store.batch()) {
            batch.put(row(table, generation), new byte[] {1}, Batch.NEVER);
            batch.commit();
        }
    }

    private static byte[] row(TableId table, int generation) {
        byte[] start = new Keys(table, generation).start();
        byte[] key = java.util.Arrays.copyOf(start, start.length + 1);
        key[start.length] = 7;
        return key;
    }

    @Test
    void aRestartTakesTheNewestGenerationAndPoursTheOthers(@TempDir Path place) {
        Store store = store(place);
        TableId table = TableId.generate();
        Generations before = new Generations(store);
        assertEquals(1, before.begin(table).generation);
        assertEquals(2, before.begin(table).generation);
        Generations.Begun after = new Generations(store).begin(table);
        assertEquals(2, after.generation);
        assertEquals(List.of(1), after.unfinished);
    }

    @Test
    void aRestartFindsAGenerationWhoseRecordFoundNoSpace(@TempDir Path place) {
        Store store = store(place);
        TableId table = TableId.generate();
        new Generations(store).begin(table);
        fill(store, table, 2);
        Generations found = new Generations(store);
        Generations.Begun after = found.begin(table);
        assertEquals(2, after.generation);
        assertEquals(List.of(1), after.unfinished);
        found.remove(table, 1);
        after = new Generations(store).begin(table);
        assertEquals(2, after.generation);
        assertEquals(List.of(), after.unfinished);
    }

    @Test
    void aDeadGenerationIsNotFoundAgain(@TempDir Path place) {
        Store store = store(place);
        TableId table = TableId.generate();
        Generations before = new Generations(store);
        before.begin(table);
        fill(store, table, 1);
        before.begin(table);
        before.kill(table, 1, true);
        Generations.Begun after = new Generations(store).begin(table);
        assertEquals(2, after.generation);
        assertEquals(List.of(), after.unfinished);
        Keys dead = new Keys(table, 1);
        assertFalse(store.exists(dead.start(), dead.end()));
    }

    @Test
    void theLastGenerationIsNotTakenAgainOnceItIsDead(@TempDir Path place) {
        Store store = store(place);
        TableId table = TableId.generate();
        Generations before = new Generations(store);
        before.begin(table);
        before.kill(table, 1, true);
        assertEquals(2, before.begin(table).generation);
        assertEquals(2, new Generations(store).begin(table).generation);
    }
}
