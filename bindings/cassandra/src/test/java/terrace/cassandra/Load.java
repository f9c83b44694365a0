package terrace.cassandra;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.Row;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.SocketOptions;
import com.datastax.driver.core.policies.ConstantReconnectionPolicy;
import com.datastax.driver.core.policies.FallthroughRetryPolicy;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The client of {@code cargo xtask cluster}: writes at QUORUM and notes what was acknowledged;
 * reads it back.
 *
 * <pre>
 *   Load schema HOSTS MEMTABLE
 *   Load write HOSTS SEED FIRST COUNT NOTES
 *   Load read HOSTS NOTES
 * </pre>
 *
 * <p>The number of a write is its value. A line of NOTES is a partition, a row, a number, and
 * {@code ok} or {@code ?}; {@code ?} is a write that failed, which may be there or not.
 */
public final class Load {
    private static final int PARTITIONS = 200;
    private static final int ROWS = 10;
    private static final int THREADS = 8;

    private Load() {}

    public static void main(String[] words) throws Exception {
        try (Cluster cluster = connect(words[1])) {
            switch (words[0]) {
                case "schema":
                    schema(cluster.connect(), words[2]);
                    break;
                case "write":
                    write(cluster.connect("loops"), Long.parseLong(words[2]),
                        Long.parseLong(words[3]), Long.parseLong(words[4]), Path.of(words[5]));
                    break;
                case "read":
                    System.exit(read(cluster.connect("loops"), Path.of(words[2])));
                    break;
                default:
                    throw new IllegalArgumentException("expected schema, write or read");
            }
        }
    }

    private static Cluster connect(String hosts) {
        return Cluster.builder()
            .addContactPoints(hosts.split(","))
            .withoutMetrics()
            .withoutJMXReporting()
            .withReconnectionPolicy(new ConstantReconnectionPolicy(500))
            .withRetryPolicy(FallthroughRetryPolicy.INSTANCE)
            .withSocketOptions(new SocketOptions().setReadTimeoutMillis(15_000)
                .setConnectTimeoutMillis(10_000))
            .build();
    }

    private static void schema(Session session, String memtable) {
        session.execute("CREATE KEYSPACE IF NOT EXISTS loops WITH replication = "
            + "{'class': 'SimpleStrategy', 'replication_factor': 3}");
        session.execute("CREATE TABLE IF NOT EXISTS loops.numbers "
            + "(p int, c int, n bigint, filler text, PRIMARY KEY (p, c)) "
            + "WITH memtable = '" + memtable + "'");
    }

    private static void write(Session session, long seed, long first, long count, Path notes)
            throws Exception {
        PreparedStatement insert = session.prepare(
            "INSERT INTO numbers (p, c, n, filler) VALUES (?, ?, ?, ?) USING TIMESTAMP ?");
        insert.setConsistencyLevel(ConsistencyLevel.QUORUM);
        AtomicLong next = new AtomicLong(first);
        AtomicLong acknowledged = new AtomicLong();
        List<Long> nanos = new ArrayList<>();
        String filler = "x".repeat(200);
        try (PrintStream out = new PrintStream(Files.newOutputStream(notes,
                java.nio.file.StandardOpenOption.CREATE,
                java.nio.file.StandardOpenOption.APPEND))) {
            ExecutorService pool = Executors.newFixedThreadPool(THREADS);
            System.out.println("begun");
            for (int t = 0; t < THREADS; t++) {
                pool.submit(() -> {
                    for (long n = next.getAndIncrement(); n < first + count;
                         n = next.getAndIncrement()) {
                        Random random = new Random(seed * 1_000_003 + n);
                        int p = random.nextInt(PARTITIONS);
                        int c = random.nextInt(ROWS);
                        String end;
                        long began = System.nanoTime();
                        try {
                            // The number is the time, so that the greatest number wins.
                            session.execute(insert.bind(p, c, n, filler, n + 1));
                            acknowledged.incrementAndGet();
                            end = "ok";
                        } catch (RuntimeException error) {
                            end = "?";
                        }
                        long took = System.nanoTime() - began;
                        synchronized (nanos) {
                            nanos.add(took);
                            out.println(p + " " + c + " " + n + " " + end);
                        }
                    }
                });
            }
            pool.shutdown();
            if (!pool.awaitTermination(5, TimeUnit.MINUTES)) {
                throw new IllegalStateException("expected the writes to end in five minutes");
            }
        }
        nanos.sort(null);
        long p99 = nanos.get((int) (nanos.size() * 0.99)) / 1000;
        System.out.println("acknowledged " + acknowledged + " failed "
            + (count - acknowledged.get()) + " p99_us " + p99);
    }

    /** Reads all rows that have an acknowledged write; 1 if one of them is missing or older. */
    private static int read(Session session, Path notes) throws Exception {
        Map<String, long[]> expected = new HashMap<>();
        for (String line : Files.readAllLines(notes)) {
            String[] words = line.split(" ");
            long number = Long.parseLong(words[2]);
            long[] range = expected.computeIfAbsent(words[0] + " " + words[1],
                key -> new long[] {-1, -1});
            range[1] = Math.max(range[1], number);
            if (words[3].equals("ok")) {
                range[0] = Math.max(range[0], number);
            }
        }
        PreparedStatement select = session.prepare("SELECT n FROM numbers WHERE p = ? AND c = ?");
        select.setConsistencyLevel(ConsistencyLevel.QUORUM);
        long lost = 0;
        for (Map.Entry<String, long[]> one : expected.entrySet()) {
            String[] words = one.getKey().split(" ");
            Row row = patiently(session, select, Integer.parseInt(words[0]),
                Integer.parseInt(words[1]));
            long found = row == null ? -1 : row.getLong("n");
            if (found < one.getValue()[0] || found > one.getValue()[1]) {
                lost++;
                System.out.println("row " + one.getKey() + ": expected " + one.getValue()[0]
                    + " to " + one.getValue()[1] + ", found " + found);
            }
        }
        System.out.println("rows " + expected.size() + " lost " + lost);
        return lost == 0 ? 0 : 1;
    }

    /** A read may time out while a node starts; it is repeated a few times. */
    private static Row patiently(Session session, PreparedStatement select, int p, int c)
            throws InterruptedException {
        for (int left = 20;; left--) {
            try {
                return session.execute(select.bind(p, c)).one();
            } catch (RuntimeException error) {
                if (left == 0) {
                    throw error;
                }
                Thread.sleep(1000);
            }
        }
    }
}
