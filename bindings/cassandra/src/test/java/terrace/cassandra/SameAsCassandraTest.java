package terrace.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The same random statements on a table on Terrace and on one of Cassandra's own: both answer every
 * query with the same rows.
 */
class SameAsCassandraTest {
    private static final String COLUMNS =
        " (p int, c int, d text, s text static, t set<int> static, v int, w text, m map<int, text>,"
            + " q set<int>, l list<int>, PRIMARY KEY (p, c, d))"
            + " WITH CLUSTERING ORDER BY (c DESC, d ASC) AND memtable = '%s'";

    @BeforeAll
    static void start() throws Exception {
        Node.start();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void randomStatements(long seed) {
        String ours = "k.ours" + seed;
        String theirs = "k.theirs" + seed;
        Node.run("CREATE TABLE " + ours + String.format(COLUMNS, "terrace"));
        Node.run("CREATE TABLE " + theirs + String.format(COLUMNS, "default"));
        Random random = new Random(seed);
        List<String> done = new ArrayList<>();
        int found = 0;
        for (int i = 0; i < 600; i++) {
            String statement = statement(random, i);
            done.add(statement);
            QueryProcessor.executeInternal(statement.replace("TABLE", ours));
            QueryProcessor.executeInternal(statement.replace("TABLE", theirs));
            if (i % 97 == 96) {
                Node.table("theirs" + seed)
                    .forceBlockingFlush(ColumnFamilyStore.FlushReason.UNIT_TESTS);
            }
            if (i % 5 == 4) {
                String query = query(random);
                List<String> expected = Node.rows(query.replace("TABLE", theirs));
                found += expected.size();
                assertEquals(expected, Node.rows(query.replace("TABLE", ours)),
                    () -> "seed " + seed + ": " + query + " after " + done);
            }
        }
        assertEquals(Node.rows("SELECT * FROM " + theirs), Node.rows("SELECT * FROM " + ours));
        assertEquals(Node.rows("SELECT * FROM " + theirs),
            Node.pages("SELECT * FROM " + ours, 3));
        assertTrue(found > 100, "expected rows to compare, found " + found);
    }

    private static String statement(Random random, int i) {
        int p = random.nextInt(4);
        String row = "p = " + p + " AND c = " + random.nextInt(5)
            + " AND d = '" + "abc".charAt(random.nextInt(3)) + "'";
        String at = " USING TIMESTAMP " + (1 + random.nextInt(400));
        // Two statements with an expiry never have the same time, or the second would decide.
        String expiring = " USING TTL 10000 AND TIMESTAMP " + (1000 * random.nextInt(400) + i) / 1000;
        int x = random.nextInt(6);
        switch (random.nextInt(17)) {
            case 0:
            case 1:
            case 2:
                return "INSERT INTO TABLE (p, c, d, v, w) VALUES (" + p + ", " + random.nextInt(5)
                    + ", '" + "abc".charAt(random.nextInt(3)) + "', " + x + ", 'w" + i + "')" + at;
            case 3:
                return "UPDATE TABLE" + at + " SET v = " + x + " WHERE " + row;
            case 4:
                return "UPDATE TABLE" + at + " SET s = 's" + x + "' WHERE p = " + p;
            case 5:
                return "UPDATE TABLE" + at + " SET t = t + {" + x + "} WHERE p = " + p;
            case 6:
                return "UPDATE TABLE" + at + " SET m[" + x + "] = 'm" + i + "' WHERE " + row;
            case 7:
                return "UPDATE TABLE" + at + " SET m = {" + x + ": 'n'} WHERE " + row;
            case 8:
                return "UPDATE TABLE" + at + " SET q = q + {" + x + "}, l = l + [" + x
                    + "] WHERE " + row;
            case 9:
                return "DELETE v, m[" + x + "] FROM TABLE" + at + " WHERE " + row;
            case 10:
                return "DELETE FROM TABLE" + at + " WHERE " + row;
            case 11:
                return "DELETE FROM TABLE" + at + " WHERE p = " + p + " AND c >= " + x % 5
                    + " AND c < " + (x % 5 + 1 + random.nextInt(3));
            case 12:
                return "DELETE FROM TABLE" + at + " WHERE p = " + p + " AND c = " + x % 5
                    + " AND d > 'a'";
            case 13:
                return random.nextInt(3) > 0
                    ? "DELETE s FROM TABLE" + at + " WHERE p = " + p
                    : "DELETE FROM TABLE" + at + " WHERE p = " + p;
            case 14:
                return "UPDATE TABLE" + expiring + " SET w = 'e" + i + "' WHERE " + row;
            case 15:
                return "BEGIN UNLOGGED BATCH" + at + " DELETE FROM TABLE WHERE p = " + p
                    + " AND c > " + x + "; UPDATE TABLE SET v = " + i + " WHERE " + row
                    + "; APPLY BATCH";
            default:
                return "DELETE q, l FROM TABLE" + at + " WHERE " + row;
        }
    }

    private static String query(Random random) {
        String p = "SELECT * FROM TABLE WHERE p = " + random.nextInt(4);
        int c = random.nextInt(5);
        switch (random.nextInt(10)) {
            case 0:
                return p;
            case 1:
                return p + " ORDER BY c ASC, d DESC";
            case 2:
                return p + " AND c > " + c;
            case 3:
                return p + " AND c <= " + c + " ORDER BY c ASC, d DESC";
            case 4:
                return p + " AND c = " + c + " AND d >= 'b'";
            case 5:
                return p + " AND c IN (1, 3) AND d IN ('a', 'c')";
            case 6:
                return p + " LIMIT 3";
            case 7:
                return "SELECT DISTINCT p, s, t FROM TABLE";
            case 8:
                return "SELECT p, c, d, v, WRITETIME(v), w FROM TABLE WHERE token(p) > "
                    + random.nextLong();
            default:
                return "SELECT * FROM TABLE WHERE c = " + c + " PER PARTITION LIMIT 2"
                    + " ALLOW FILTERING";
        }
    }
}
