package terrace.cassandra;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.SimpleStatement;
import java.nio.ByteBuffer;
import java.util.Random;

/**
 * Fills the smallest drive of a cluster, and frees it.
 *
 * <pre>
 *   Fill fill HOSTS     writes at ALL until some in succession fail; prints the number before
 *   Fill free HOSTS     truncates the table; writes at ALL until one succeeds; prints seconds
 * </pre>
 */
public final class Fill {
    private static final int VALUE = 64 << 10;
    private static final int FAILURES = 5;
    private static final int WRITES_MAX = 20_000;
    private static final long FREE_MAX_S = 120;

    private Fill() {}

    public static void main(String[] words) throws Exception {
        try (Cluster cluster = Load.connect(words[1])) {
            Session session = cluster.connect();
            session.execute("CREATE TABLE IF NOT EXISTS loops.filler (k int PRIMARY KEY, v blob) "
                + "WITH memtable = 'terrace'");
            PreparedStatement insert =
                session.prepare("INSERT INTO loops.filler (k, v) VALUES (?, ?)");
            insert.setConsistencyLevel(ConsistencyLevel.ALL);
            if (words[0].equals("fill")) {
                System.out.println("filled " + fill(session, insert));
            } else {
                System.out.println("freed " + free(session, insert));
            }
        }
    }

    private static int fill(Session session, PreparedStatement insert) {
        int failures = 0;
        for (int k = 0; k < WRITES_MAX; k++) {
            try {
                session.execute(insert.bind(k, value(k)));
                failures = 0;
            } catch (RuntimeException error) {
                System.err.println("write " + k + ": " + error);
                if (++failures == FAILURES) {
                    return k + 1 - FAILURES;
                }
            }
        }
        throw new IllegalStateException("expected a full drive after " + WRITES_MAX + " writes");
    }

    private static long free(Session session, PreparedStatement insert) throws Exception {
        session.execute(new SimpleStatement("TRUNCATE loops.filler").setReadTimeoutMillis(70_000));
        long began = System.nanoTime();
        while (true) {
            long seconds = (System.nanoTime() - began) / 1_000_000_000;
            try {
                session.execute(insert.bind(-1, value(-1)));
                return seconds;
            } catch (RuntimeException error) {
                if (seconds > FREE_MAX_S) {
                    throw error;
                }
                Thread.sleep(1000);
            }
        }
    }

    private static ByteBuffer value(int k) {
        byte[] bytes = new byte[VALUE];
        new Random(k).nextBytes(bytes);
        return ByteBuffer.wrap(bytes);
    }
}
