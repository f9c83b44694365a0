import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * A history of writes that a kill interrupts. {@code write DIRECTORY FIRST} writes batches from
 * number FIRST on, each synced, and prints the number of each that is done. {@code verify DIRECTORY
 * LAST} finds all batches up to LAST, and at most one more, whole.
 */
public final class Acknowledged {
  private static final int IN_BATCH = 5;

  private Acknowledged() {}

  public static void main(String[] words) throws Exception {
    RocksDB.loadLibrary();
    int number = Integer.parseInt(words[2]);
    try (Options options = new Options().setCreateIfMissing(true).setWriteBufferSize(128 << 10)
            .setTargetFileSizeBase(128 << 10).setMaxBytesForLevelBase(512 << 10);
        RocksDB db = RocksDB.open(options, words[1])) {
      if (words[0].equals("write")) {
        write(db, number);
      } else {
        System.out.println(verify(db, number));
      }
    }
  }

  private static void write(RocksDB db, int first) throws Exception {
    try (WriteOptions synced = new WriteOptions().setSync(true)) {
      for (int number = first;; number++) {
        try (WriteBatch batch = new WriteBatch()) {
          for (int i = 0; i < IN_BATCH; i++) {
            batch.put(key(number, i), value(number, i));
          }
          batch.put(bytes("last"), bytes(Integer.toString(number)));
          db.write(synced, batch);
        }
        System.out.println(number);
        System.out.flush();
      }
    }
  }

  /** The number of the last batch that is there. */
  private static int verify(RocksDB db, int acknowledged) throws Exception {
    byte[] text = db.get(bytes("last"));
    int last = text == null ? 0 : Integer.parseInt(new String(text, StandardCharsets.UTF_8));
    if (last < acknowledged || last > acknowledged + 1) {
      throw new AssertionError("expected batch " + acknowledged + " or the next, found " + last);
    }
    for (int number = 1; number <= last; number++) {
      for (int i = 0; i < IN_BATCH; i++) {
        byte[] found = db.get(key(number, i));
        if (found == null || !Arrays.equals(found, value(number, i))) {
          throw new AssertionError("batch " + number + ": expected entry " + i + ", found none");
        }
      }
    }
    if (db.get(key(last + 1, 0)) != null) {
      throw new AssertionError("expected no entry of batch " + (last + 1) + ", found one");
    }
    db.verifyChecksum();
    return last;
  }

  private static byte[] key(int number, int i) {
    return bytes(String.format("%03d-%08d", number * 37 % 100, number * IN_BATCH + i));
  }

  private static byte[] value(int number, int i) {
    return bytes(("value " + number + " " + i + " ").repeat(10));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
