package terrace.cassandra;

import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.dht.IPartitioner;

/** The number of a table's partitions, from the first ones and the tokens that they span. */
final class Estimate {
    /** At most this number of partitions is looked at; a table with fewer is counted exactly. */
    private static final int SAMPLE = 1000;

    private Estimate() {}

    static long partitions(Store store, Keys keys, IPartitioner partitioner) {
        try (Partitions all =
                 new Partitions(store, keys, partitioner, keys.start(), keys.end())) {
            DecoratedKey last = null;
            int count = 0;
            for (; count < SAMPLE && all.hasNext(); count++) {
                last = all.next();
            }
            if (count < SAMPLE || !all.hasNext()) {
                return count;
            }
            double part = partitioner.getMinimumToken().size(last.getToken());
            return part > 0 ? (long) (count / part) : count;
        }
    }
}
