package terrace.cassandra;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.ResultSet;
import com.datastax.driver.core.Row;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.SimpleStatement;
import com.datastax.driver.core.Statement;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Changes of the schema, and conditional updates by several threads on few rows.
 *
 * <pre>
 *   Changes HOSTS SECONDS
 * </pre>
 *
 * <p>A conditional update makes a register's number greater by one. At the end each register must
 * have at least the number of updates that were applied, and at most these and those that failed,
 * of which it is not known. Every change of the schema that succeeds is looked at: the new table
 * takes a row and returns it, a column takes a value and returns it. A change may be refused while
 * a node is down; the next one takes a new name.
 */
public final class Changes {
    private static final int REGISTERS = 4;
    private static final int THREADS = 4;

    private final Session session;
    private final AtomicBoolean ends = new AtomicBoolean();
    private final AtomicLongArray applied = new AtomicLongArray(REGISTERS);
    private final AtomicLongArray unknown = new AtomicLongArray(REGISTERS);
    private final long[] before = new long[REGISTERS];
    private final AtomicInteger changed = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger wrong = new AtomicInteger();

    private Changes(Session session) {
        this.session = session;
    }

    public static void main(String[] words) throws Exception {
        try (Cluster cluster = Load.connect(words[0])) {
            System.exit(new Changes(cluster.connect("loops")).run(Integer.parseInt(words[1])));
        }
    }

    private int run(int seconds) throws Exception {
        session.execute("CREATE TABLE IF NOT EXISTS registers (k int PRIMARY KEY, n bigint) "
            + "WITH memtable = 'terrace'");
        PreparedStatement begin =
            session.prepare("INSERT INTO registers (k, n) VALUES (?, 0) IF NOT EXISTS");
        for (int k = 0; k < REGISTERS; k++) {
            session.execute(begin.bind(k));
            before[k] = patiently(k);
        }
        ExecutorService pool = Executors.newFixedThreadPool(THREADS + 1);
        for (int t = 0; t < THREADS; t++) {
            int first = t;
            pool.submit(() -> update(first));
        }
        pool.submit(this::change);
        System.out.println("begun");
        Thread.sleep(seconds * 1000L);
        ends.set(true);
        pool.shutdown();
        if (!pool.awaitTermination(2, TimeUnit.MINUTES)) {
            throw new IllegalStateException("expected the updates to end in two minutes");
        }
        return report();
    }

    private int report() throws Exception {
        long sum = 0;
        long failed = 0;
        for (int k = 0; k < REGISTERS; k++) {
            long least = before[k] + applied.get(k);
            long most = least + unknown.get(k);
            long found = patiently(k);
            sum += applied.get(k);
            failed += unknown.get(k);
            if (found < least || found > most) {
                wrong.incrementAndGet();
                System.err.println("register " + k + ": expected " + least + " to " + most
                    + ", found " + found);
            }
        }
        System.out.println("applied " + sum + " unknown " + failed + " changed " + changed
            + " refused " + refused + " wrong " + wrong);
        return wrong.get() == 0 ? 0 : 1;
    }

    /** Makes registers greater until the end. */
    private void update(int first) {
        PreparedStatement update =
            session.prepare("UPDATE registers SET n = ? WHERE k = ? IF n = ?");
        update.setConsistencyLevel(ConsistencyLevel.QUORUM);
        update.setSerialConsistencyLevel(ConsistencyLevel.SERIAL);
        long[] known = before.clone();
        for (int i = first; !ends.get(); i++) {
            int k = i % REGISTERS;
            try {
                ResultSet answer = session.execute(update.bind(known[k] + 1, k, known[k]));
                if (answer.wasApplied()) {
                    applied.incrementAndGet(k);
                    known[k]++;
                } else {
                    known[k] = answer.one().getLong("n");
                }
            } catch (RuntimeException error) {
                unknown.incrementAndGet(k);
            }
        }
    }

    /** Makes and drops tables and columns until the end. */
    private void change() {
        for (int i = 0; !ends.get(); i++) {
            String name = "t" + System.nanoTime();
            try {
                session.execute("CREATE TABLE " + name
                    + " (k int PRIMARY KEY, v text) WITH memtable = 'terrace'");
                expect(name, "v", i);
                session.execute("ALTER TABLE " + name + " ADD w text");
                expect(name, "w", i);
                session.execute("ALTER TABLE numbers ADD " + name + " text");
                session.execute("ALTER TABLE numbers DROP " + name);
                session.execute("DROP TABLE " + name);
                changed.incrementAndGet();
            } catch (RuntimeException error) {
                System.err.println("change: " + error);
                refused.incrementAndGet();
            }
        }
    }

    private void expect(String table, String column, int i) {
        session.execute(quorum("INSERT INTO " + table + " (k, " + column + ") VALUES ("
            + i + ", 'value " + i + "')"));
        Row row = session.execute(quorum("SELECT " + column + " FROM " + table + " WHERE k = "
            + i)).one();
        if (row == null || !("value " + i).equals(row.getString(0))) {
            wrong.incrementAndGet();
            System.err.println(
                table + "." + column + ": expected value " + i + ", found " + row);
        }
    }

    private static Statement quorum(String statement) {
        return new SimpleStatement(statement)
            .setConsistencyLevel(ConsistencyLevel.QUORUM);
    }

    /** A register at SERIAL; a read that fails is repeated a few times. */
    private long patiently(int k) throws InterruptedException {
        for (int left = 30;; left--) {
            try {
                return session.execute(new SimpleStatement(
                    "SELECT n FROM registers WHERE k = " + k)
                    .setConsistencyLevel(ConsistencyLevel.SERIAL)).one().getLong("n");
            } catch (RuntimeException error) {
                if (left == 0) {
                    throw error;
                }
                Thread.sleep(1000);
            }
        }
    }
}
