package terrace.cassandra;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.Session;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The load of {@code cargo xtask cluster --compare}: writes of 1 KiB at QUORUM by several threads,
 * each to one of half as many rows, all equally likely.
 *
 * <pre>
 *   Rate make HOSTS TABLE MEMTABLE
 *   Rate write HOSTS TABLE WRITES
 * </pre>
 */
public final class Rate {
    private static final int VALUE = 1024;
    private static final int ROWS = 100;
    private static final int THREADS = 16;

    private Rate() {}

    public static void main(String[] words) throws Exception {
        try (Cluster cluster = Load.connect(words[1])) {
            Session session = cluster.connect();
            if (words[0].equals("make")) {
                session.execute("CREATE KEYSPACE IF NOT EXISTS loops WITH replication = "
                    + "{'class': 'SimpleStrategy', 'replication_factor': 3}");
                session.execute("CREATE TABLE loops." + words[2]
                    + " (p int, c int, v blob, PRIMARY KEY (p, c)) WITH memtable = '"
                    + words[3] + "'");
            } else {
                write(session, words[2], Integer.parseInt(words[3]));
            }
        }
    }

    private static void write(Session session, String table, int writes) throws Exception {
        PreparedStatement insert =
            session.prepare("INSERT INTO loops." + table + " (p, c, v) VALUES (?, ?, ?)");
        insert.setConsistencyLevel(ConsistencyLevel.QUORUM);
        long[] micros = new long[writes];
        boolean[] written = new boolean[writes / 2];
        AtomicInteger next = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(THREADS);
        long began = System.nanoTime();
        for (int t = 0; t < THREADS; t++) {
            pool.submit(() -> {
                for (int i = next.getAndIncrement(); i < writes; i = next.getAndIncrement()) {
                    Random random = new Random(i * 1_000_003L);
                    int row = random.nextInt(writes / 2);
                    byte[] value = new byte[VALUE];
                    random.nextBytes(value);
                    long start = System.nanoTime();
                    try {
                        session.execute(
                            insert.bind(row / ROWS, row % ROWS, ByteBuffer.wrap(value)));
                    } catch (RuntimeException error) {
                        failed.incrementAndGet();
                    }
                    micros[i] = (System.nanoTime() - start) / 1000;
                    written[row] = true;
                }
            });
        }
        pool.shutdown();
        if (!pool.awaitTermination(1, TimeUnit.HOURS)) {
            throw new IllegalStateException("expected the writes to end in an hour");
        }
        long took = (System.nanoTime() - began) / 1_000_000;
        Arrays.sort(micros);
        int rows = 0;
        for (boolean one : written) {
            rows += one ? 1 : 0;
        }
        System.out.println("written " + (long) writes * VALUE + " live " + (long) rows * VALUE
            + " failed " + failed + " millis " + took + " p50_us " + micros[writes / 2]
            + " p99_us " + micros[(int) (writes * 0.99)]);
    }
}
