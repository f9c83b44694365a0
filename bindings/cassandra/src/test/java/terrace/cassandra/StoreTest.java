package terrace.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.cassandra.io.sstable.CorruptSSTableException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The opening of a store, without a node. */
class StoreTest {
    @Test
    void anOpeningThatFailsLeavesTheStoreClosed(@TempDir Path place) {
        String library = System.getProperty("terrace.library");
        Library.load(library);
        byte[] path = place.toString().getBytes(StandardCharsets.UTF_8);
        long[] store = new long[1];
        Library.Options options = new Library.Options();
        assertEquals(
            Failure.OK, Library.terrace_store_open(path, path.length, options, store));
        long space = Library.terrace_store_default(store[0]);
        try (Batch batch = new Batch(store[0], space, place.toString())) {
            byte[] table = new byte[17];
            byte[] noList = {9, 9};
            batch.put(table, noList, Batch.NEVER);
            batch.commit();
        }
        assertEquals(Failure.OK, Library.terrace_store_close(store[0]));
        for (int i = 0; i < 2; i++) {
            assertThrows(CorruptSSTableException.class,
                () -> Store.at(library, place.toString(), 0));
        }
    }
}
