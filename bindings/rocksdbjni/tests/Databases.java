import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.rocksdb.BackupEngine;
import org.rocksdb.BackupEngineOptions;
import org.rocksdb.Checkpoint;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Env;
import org.rocksdb.EnvOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.IngestExternalFileOptions;
import org.rocksdb.Options;
import org.rocksdb.RestoreOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.SstFileWriter;
import org.rocksdb.Status;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * What a program of the JVM does with RocksDB, each part in a process of its own: {@code PART
 * DIRECTORY OTHER}. DIRECTORY is below the prefix, OTHER is an empty directory of the host. A part
 * that finds anything else than it expects ends with an exception.
 */
public final class Databases {
  private static final int ENTRIES = 20_000;
  private static final int GROUPS = 100;

  private Databases() {}

  public static void main(String[] words) throws Exception {
    RocksDB.loadLibrary();
    String directory = words[1];
    String other = words.length > 2 ? words[2] : null;
    switch (words[0]) {
      case "fill" -> fill(directory);
      case "reopen" -> reopen(directory);
      case "copies" -> copies(directory, other);
      case "ingest" -> ingest(directory, other);
      case "both" -> both(directory, other);
      case "pair" -> pair(directory);
      case "unclosed" -> unclosed(directory);
      case "unclosed-reopen" -> reopenUnclosed(directory);
      case "destroy" -> destroy(directory);
      case "full" -> full(directory);
      default -> throw new IllegalArgumentException("expected a part, found " + words[0]);
    }
    System.out.println("done: " + words[0]);
  }

  /** Puts, overwrites, deletes, compacts; the content is that of {@link #expected}. */
  private static void fill(String directory) throws Exception {
    try (Options options = small(); RocksDB db = RocksDB.open(options, directory)) {
      for (int i = 0; i < ENTRIES; i++) {
        db.put(key(i), value(i, 0));
      }
      for (int i = 0; i < ENTRIES; i += 3) {
        db.put(key(i), value(i, 1));
      }
      for (int i = 0; i < ENTRIES; i += 5) {
        db.delete(key(i));
      }
      db.deleteRange(key(4000), key(6000));
      check(db, null, expected());
      db.compactRange();
      check(db, null, expected());
      expect(db.getLiveFilesMetaData().size() > 1, "tables");
    }
    families(directory + "-families");
  }

  private static void families(String directory) throws Exception {
    List<ColumnFamilyDescriptor> names = new ArrayList<>();
    for (String name : List.of("default", "one", "two")) {
      names.add(new ColumnFamilyDescriptor(bytes(name), new ColumnFamilyOptions()));
    }
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (DBOptions options = new DBOptions().setCreateIfMissing(true)
            .setCreateMissingColumnFamilies(true);
        WriteOptions synced = new WriteOptions().setSync(true);
        RocksDB db = RocksDB.open(options, directory, names, handles);
        WriteBatch batch = new WriteBatch()) {
      for (int i = 0; i < 1000; i++) {
        batch.put(handles.get(1), key(i), value(i, 1));
        batch.put(handles.get(2), key(i), value(i, 2));
      }
      db.write(synced, batch);
      db.dropColumnFamily(handles.get(2));
      handles.forEach(ColumnFamilyHandle::close);
    }
    List<byte[]> found = RocksDB.listColumnFamilies(new Options(), directory);
    expect(found.size() == 2, "two column families, found " + found.size());
  }

  /** A process after {@link #fill} finds it all. */
  private static void reopen(String directory) throws Exception {
    try (Options options = small(); RocksDB db = RocksDB.open(options, directory)) {
      check(db, null, expected());
      db.verifyChecksum();
    }
    List<ColumnFamilyDescriptor> names = List.of(new ColumnFamilyDescriptor(bytes("default")),
        new ColumnFamilyDescriptor(bytes("one")));
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (DBOptions options = new DBOptions();
        RocksDB db = RocksDB.open(options, directory + "-families", names, handles)) {
      Map<String, String> one = new TreeMap<>();
      for (int i = 0; i < 1000; i++) {
        one.put(text(key(i)), text(value(i, 1)));
      }
      check(db, handles.get(1), one);
      handles.forEach(ColumnFamilyHandle::close);
    }
  }

