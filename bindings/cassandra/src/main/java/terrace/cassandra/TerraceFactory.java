package terrace.cassandra;

import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.cassandra.db.commitlog.CommitLogPosition;
import org.apache.cassandra.db.memtable.Memtable;
import org.apache.cassandra.exceptions.ConfigurationException;
import org.apache.cassandra.schema.TableMetadataRef;

/** Makes memtables over one store. The store is opened for the first table that needs it. */
record TerraceFactory(String library, String path, long memory) implements Memtable.Factory {
    /** Takes its parameters out of the map. */
    static TerraceFactory of(Map<String, String> parameters) {
        String memory = parameters.remove("memory");
        try {
            return new TerraceFactory(
                required(parameters, "library"),
                required(parameters, "store"),
                memory == null ? 0 : Long.parseLong(memory));
        } catch (NumberFormatException error) {
            throw new ConfigurationException("memory: expected a number of bytes, found " + memory);
        }
    }

    private static String required(Map<String, String> parameters, String name) {
        String value = parameters.remove(name);
        if (value == null || value.isEmpty()) {
            throw new ConfigurationException(name + ": expected a path, found none");
        }
        return value;
    }

    @Override
    public Memtable create(AtomicReference<CommitLogPosition> lowerBound, TableMetadataRef table,
                           Memtable.Owner owner) {
        Store store = Store.at(library, path, memory);
        return new TerraceMemtable(lowerBound, table, owner, store, this);
    }

    @Override
    public boolean writesShouldSkipCommitLog() {
        return true;
    }

    @Override
    public boolean writesAreDurable() {
        return true;
    }

    @Override
    public boolean streamToMemtable() {
        return true;
    }

    @Override
    public boolean streamFromMemtable() {
        return true;
    }
}
