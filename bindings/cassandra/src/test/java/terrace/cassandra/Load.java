package terrace.cassandra;

import com.datastax.driver.core.BoundStatement;
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
 *   Load read HOSTS NOTES        reads at QUORUM, patiently
 *   Load read-one HOST NOTES     reads from this host, at ONE, patiently
 *   Load probe HOSTS NOTES       reads at QUORUM, once
 * </pre>
 *
 * <p>The number of a write is its value, and decides the text next to it, which reads verify. A
 * line of NOTES is a partition, a row, a number, and
 * {@code ok} or {@code ?}; {@code ?} is a write that failed, which may be there or not.
 */
public final class Load {
    private static final int PARTITIONS = 200;
    private static final int ROWS = 10;
    private static final int THREADS = 8;
    private static final int FILLER = 200;

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
                    System.exit(read(cluster.connect("loops"), Path.of(words[2]),
                        ConsistencyLevel.QUORUM));
                    break;
                case "read-one":
                    System.exit(read(cluster.connect("loops"), Path.of(words[2]),
                        ConsistencyLevel.ONE));
                    break;
                case "probe":
                    System.exit(probe(cluster.connect("loops"), Path.of(words[2])));
                    break;
                default:
                    throw new IllegalArgumentException("expected a word that the class names");
            }
        }
    }

    static Cluster connect(String hosts) {
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
                            session.execute(insert.bind(p, c, n, filler(n), n + 1));
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

    /** The text next to a number: compression does not make it much shorter. */
    private static String filler(long n) {
        Random random = new Random(n);
        StringBuilder text = new StringBuilder(FILLER);
        for (int i = 0; i < FILLER; i++) {
            text.append((char) (' ' + random.nextInt(95)));
        }
        return text.toString();
    }

    /** The least and the greatest number that a row may have; -1 for no row. */
    private static final class Expected {
        private long least = -1;
        private long most = -1;

        /** Null if a row is right, else the reason. */
        private String refuse(Row row) {
            long found = row == null ? -1 : row.getLong("n");
            if (found < least || found > most) {
                return "expected " + least + " to " + most + ", found " + found;
            }
            if (row != null && !filler(found).equals(row.getString("filler"))) {
                return "expected the text of " + found + ", found " + row.getString("filler");
            }
            return null;
        }
    }

    private static Map<String, Expected> expected(Path notes) throws Exception {
        Map<String, Expected> expected = new HashMap<>();
        for (String line : Files.readAllLines(notes)) {
            String[] words = line.split(" ");
            long number = Long.parseLong(words[2]);
            Expected one = expected.computeIfAbsent(words[0] + " " + words[1],
                key -> new Expected());
            one.most = Math.max(one.most, number);
            if (words[3].equals("ok")) {
                one.least = Math.max(one.least, number);
            }
        }
        return expected;
    }

    private static PreparedStatement select(Session session, ConsistencyLevel level) {
        PreparedStatement select =
            session.prepare("SELECT n, filler FROM numbers WHERE p = ? AND c = ?");
        return select.setConsistencyLevel(level);
    }

    private static BoundStatement bind(PreparedStatement select, String key) {
        String[] words = key.split(" ");
        return select.bind(Integer.parseInt(words[0]), Integer.parseInt(words[1]));
    }

    /** Reads all rows that have a write; 1 if an acknowledged one is missing or older. */
    private static int read(Session session, Path notes, ConsistencyLevel level)
            throws Exception {
        Map<String, Expected> expected = expected(notes);
        PreparedStatement select = select(session, level);
        long lost = 0;
        for (Map.Entry<String, Expected> one : expected.entrySet()) {
            String refused = one.getValue().refuse(
                patiently(session, bind(select, one.getKey())));
            if (refused != null) {
                lost++;
                System.out.println("row " + one.getKey() + ": " + refused);
            }
        }
        System.out.println("rows " + expected.size() + " lost " + lost);
        return lost == 0 ? 0 : 1;
    }

    /** Reads each row once; 1 if one is wrong. A read that fails is counted. */
    private static int probe(Session session, Path notes) throws Exception {
        PreparedStatement select = select(session, ConsistencyLevel.QUORUM);
        int right = 0;
        int failed = 0;
        int wrong = 0;
        for (Map.Entry<String, Expected> one : expected(notes).entrySet()) {
            try {
                Row row = session.execute(bind(select, one.getKey())).one();
                String refused = one.getValue().refuse(row);
                if (refused == null) {
                    right++;
                } else {
                    wrong++;
                    System.out.println("row " + one.getKey() + ": " + refused);
                }
            } catch (RuntimeException error) {
                failed++;
            }
        }
        System.out.println("right " + right + " failed " + failed + " wrong " + wrong);
        return wrong == 0 ? 0 : 1;
    }

    /** A read may time out while a node starts; it is repeated a few times. */
    private static Row patiently(Session session, BoundStatement select)
            throws InterruptedException {
        for (int left = 20;; left--) {
            try {
                return session.execute(select).one();
            } catch (RuntimeException error) {
                if (left == 0) {
                    throw error;
                }
                Thread.sleep(1000);
            }
        }
    }
}