  /** Checkpoints on the drive and on the host; a backup on the host, and its restore. */
  private static void copies(String directory, String other) throws Exception {
    String near = directory + "-checkpoint";
    String far = other + "/checkpoint";
    expect(new File(other, "backup").mkdirs(), "a new directory on the host");
    try (Options options = small(); RocksDB db = RocksDB.open(options, directory)) {
      try (Checkpoint checkpoint = Checkpoint.create(db)) {
        checkpoint.createCheckpoint(near);
        checkpoint.createCheckpoint(far);
      }
      try (BackupEngineOptions place = new BackupEngineOptions(other + "/backup");
          BackupEngine backups = BackupEngine.open(Env.getDefault(), place)) {
        backups.createNewBackup(db, true);
        db.put(bytes("after"), bytes("the copies"));
        backups.createNewBackup(db, true);
        String restored = directory + "-restored";
        try (RestoreOptions restore = new RestoreOptions(false)) {
          backups.restoreDbFromBackup(1, restored, restored, restore);
        }
      }
      db.delete(bytes("after"));
    }
    for (String copy : List.of(near, far, directory + "-restored")) {
      try (Options options = small(); RocksDB db = RocksDB.open(options, copy)) {
        check(db, null, expected());
      }
    }
    expect(new File(far, "CURRENT").exists(), "a checkpoint on the host");
    expect(!new File(near).exists(), "no checkpoint of the drive on the host");
  }

  /** Tables that are made on the host and on the drive, moved or copied into a database. */
  private static void ingest(String directory, String other) throws Exception {
    int next = 0;
    Map<String, String> all = new TreeMap<>();
    try (Options options = small(); RocksDB db = RocksDB.open(options, directory + "-ingest")) {
      for (String place : List.of(other, directory + "-ingest")) {
        for (boolean moves : new boolean[] {false, true}) {
          String table = place + "/from-" + next + ".sst";
          try (EnvOptions env = new EnvOptions(); SstFileWriter writer =
                  new SstFileWriter(env, options)) {
            writer.open(table);
            for (int i = next; i < next + 1000; i++) {
              writer.put(key(i), value(i, 3));
              all.put(text(key(i)), text(value(i, 3)));
            }
            writer.finish();
          }
          try (IngestExternalFileOptions how = new IngestExternalFileOptions()) {
            db.ingestExternalFile(List.of(table), how.setMoveFiles(moves));
          }
          next += 1000;
        }
      }
      check(db, null, all);
    }
  }

  /** One database on the drive and one on the host, in one process. */
  private static void both(String directory, String other) throws Exception {
    String host = other + "/database";
    try (Options options = small();
        RocksDB drive = RocksDB.open(options, directory + "-both");
        RocksDB ordinary = RocksDB.open(options, host)) {
      for (int i = 0; i < 1000; i++) {
        drive.put(key(i), value(i, 0));
        ordinary.put(key(i), value(i, 1));
      }
      try (FlushOptions flush = new FlushOptions()) {
        drive.flush(flush);
        ordinary.flush(flush);
      }
      expectThrows("a lock that is held", () -> RocksDB.open(options, directory + "-both"));
      expectThrows("a lock that is held", () -> RocksDB.open(options, host));
    }
    expect(new File(host, "CURRENT").exists(), "a database on the host");
    expect(!new File(directory + "-both").exists(), "no database of the drive on the host");
  }

  /** Two databases on one drive, written by turns. */
  private static void pair(String directory) throws Exception {
    try (Options options = small();
        RocksDB one = RocksDB.open(options, directory + "-pair/one");
        RocksDB two = RocksDB.open(options, directory + "-pair/two")) {
      Map<String, String> first = new TreeMap<>();
      Map<String, String> second = new TreeMap<>();
      for (int i = 0; i < ENTRIES; i++) {
        RocksDB db = i % 2 == 0 ? one : two;
        db.put(key(i), value(i, 4));
        (i % 2 == 0 ? first : second).put(text(key(i)), text(value(i, 4)));
      }
      check(one, null, first);
      check(two, null, second);
    }
  }

