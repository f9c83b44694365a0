package terrace.cassandra;

import org.apache.cassandra.io.FSReadError;
import org.apache.cassandra.io.FSWriteError;
import org.apache.cassandra.io.sstable.CorruptSSTableException;

/**
 * Codes of the engine, turned into Cassandra's exceptions.
 *
 * <p>A medium that fails is a file system error, on which Cassandra's {@code disk_failure_policy}
 * acts. Damaged bytes are a damaged table. A lack of space, and every other refusal, fails the
 * request alone: the node goes on, and other replicas answer.
 */
final class Failure {
    static final int OK = 0;
    static final int NO_SPACE = 1;
    static final int CORRUPTION = 3;
    static final int NOT_FOUND = 15;
    private static final int STOPPED = 17;
    private static final int IO = 18;

    private Failure() {}

    /** Returns if the code is 0, and throws what a failed read means otherwise. */
    static void checkRead(int code, String store) {
        if (code != OK) {
            throw of(code, Library.terrace_error_message(), store, false);
        }
    }

    /** Returns if the code is 0, and throws what a failed write means otherwise. */
    static void checkWrite(int code, String store) {
        if (code != OK) {
            throw of(code, Library.terrace_error_message(), store, true);
        }
    }

    /** Bytes in the store that cannot be decoded. */
    static RuntimeException undecodable(Throwable cause, String store) {
        return new CorruptSSTableException(cause, store);
    }

    /** The throwable for a code; errors are thrown here, as they are no exceptions. */
    static RuntimeException of(int code, String message, String store, boolean isWrite) {
        RuntimeException cause = new EngineException(code, store + ": " + message);
        switch (code) {
            case CORRUPTION:
                return new CorruptSSTableException(cause, store);
            case STOPPED:
            case IO:
                if (isWrite) {
                    throw new FSWriteError(cause, store);
                }
                throw new FSReadError(cause, store);
            default:
                return cause;
        }
    }

    /** A refusal of the engine. */
    static final class EngineException extends RuntimeException {
        private static final long serialVersionUID = 1;
        final int code;

        EngineException(int code, String message) {
            super(message + " (code " + code + ")");
            this.code = code;
        }
    }
}
