package terrace.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.ColumnFamilyStore.FlushReason;
import org.apache.cassandra.db.PartitionPosition;
import org.apache.cassandra.dht.Range;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.utils.concurrent.Refs;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What happens to a table as a whole: files, truncation, schema changes, snapshots, expiry. */
class LifeOfATableTest {
    @BeforeAll
    static void start() throws Exception {
        Node.start();
    }

    private static void create(String name, String more) {
        Node.run("CREATE TABLE k." + name + " (p int, c int, v int, PRIMARY KEY (p, c))"
            + " WITH memtable = 'terrace'" + more);
    }

    private static List<Path> dataFiles(String name) throws Exception {
        Path folder = table(name).getDirectories().getDirectoryForNewSSTables().toPath();
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith("-Data.db")).toList();
        }
    }

    private static ColumnFamilyStore table(String name) {
        return Node.table(name);
    }

    @Test
    void aWidePartitionIsPagedThrough() {
        create("wide", "");
        for (int i = 0; i < 10_000; i++) {
            org.apache.cassandra.cql3.QueryProcessor.executeInternal(
                "INSERT INTO k.wide (p, c, v) VALUES (1, ?, ?)", i, -i);
        }
        List<String> forward = Node.pages("SELECT c FROM k.wide WHERE p = 1", 100);
        assertEquals(10_000, forward.size());
        assertEquals("c=0 ", forward.get(0));
        assertEquals("c=9999 ", forward.get(9999));
        assertEquals(List.of("c=9999 ", "c=9998 "),
            Node.rows("SELECT c FROM k.wide WHERE p = 1 ORDER BY c DESC LIMIT 2"));
        assertEquals(List.of("c=5001 v=-5001 "),
            Node.rows("SELECT c, v FROM k.wide WHERE p = 1 AND c > 5000 LIMIT 1"));
        Node.run("DELETE FROM k.wide WHERE p = 1 AND c >= 10 AND c < 9990");
        assertEquals(20, Node.pages("SELECT c FROM k.wide WHERE p = 1", 7).size());
        Node.run("DELETE FROM k.wide WHERE p = 1");
        assertEquals(List.of(), Node.rows("SELECT c FROM k.wide WHERE p = 1"));
    }

    @Test
    void aFlushWritesNoFile() throws Exception {
        create("flushed", "");
        Node.run("INSERT INTO k.flushed (p, c, v) VALUES (1, 2, 3)");
        table("flushed").forceBlockingFlush(FlushReason.USER_FORCED);
        assertEquals(List.of(), dataFiles("flushed"));
        assertEquals(List.of("v=3 "), Node.rows("SELECT v FROM k.flushed"));
    }

    @Test
    void aTruncatedTableIsEmptyAndTakesWrites() {
        create("cut", "");
        Node.run("INSERT INTO k.cut (p, c, v) VALUES (1, 2, 3)");
        for (boolean withSnapshot : new boolean[] {false, true}) {
            if (withSnapshot) {
                table("cut").truncateBlocking();
            } else {
                table("cut").truncateBlockingWithoutSnapshot();
            }
            assertEquals(List.of(), Node.rows("SELECT * FROM k.cut"));
            assertTrue(table("cut").getTracker().getView().getCurrentMemtable().isClean());
            Node.run("INSERT INTO k.cut (p, c, v) VALUES (1, 2, 4)");
            assertEquals(List.of("v=4 "), Node.rows("SELECT v FROM k.cut"));
        }
    }

    @Test
    void aDroppedTableComesBackEmpty() {
        create("dropped", "");
        Node.run("INSERT INTO k.dropped (p, c, v) VALUES (1, 2, 3)");
        Node.run("DROP TABLE k.dropped");
        create("dropped", "");
        assertEquals(List.of(), Node.rows("SELECT * FROM k.dropped"));
    }

    @Test
    void columnsComeAndGo() {
        create("altered", "");
        Node.run("INSERT INTO k.altered (p, c, v) VALUES (1, 2, 3)");
        Node.run("ALTER TABLE k.altered ADD extra text");
        Node.run("UPDATE k.altered SET extra = 'x' WHERE p = 1 AND c = 2");
        assertEquals(List.of("v=3 extra=x "), Node.rows("SELECT v, extra FROM k.altered"));
        Node.run("ALTER TABLE k.altered DROP v");
        assertEquals(List.of("p=1 c=2 extra=x "), Node.rows("SELECT * FROM k.altered"));
        Node.run("ALTER TABLE k.altered ADD v int");
        assertEquals(List.of("p=1 c=2 extra=x v=null "), Node.rows("SELECT * FROM k.altered"));
    }

    @Test
    void aTableMovesToFilesAndBack() throws Exception {
        create("moved", "");
        Node.run("INSERT INTO k.moved (p, c, v) VALUES (1, 2, 3)");
        Node.run("ALTER TABLE k.moved WITH memtable = 'default'");
        table("moved").forceBlockingFlush(FlushReason.USER_FORCED);
        assertEquals(1, dataFiles("moved").size());
        assertEquals(List.of("v=3 "), Node.rows("SELECT v FROM k.moved"));
        Node.run("ALTER TABLE k.moved WITH memtable = 'terrace'");
        Node.run("INSERT INTO k.moved (p, c, v) VALUES (1, 3, 4)");
        Node.run("DELETE FROM k.moved WHERE p = 1 AND c = 2");
        assertEquals(List.of("v=4 "), Node.rows("SELECT v FROM k.moved"));
    }

    @Test
    void aSnapshotIsOfTableFiles() throws Exception {
        create("shot", "");
        Node.run("INSERT INTO k.shot (p, c, v) VALUES (1, 2, 3)");
        table("shot").snapshot("first");
        Path folder = table("shot").getDirectories().getDirectoryForNewSSTables().toPath()
            .resolve("snapshots/first");
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(1, files.filter(f -> f.toString().endsWith("-Data.db")).count());
        }
        assertEquals(List.of(), dataFiles("shot"));
        assertTrue(table("shot").getLiveSSTables().isEmpty());
    }

    @Test
    void filesOfStreamsAreRemovedAtTheNextStart() throws Exception {
        create("streamed", "");
        Node.run("INSERT INTO k.streamed (p, c, v) VALUES (1, 2, 3)");
        PartitionPosition minimum = table("streamed").getPartitioner().getMinimumToken()
            .minKeyBound();
        try (Refs<SSTableReader> written = new Refs<>()) {
            table("streamed").writeAndAddMemtableRanges(
                null, () -> List.of(new Range<>(minimum, minimum)), written);
        }
        assertEquals(1, dataFiles("streamed").size());
        TableFiles.sweep(table("streamed").metadata());
        assertEquals(List.of(), dataFiles("streamed"));

        create("kept", "");
        Node.run("INSERT INTO k.kept (p, c, v) VALUES (1, 2, 3)");
        Node.run("ALTER TABLE k.kept WITH memtable = 'default'");
        table("kept").forceBlockingFlush(FlushReason.USER_FORCED);
        TableFiles.sweep(table("kept").metadata());
        assertEquals(1, dataFiles("kept").size());
    }

    @Test
    void expiredCellsAreInvisibleAndForgottenAfterTheirGrace() throws Exception {
        create("short", " AND gc_grace_seconds = 1");
        Node.run("INSERT INTO k.short (p, c, v) VALUES (1, 1, 1) USING TTL 2");
        Node.run("INSERT INTO k.short (p, c, v) VALUES (2, 2, 2)");
        Node.run("UPDATE k.short USING TTL 2 SET v = 3 WHERE p = 2 AND c = 2");
        assertEquals(2, Node.rows("SELECT * FROM k.short").size());
        Thread.sleep(3000);
        assertEquals(List.of("p=2 c=2 v=null "), Node.rows("SELECT * FROM k.short"));
        Node.run("DELETE FROM k.short WHERE p = 2");
        assertEquals(List.of(), Node.rows("SELECT * FROM k.short"));
        assertFalse(table("short").getTracker().getView().getCurrentMemtable().isClean());
        Thread.sleep(4000);
        assertEquals(0, table("short").getTracker().getView().getCurrentMemtable()
            .partitionCount());
    }

    @Test
    void conditionalInsertsAreAppliedOnce() {
        create("once", "");
        String insert = "INSERT INTO k.once (p, c, v) VALUES (1, 1, %d) IF NOT EXISTS";
        assertTrue(Node.run(String.format(insert, 1)).one().getBoolean("[applied]"));
        assertFalse(Node.run(String.format(insert, 2)).one().getBoolean("[applied]"));
        assertTrue(Node.run("UPDATE k.once SET v = 5 WHERE p = 1 AND c = 1 IF v = 1").one()
            .getBoolean("[applied]"));
        assertEquals(List.of("v=5 "), Node.rows("SELECT v FROM k.once"));
    }

    @Test
    void countersAndIndexesAreRefused() {
        Node.run("CREATE TABLE k.counts (p int PRIMARY KEY, n counter) WITH memtable = 'terrace'");
        assertThrows(RuntimeException.class,
            () -> Node.run("UPDATE k.counts SET n = n + 1 WHERE p = 1"));
        create("indexed", "");
        Node.run("CREATE INDEX ON k.indexed (v)");
        assertThrows(RuntimeException.class,
            () -> Node.run("INSERT INTO k.indexed (p, c, v) VALUES (1, 1, 1)"));
    }
}
