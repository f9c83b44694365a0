import java.io.File;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStore;

/**
 * A topology of Kafka Streams with two state stores in RocksDB: the number of records of a key, and
 * that of a key in a window of one minute. {@code ROUND DIRECTORY}: each round is a process of its
 * own that feeds the same records, and expects the counts of all rounds before in the stores.
 */
public final class Streams {
  private static final int KEYS = 500;
  private static final int RECORDS = 20_000;
  private static final Instant BEGIN = Instant.ofEpochSecond(1_700_000_040);

  private Streams() {}

  public static void main(String[] words) throws Exception {
    int round = Integer.parseInt(words[0]);
    TopologyTestDriver driver = open(words[1]);
    check(driver, round - 1);
    TestInputTopic<String, String> input = driver.createInputTopic("records",
        new StringSerializer(), new StringSerializer(), BEGIN, Duration.ofMillis(30));
    for (int i = 0; i < RECORDS; i++) {
      input.pipeInput("key-" + i % KEYS, "record " + i);
    }
    check(driver, round);
    // The stores have no log in RocksDB. They are closed one by one: at the close of the driver,
    // Kafka Streams would remove their directories.
    driver.getAllStateStores().values().forEach(StateStore::close);
    File store = new File(words[1], "counts/0_0/rocksdb/by-key");
    if (new File(store, "CURRENT").exists()) {
      throw new AssertionError("expected no file of RocksDB on the host, found one");
    }
    System.out.println("done: round " + round);
  }

  private static TopologyTestDriver open(String directory) {
    StreamsBuilder builder = new StreamsBuilder();
    var records = builder.<String, String>stream("records").groupByKey();
    records.count(Materialized.as("by-key"));
    records.windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1)))
        .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("by-minute")
            .withRetention(Duration.ofDays(1)));
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "counts");
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    settings.put(StreamsConfig.STATE_DIR_CONFIG, directory);
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    return new TopologyTestDriver(builder.build(), settings);
  }

  /** Compares the stores with the counts after these rounds. */
  private static void check(TopologyTestDriver driver, int rounds) {
    Map<String, Long> expected = new HashMap<>();
    Map<String, Long> inMinutes = new HashMap<>();
    for (int i = 0; i < RECORDS && rounds > 0; i++) {
      long minute = BEGIN.plusMillis(30L * i).toEpochMilli() / 60_000 * 60_000;
      expected.merge("key-" + i % KEYS, (long) rounds, Long::sum);
      inMinutes.merge("key-" + i % KEYS + "@" + minute, (long) rounds, Long::sum);
    }
    Map<String, Long> found = new HashMap<>();
    try (KeyValueIterator<String, Long> all =
        driver.<String, Long>getKeyValueStore("by-key").all()) {
      all.forEachRemaining(entry -> found.put(entry.key, entry.value));
    }
    expect("by-key", expected, found);
    Map<String, Long> foundInMinutes = new HashMap<>();
    try (KeyValueIterator<Windowed<String>, Long> all =
        driver.<String, Long>getWindowStore("by-minute").all()) {
      while (all.hasNext()) {
        KeyValue<Windowed<String>, Long> entry = all.next();
        foundInMinutes.put(entry.key.key() + "@" + entry.key.window().start(), entry.value);
      }
    }
    expect("by-minute", inMinutes, foundInMinutes);
  }

  private static void expect(String store, Map<String, Long> expected, Map<String, Long> found) {
    if (!found.equals(expected)) {
      throw new AssertionError(store + ": expected " + expected.size() + " right counts, found "
          + found.size() + ", such as " + found.entrySet().stream()
              .filter(entry -> !entry.getValue().equals(expected.get(entry.getKey())))
              .limit(3).toList());
    }
  }
}
