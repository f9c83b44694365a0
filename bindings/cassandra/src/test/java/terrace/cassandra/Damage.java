package terrace.cassandra;

import java.util.ArrayList;
import java.util.List;

/**
 * Deletes every fifth row of all tables in a store, without Cassandra's knowledge, and prints
 * their number.
 *
 * <pre>
 *   Damage LIBRARY STORE
 * </pre>
 */
public final class Damage {
    private static final int EVERY = 5;

    private Damage() {}

    public static void main(String[] words) {
        Store store = Store.at(words[0], words[1], 0);
        List<byte[]> lost = new ArrayList<>();
        try (Cursor cursor = store.cursor(new byte[] {1}, new byte[] {2})) {
            int seen = 0;
            for (boolean on = cursor.first(); on; on = cursor.next()) {
                if (seen++ % EVERY == 0) {
                    lost.add(cursor.key());
                }
            }
        }
        try (Batch batch = store.batch()) {
            lost.forEach(batch::delete);
            batch.commit();
        }
        System.out.println("deleted " + lost.size());
    }
}