  /** Ends without a close: writes without a sync are there all the same. */
  private static void unclosed(String directory) throws Exception {
    RocksDB db = RocksDB.open(small(), directory + "-unclosed");
    for (int i = 0; i < 500; i++) {
      db.put(key(i), value(i, 5));
    }
    System.out.println("done: unclosed");
    System.exit(0);
  }

  private static void reopenUnclosed(String directory) throws Exception {
    try (Options options = small(); RocksDB db = RocksDB.open(options, directory + "-unclosed")) {
      Map<String, String> all = new TreeMap<>();
      for (int i = 0; i < 500; i++) {
        all.put(text(key(i)), text(value(i, 5)));
      }
      check(db, null, all);
    }
  }

  private static void destroy(String directory) throws Exception {
    try (Options options = small()) {
      RocksDB.destroyDB(directory, options);
      expectThrows("a database that is gone",
          () -> RocksDB.open(new Options().setCreateIfMissing(false), directory));
    }
  }

  /** Writes until the drive is full, and goes on after a range is deleted. */
  private static void full(String directory) throws Exception {
    int written = 0;
    byte[] value = new byte[10_000];
    try (Options options = small(); RocksDB db = RocksDB.open(options, directory)) {
      try {
        for (; written < 1_000_000; written++) {
          new Random(written).nextBytes(value);
          db.put(key(written), value);
        }
        throw new AssertionError("expected a drive that gets full, found none");
      } catch (RocksDBException found) {
        Status.SubCode code = found.getStatus().getSubCode();
        expect(code == Status.SubCode.NoSpace, "no space, found " + found.getMessage());
      }
    }
    try (Options options = small(); RocksDB db = RocksDB.open(options, directory)) {
      db.deleteRange(key(0), key(written - 10));
      db.compactRange(key(0), key(written - 10));
      new Random(written - 10).nextBytes(value);
      expect(java.util.Arrays.equals(db.get(key(written - 10)), value), "an entry of before");
      for (int i = 0; i < 100; i++) {
        db.put(key(i), value);
      }
    }
  }

  /** The content that {@link #fill} leaves. */
  private static Map<String, String> expected() {
    Map<String, String> all = new TreeMap<>();
    for (int i = 0; i < ENTRIES; i++) {
      if (i % 5 != 0 && (i < 4000 || i >= 6000)) {
        all.put(text(key(i)), text(value(i, i % 3 == 0 ? 1 : 0)));
      }
    }
    return all;
  }

  /** Compares all entries, by a scan and by reads of single keys. */
  private static void check(RocksDB db, ColumnFamilyHandle family, Map<String, String> expected)
      throws Exception {
    ColumnFamilyHandle from = family == null ? db.getDefaultColumnFamily() : family;
    Map<String, String> found = new HashMap<>();
    try (RocksIterator entries = db.newIterator(from)) {
      for (entries.seekToFirst(); entries.isValid(); entries.next()) {
        found.put(text(entries.key()), text(entries.value()));
      }
      entries.status();
    }
    expect(found.equals(expected), expected.size() + " entries, found " + found.size());
    int step = 0;
    for (Map.Entry<String, String> entry : expected.entrySet()) {
      if (step++ % GROUPS == 0) {
        byte[] value = db.get(from, bytes(entry.getKey()));
        expect(value != null && text(value).equals(entry.getValue()), "the value of a key");
      }
    }
    expect(db.get(from, bytes("no such key")) == null, "no value");
  }

  private static Options small() {
    return new Options().setCreateIfMissing(true).setWriteBufferSize(256 << 10)
        .setTargetFileSizeBase(256 << 10).setMaxBytesForLevelBase(1 << 20);
  }

  private interface Action {
    void run() throws Exception;
  }

  private static void expectThrows(String what, Action action) throws Exception {
    try {
      action.run();
    } catch (RocksDBException found) {
      return;
    }
    throw new AssertionError("expected " + what + ", found none");
  }

  private static void expect(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError("expected " + what);
    }
  }

  private static byte[] key(int i) {
    return bytes(String.format("key-%08d", i));
  }

  private static byte[] value(int i, int round) {
    byte[] noise = new byte[120];
    new Random(31L * i + round).nextBytes(noise);
    return bytes("value-" + i + "-" + round + "-" + HexFormat.of().formatHex(noise));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
