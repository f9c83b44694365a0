package terrace.cassandra;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.UntypedResultSet;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.ConsistencyLevel;
import org.apache.cassandra.db.Keyspace;
import org.apache.cassandra.service.EmbeddedCassandraService;

/**
 * One whole Cassandra node in the process of the tests, with a store of Terrace in a directory.
 * Tables of the keyspace {@code k} name their memtable: {@code terrace} or {@code default}.
 */
final class Node {
    private static boolean started;

    private Node() {}

    static synchronized void start() throws IOException {
        if (started) {
            return;
        }
        Path home = Path.of(System.getProperty("terrace.directory")).toAbsolutePath().normalize();
        clear(home);
        Files.createDirectories(home.resolve("store"));
        Path yaml = home.resolve("cassandra.yaml");
        Files.writeString(yaml, String.join("\n",
            "cluster_name: tests",
            "partitioner: org.apache.cassandra.dht.Murmur3Partitioner",
            "commitlog_sync: periodic",
            "commitlog_sync_period: 10s",
            "seed_provider:",
            "  - class_name: org.apache.cassandra.locator.SimpleSeedProvider",
            "    parameters:",
            "      - seeds: 127.0.0.1:17990",
            "listen_address: 127.0.0.1",
            "storage_port: 17990",
            "start_native_transport: false",
            "endpoint_snitch: SimpleSnitch",
            "num_tokens: 4",
            "auto_snapshot: true",
            "data_file_directories: [" + home.resolve("data") + "]",
            "commitlog_directory: " + home.resolve("log"),
            "saved_caches_directory: " + home.resolve("caches"),
            "hints_directory: " + home.resolve("hints"),
            "cdc_raw_directory: " + home.resolve("cdc"),
            "memtable:",
            "  configurations:",
            "    default:",
            "      class_name: SkipListMemtable",
            "    terrace:",
            "      class_name: terrace.cassandra.TerraceMemtable",
            "      parameters:",
            "        library: " + System.getProperty("terrace.library"),
            "        store: " + home.resolve("store"),
            ""));
        System.setProperty("cassandra.config", yaml.toUri().toString());
        System.setProperty("cassandra.storagedir", home.toString());
        System.setProperty("cassandra-foreground", "true");
        System.setProperty("cassandra.superuser_setup_delay_ms", "0");
        System.setProperty("cassandra.ring_delay_ms", "0");
        System.setProperty("cassandra.skip_wait_for_gossip_to_settle", "0");
        System.setProperty("cassandra.jmx.local.port", "0");
        new EmbeddedCassandraService().start();
        run("CREATE KEYSPACE k WITH replication = "
            + "{'class': 'SimpleStrategy', 'replication_factor': 1}");
        started = true;
    }

    /** Runs a statement as a client's, through the coordinator. */
    static UntypedResultSet run(String statement) {
        return QueryProcessor.process(statement, ConsistencyLevel.ONE);
    }

    /** Runs a query on this node alone and returns its rows as text, in order. */
    static List<String> rows(String query) {
        return texts(QueryProcessor.executeInternal(query));
    }

    /** The same by pages of a number of rows. */
    static List<String> pages(String query, int size) {
        return texts(QueryProcessor.executeInternalWithPaging(query, size));
    }

    static ColumnFamilyStore table(String name) {
        return Keyspace.open("k").getColumnFamilyStore(name);
    }

    private static List<String> texts(UntypedResultSet found) {
        List<String> rows = new ArrayList<>();
        for (UntypedResultSet.Row row : found) {
            StringBuilder text = new StringBuilder();
            row.getColumns().forEach(column -> {
                String name = column.name.toString();
                String value = row.has(name)
                    ? column.type.getString(row.getBytes(name)) : "null";
                text.append(name).append('=').append(value).append(' ');
            });
            rows.add(text.toString());
        }
        return rows;
    }

    private static void clear(Path home) throws IOException {
        if (Files.exists(home)) {
            try (Stream<Path> files = Files.walk(home)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }
}
