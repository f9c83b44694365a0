/*
 * Terrace: a key-value store, and the file system under it, for zoned storage.
 *
 * This header is made from the sources in bindings/c/src; docs/c-api.md is the guide to it.
 */

#ifndef TERRACE_H
#define TERRACE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * The `ttl` of a key space whose entries stay.
 */
#define TERRACE_NO_TTL UINT64_MAX

/**
 * The `filter_bits` of a store without filters.
 */
#define TERRACE_NO_FILTERS 255

/**
 * Result of a call. `terrace_error_message` has the text of an error.
 */
enum TerraceCode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The call succeeded.
   */
  TERRACE_CODE_OK = 0,
  /**
   * Space is short. Reads still work, and deletes can use space that is kept for them.
   */
  TERRACE_CODE_NO_SPACE = 1,
  /**
   * The host's disk, on which the image or the directory lies, is full.
   */
  TERRACE_CODE_HOST_FULL = 2,
  /**
   * Bytes on the medium differ from the written ones.
   */
  TERRACE_CODE_CORRUPTION = 3,
  /**
   * A newer version of Terrace has written a form that this one does not know.
   */
  TERRACE_CODE_UNSUPPORTED = 4,
  /**
   * The store was last opened under a system that this version does not know.
   */
  TERRACE_CODE_UNKNOWN_SYSTEM = 5,
  /**
   * An option is out of its range, or does not fit the store.
   */
  TERRACE_CODE_OPTION = 6,
  /**
   * A key, a value or a batch is too large.
   */
  TERRACE_CODE_TOO_LARGE = 7,
  /**
   * Sorted input is not in order.
   */
  TERRACE_CODE_OUT_OF_ORDER = 8,
  /**
   * The key space does not exist, or was dropped.
   */
  TERRACE_CODE_UNKNOWN_KEY_SPACE = 9,
  /**
   * A key space of one opening was used with another.
   */
  TERRACE_CODE_OTHER_STORE = 10,
  /**
   * The target of a copy is not empty.
   */
  TERRACE_CODE_TARGET_NOT_EMPTY = 11,
  /**
   * The store was opened for reading.
   */
  TERRACE_CODE_READ_ONLY = 12,
  /**
   * The store has been closed.
   */
  TERRACE_CODE_CLOSED = 13,
  /**
   * Another program, or another handle of this one, has it open.
   */
  TERRACE_CODE_IN_USE = 14,
  /**
   * The key, file, image or directory does not exist.
   */
  TERRACE_CODE_NOT_FOUND = 15,
  /**
   * The request is impossible: a null handle, a name that is no UTF-8, a shape that no drive
   * has, a file that is no image.
   */
  TERRACE_CODE_INVALID = 16,
  /**
   * An earlier failure ended all writing. Reads still work.
   */
  TERRACE_CODE_STOPPED = 17,
  /**
   * The medium, or the operating system, failed.
   */
  TERRACE_CODE_IO = 18,
  /**
   * A bug in Terrace. Close the handles that the call was given, and use them no more.
   */
  TERRACE_CODE_BUG = 19,
  /**
   * A file of this name exists already.
   */
  TERRACE_CODE_EXISTS = 20,
  /**
   * A transaction was not committed, because another write has changed a key that it has read.
   */
  TERRACE_CODE_CONFLICT = 21,
  /**
   * The writer of a store has freed a part that a reader of another process was reading, or
   * another store has taken the place of the one that is read.
   */
  TERRACE_CODE_MOVED = 22,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TerraceCode TerraceCode;
#else
typedef int32_t TerraceCode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Kind of an emulated drive.
 */
enum TerraceKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Zones that are written front to back and erased whole.
   */
  TERRACE_KIND_ZONED = 0,
  /**
   * No zones, an ordinary disk: written anywhere, in place.
   */
  TERRACE_KIND_PLAIN = 1,
  /**
   * No zones, but shingled tracks: a write destroys the next two tracks.
   */
  TERRACE_KIND_TRACKS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TerraceKind TerraceKind;
#else
typedef uint32_t TerraceKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The event that a write survives once it has returned.
 */
enum TerraceDurability
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The durability of the options; in the options, `WRITTEN` in a directory and `GATHERED` on a
   * drive.
   */
  TERRACE_DURABILITY_DEFAULT = 0,
  /**
   * A clean end only: the write goes to no log.
   */
  TERRACE_DURABILITY_UNLOGGED = 1,
  /**
   * A clean end; the end of the process may take the writes of the last tenth of a second.
   */
  TERRACE_DURABILITY_GATHERED = 2,
  /**
   * The end of the process, by a crash or `kill`.
   */
  TERRACE_DURABILITY_WRITTEN = 3,
  /**
   * A power cut.
   */
  TERRACE_DURABILITY_SYNCED = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TerraceDurability TerraceDurability;
#else
typedef uint32_t TerraceDurability;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Use of a file, which decides how it is written and recovered.
 */
enum TerraceFileKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Any file. Each sync is also a write of metadata.
   */
  TERRACE_FILE_KIND_CLIENT = 0,
  /**
   * A file that is synced often: a sync is one write to the end of a zone, without metadata.
   * After a power cut it holds a prefix of the appends, at least all that were synced.
   */
  TERRACE_FILE_KIND_LOG = 1,
  /**
   * A file that is written once and then finished. A sync makes it durable on the medium, but
   * after a power cut it is found only if it was finished.
   */
  TERRACE_FILE_KIND_TABLE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TerraceFileKind TerraceFileKind;
#else
typedef uint32_t TerraceFileKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Compression of blocks of tables.
 */
enum TerraceCompression
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The value that the store remembers.
   */
  TERRACE_COMPRESSION_UNCHANGED = 0,
  /**
   * No compression.
   */
  TERRACE_COMPRESSION_NONE = 1,
  /**
   * LZ4.
   */
  TERRACE_COMPRESSION_LZ4 = 2,
  /**
   * Zstandard: smaller, and it takes three times the processor time.
   */
  TERRACE_COMPRESSION_ZSTD = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TerraceCompression TerraceCompression;
#else
typedef uint32_t TerraceCompression;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A switch in a change of options, in which 0 leaves it as it is.
 */
enum TerraceSwitch
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Off.
   */
  TERRACE_SWITCH_OFF = 1,
  /**
   * On.
   */
  TERRACE_SWITCH_ON = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TerraceSwitch TerraceSwitch;
#else
typedef uint32_t TerraceSwitch;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kind of an event. Later versions may add some.
 */
enum TerraceEventKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * One that this version of the header has no number for; `text` has it.
   */
  TERRACE_EVENT_KIND_OTHER = 0,
  /**
   * A flush began. `bytes`: the memory of its memtable.
   */
  TERRACE_EVENT_KIND_FLUSH_BEGAN = 1,
  /**
   * A flush ended. `bytes`: the tables that it wrote; `nanos`: its time.
   */
  TERRACE_EVENT_KIND_FLUSH_ENDED = 2,
  /**
   * A compaction began. `from_level`, `to_level`: the levels of its newest input and of its
   * oldest output.
   */
  TERRACE_EVENT_KIND_COMPACTION_BEGAN = 3,
  /**
   * A compaction ended. `bytes`, `nanos`, `from_level`, `to_level` as above.
   */
  TERRACE_EVENT_KIND_COMPACTION_ENDED = 4,
  /**
   * A flush or a compaction came to nothing, and will be begun again: it failed, found no space,
   * or the store closes. `nanos`: its time.
   */
  TERRACE_EVENT_KIND_JOB_GIVEN_UP = 5,
  /**
   * A group of writes took a second or longer, because it had to wait. `nanos`: its time.
   */
  TERRACE_EVENT_KIND_STALLED = 6,
  /**
   * A failure has stopped all writing. `text` has the error.
   */
  TERRACE_EVENT_KIND_STOPPED = 7,
  /**
   * Writing goes on after a failure.
   */
  TERRACE_EVENT_KIND_RESUMED = 8,
  /**
   * The store has come near the point where puts are refused. `bytes`: about the bytes that
   * stay; `room`: about the bytes that puts can still bring. A function that comes later is told
   * when it comes.
   */
  TERRACE_EVENT_KIND_NEARLY_FULL = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TerraceEventKind TerraceEventKind;
#else
typedef uint32_t TerraceEventKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Writes that are applied together or not at all, in order. Each names its key space; one batch
 * may write to several of one store.
 */
typedef struct TerraceBatch TerraceBatch;

/**
 * Filters of key spaces, for the options of `terrace_store_open`.
 */
typedef struct TerraceCompactionFilters TerraceCompactionFilters;

/**
 * Walks the keys of a range as they were when it was made; later writes do not change them. It
 * stands on a key, or on none: at first, beyond either end, and after an error. Kept for long, it
 * keeps space from being freed.
 */
typedef struct TerraceCursor TerraceCursor;

/**
 * A file system that is mounted.
 */
typedef struct TerraceFs TerraceFs;

/**
 * Sorted input on its way into a store.
 */
typedef struct TerraceIngest TerraceIngest;

/**
 * A key space. It belongs to one opening of one store.
 */
typedef struct TerraceKeySpace TerraceKeySpace;

/**
 * Files at one moment, in the order of their names. A file of several names comes several times.
 */
typedef struct TerraceListing TerraceListing;

/**
 * A merge operator, for the options of `terrace_store_open`.
 */
typedef struct TerraceMergeOperator TerraceMergeOperator;

/**
 * The bytes that a function of the program makes, filled by `terrace_output_append`.
 */
typedef struct TerraceOutput TerraceOutput;

/**
 * A read that has been begun. It may outlive its reader, but not the file system. Its bytes are
 * kept in separate memory until they are waited for.
 */
typedef struct TerracePendingRead TerracePendingRead;

/**
 * A handle for reading a file. It can still read a file that is removed meanwhile, and sees bytes
 * that are appended to an unfinished one.
 */
typedef struct TerraceReader TerraceReader;

/**
 * A store as it was at one moment; later writes do not change it. Kept for long, it keeps space
 * from being freed.
 */
typedef struct TerraceSnapshot TerraceSnapshot;

/**
 * A key-value store that is open.
 */
typedef struct TerraceStore TerraceStore;

/**
 * Reads a store that another process may be writing. It sees the store as it was when it was
 * opened or last refreshed: all writes of `TERRACE_DURABILITY_WRITTEN` or more that had returned
 * by then, and perhaps later ones, without a gap between them.
 */
typedef struct TerraceStoreReader TerraceStoreReader;

/**
 * The entries of a range in order, of a store that another process may be writing. It stands on an
 * entry, or on none: at first, after the last one, and after an error.
 */
typedef struct TerraceStoreScan TerraceStoreScan;

/**
 * Reads at one moment, and writes that its commit applies together, if no key that was read has
 * been written since. Other threads do not wait for it.
 */
typedef struct TerraceTransaction TerraceTransaction;

/**
 * Walks the keys of a range from both ends, as a transaction sees them. It stands on the last
 * entry that it moved to, or on none. Kept for long, it keeps space from being freed.
 */
typedef struct TerraceTransactionScan TerraceTransactionScan;

/**
 * A value that was read, to be freed by `terrace_value_free`.
 */
typedef struct TerraceValue TerraceValue;

/**
 * The only writer of a file.
 */
typedef struct TerraceWriter TerraceWriter;

/**
 * Bytes that are lent to a call, which reads them; or, with `data` null, none.
 *
 * `data` must point to `len` bytes that do not change until the call returns. A slice that a call
 * returns is valid as long as the call says. Names are slices of UTF-8.
 */
typedef struct {
  /**
   * The first byte, or null.
   */
  const uint8_t *data;
  /**
   * Number of bytes.
   */
  size_t len;
} TerraceSlice;

/**
 * Says whether compactions keep the value of a key: 0 for a value that goes.
 *
 * A compaction asks about the newest value of each key in the tables that it merges, and keeps all
 * values that a snapshot may see. The function is called from several threads at once, in no
 * order, and may be asked about the same value again. It should give the same answer each time,
 * and be quick. It must not call the store, nor leave by `longjmp` or an exception.
 */
typedef uint32_t (*TerraceKeep)(void *data, TerraceSlice key, TerraceSlice value);

/**
 * A pointer of the program for its functions, and how it is given back.
 */
typedef struct {
  /**
   * The first argument of each call of the function; may be null. Threads of the library use it
   * at the same time.
   */
  void *data;
  /**
   * Called once with `data`, by any thread, after the last call of the function; null for
   * nothing to do.
   */
  void (*destroy)(void *data);
} TerraceUserData;

/**
 * Something that happened. A number that the kind does not name is 0.
 */
typedef struct {
  /**
   * A `TerraceEventKind`.
   */
  uint32_t kind;
  /**
   * The level of the newest input of a compaction.
   */
  uint32_t from_level;
  /**
   * The level of the oldest output of a compaction.
   */
  uint32_t to_level;
  /**
   * A reserved number, 0.
   */
  uint32_t reserved;
  /**
   * Nanoseconds that it took.
   */
  uint64_t nanos;
  /**
   * Bytes; see the kind.
   */
  uint64_t bytes;
  /**
   * Bytes that puts can still bring.
   */
  uint64_t room;
  /**
   * The event for people, in UTF-8, valid during the call.
   */
  TerraceSlice text;
} TerraceEvent;

/**
 * Told of an event, by the thread to which it happened: one of the store, or one of the program in
 * a call of the store. Several threads may call at once. It should return soon, because the job or
 * the call waits for it. It must not call the store, nor leave by `longjmp` or an exception.
 */
typedef void (*TerraceNotice)(void *data, const TerraceEvent *event);

/**
 * Options of a store or a file system. Set all fields to 0 first: 0 means the default everywhere.
 */
typedef struct {
  /**
   * Not 0: nothing is written, not even to finish a recovery.
   */
  uint32_t read_only;
  /**
   * Not 0: flushes of an image do not reach the host's disk. Faster, and if the host loses its
   * power, the image may hold anything.
   */
  uint32_t unsynced;
  /**
   * A `TerraceDurability`, for writes with the default one. Only for stores.
   */
  uint32_t durability;
  /**
   * Percentage of free zones below which reclaim keeps garbage at or below a tenth of the bytes
   * of zones in use. Larger: reclaim moves more bytes, and fewer bytes are dead before the drive
   * is full. At most 100; 0 for 20. With 1, reclaim waits until new data needs space. Only for
   * file systems.
   */
  uint32_t reclaim_below;
  /**
   * Bytes of memory of a store; 0 for an amount that fits its size, at most 320 MiB. Only for
   * stores.
   */
  uint64_t memory;
  /**
   * Size of memtables in bytes; 0 for one that fits the size of the store. Only for stores.
   */
  uint64_t memtable_size;
  /**
   * Bytes of memory for blocks that were written to files, if the device is a drive.
   */
  uint64_t file_cache;
  /**
   * Not 0: other processes can inspect the store while it is open for writing, through a socket
   * at its path (`docs/live.md`). If the socket cannot be made, the store opens without it. Only
   * for stores.
   */
  uint32_t live;
  /**
   * Not 0: the store has counters (`terrace_add`). Their operator is the store's merge operator,
   * and the store remembers its name. Only for stores.
   */
  uint32_t counters;
  /**
   * Bytes of keys and values that compactions go through in a second at most, while no writer
   * waits for them and space is not short; 0 for no limit. Of stores only.
   */
  uint64_t compaction_rate;
  /**
   * The merge operator of the store, or null. Not to be given with `counters`. Of stores only.
   */
  const TerraceMergeOperator *merge_operator;
  /**
   * The filters of values for this opening, or null. Of stores only.
   */
  const TerraceCompactionFilters *compaction_filters;
  /**
   * The system of this opening, as in `terrace systems`, with parameters of its own or without:
   * `sliced`, `bluefs:factor=4`. `terrace_none()` for the default. Of stores only.
   */
  TerraceSlice system;
  /**
   * Not 0: tables of a store in a directory are read by calls, and not by mapped memory. Reads
   * cost more, and a failing disk is an error instead of the signal SIGBUS. Of stores only.
   */
  uint32_t copy_tables;
  /**
   * Not used; 0.
   */
  uint32_t reserved[17];
} TerraceOptions;

/**
 * Facts about a new file. Set all fields to 0 first: 0 means the default everywhere.
 */
typedef struct {
  /**
   * A `TerraceFileKind`.
   */
  uint32_t kind;
  /**
   * Expected lifetime: files of one number are placed together. 1 for the shortest, up to 200; 0
   * if it is not known.
   */
  uint32_t lifetime;
  /**
   * The largest size that it can reach, if that is known; else 0.
   */
  uint64_t size;
  /**
   * The time of modification, in a unit of the caller's choice.
   */
  uint64_t modified;
  /**
   * On a full drive, a few zones are left to files without which no space can be freed. 0 for a
   * file that must leave them all; 1 for one that may use some, for example the output of a job
   * that frees space; 2 for one that may use most of the rest, for example a file that such a
   * job waits for.
   */
  uint32_t urgent;
  /**
   * Not used; 0.
   */
  uint32_t reserved[9];
} TerraceFileOptions;

/**
 * Information about one file.
 */
typedef struct {
  /**
   * The file's number, which is never used again.
   */
  uint64_t id;
  /**
   * Its size in bytes.
   */
  uint64_t size;
  /**
   * The last given time of modification.
   */
  uint64_t modified;
  /**
   * Number of its names.
   */
  uint32_t links;
  /**
   * 1 if it is finished, else 0.
   */
  uint32_t finished;
  /**
   * A `TerraceFileKind`.
   */
  uint32_t kind;
  /**
   * Its expected lifetime; 0 if it is not known.
   */
  uint32_t lifetime;
  /**
   * Not used; 0.
   */
  uint64_t reserved[3];
} TerraceFileInfo;

/**
 * Use of a file system's space, in bytes.
 */
typedef struct {
  /**
   * All bytes that files could ever occupy.
   */
  uint64_t capacity;
  /**
   * Bytes that can be written without reclaim.
   */
  uint64_t free;
  /**
   * Bytes of files that exist.
   */
  uint64_t live;
  /**
   * Bytes that nothing refers to and that reclaim frees.
   */
  uint64_t dead;
  /**
   * Bytes available to new data.
   */
  uint64_t available;
  /**
   * Not used; 0.
   */
  uint64_t reserved[3];
} TerraceSpace;

/**
 * Shape of an emulated drive. Set all fields to 0 first: 0 means the default everywhere, except
 * for `size`, which must be given.
 */
typedef struct {
  /**
   * The size of the drive in bytes.
   */
  uint64_t size;
  /**
   * The size of a zone, or of a track, in bytes; 0 for the usual one of a drive of this size.
   */
  uint64_t unit_size;
  /**
   * Bytes of each zone that can be written; 0 for all.
   */
  uint64_t zone_capacity;
  /**
   * A `TerraceKind`.
   */
  uint32_t kind;
  /**
   * The most zones that may be open at once; 0 for no limit.
   */
  uint32_t max_open;
  /**
   * The most zones that may be open or closed at once; 0 for no limit.
   */
  uint32_t max_active;
  /**
   * Not used; 0.
   */
  uint32_t reserved[7];
} TerraceShape;

/**
 * Options of one key space. In a change, 0 leaves an option unchanged. In the options of a key
 * space, 0 stands for an option that was never stated: the one of the store, and entries that
 * stay.
 */
typedef struct {
  /**
   * Milliseconds that an entry stays which is put without a date; `TERRACE_NO_TTL` for ever.
   */
  uint64_t ttl;
  /**
   * As in `TerraceTableOptions`.
   */
  uint32_t compression;
  /**
   * As in `TerraceTableOptions`.
   */
  uint32_t compression_last;
  /**
   * As in `TerraceTableOptions`.
   */
  uint32_t filter_bits;
  /**
   * As in `TerraceTableOptions`.
   */
  uint32_t block_size;
  /**
   * Not used; 0.
   */
  uint32_t reserved[10];
} TerraceKeySpaceOptions;

/**
 * The key of operands that are combined.
 */
typedef struct {
  /**
   * The name of its key space.
   */
  TerraceSlice key_space;
  /**
   * The key.
   */
  TerraceSlice key;
} TerraceMergeKey;

/**
 * Combines an older value or operand of a key with the next newer operand. `older.data` is null if
 * there is nothing older. The combination is appended to `result`. Returns 0, or anything else to
 * refuse; then `result` may have the reason, as text.
 *
 * It must be *associative*: the library groups operands as it likes, and keeps their order. It is
 * called from several threads at once, and more than once for the same operands. It must not call
 * the store, nor leave by `longjmp` or an exception.
 */
typedef uint32_t (*TerraceMerge)(void *data,
                                 const TerraceMergeKey *key,
                                 TerraceSlice older,
                                 TerraceSlice newer,
                                 TerraceOutput *result);

/**
 * Some of a drive's zones, with the uses of their bytes.
 */
typedef struct {
  /**
   * Number of zones.
   */
  uint64_t zones;
  /**
   * Bytes of files, and of deleted ones that readers hold.
   */
  uint64_t live;
  /**
   * Bytes that were written and that nothing refers to.
   */
  uint64_t dead;
  /**
   * Bytes that can be written without a reset.
   */
  uint64_t room;
} TerracePart;

/**
 * Zones by their use. Each zone is in one part, except those of the journal and the superblock,
 * and failed ones, which are in none. All is 0 if there are no zones.
 */
typedef struct {
  /**
   * Zones without room and without a writer.
   */
  TerracePart full;
  /**
   * Zones that are being written.
   */
  TerracePart writing;
  /**
   * Zones with room and without a writer.
   */
  TerracePart resting;
  /**
   * Zones that reclaim is emptying.
   */
  TerracePart emptying;
  /**
   * Empty zones.
   */
  TerracePart free;
  /**
   * Not used; 0.
   */
  TerracePart reserved[3];
} TerraceParts;

/**
 * Memory that is lent to a call, which fills it.
 *
 * `data` must point to `len` bytes that no other code uses until the call returns.
 */
typedef struct {
  /**
   * The first byte, or null.
   */
  uint8_t *data;
  /**
   * Number of bytes.
   */
  size_t len;
} TerraceBuffer;

/**
 * The options that shape a store's tables. In a change, 0 leaves an option unchanged; the options
 * of a store have no 0.
 */
typedef struct {
  /**
   * A `TerraceCompression`, for all levels of tables except the last.
   */
  uint32_t compression;
  /**
   * A `TerraceCompression`, for the last level, which holds most of the data. To be given if and
   * only if `compression` is.
   */
  uint32_t compression_last;
  /**
   * Bits for a key of the filters that tell absent keys without a read, at most 32;
   * `TERRACE_NO_FILTERS` for none.
   */
  uint32_t filter_bits;
  /**
   * Bytes of the blocks in which tables are read, at most 1 MiB.
   */
  uint32_t block_size;
  /**
   * A `TerraceSwitch`: whether indexes have the first key of each block, so that short scans of
   * many runs read less.
   */
  uint32_t first_keys;
  /**
   * Not used; 0.
   */
  uint32_t reserved[11];
} TerraceTableOptions;

/**
 * Requests to the medium, and their bytes, since the file system was mounted.
 */
typedef struct {
  /**
   * Read requests.
   */
  uint64_t reads;
  /**
   * Bytes read.
   */
  uint64_t read_bytes;
  /**
   * Write requests, of data and of metadata.
   */
  uint64_t writes;
  /**
   * Bytes written, padding included.
   */
  uint64_t written_bytes;
  /**
   * Flushes of the medium's cache.
   */
  uint64_t flushes;
  /**
   * Zones that were erased.
   */
  uint64_t zones_reset;
  /**
   * Zones that were finished before they were full.
   */
  uint64_t zones_finished;
  /**
   * Number of times that the journal was replaced by a snapshot.
   */
  uint64_t journal_rolls;
  /**
   * Bytes that reclaim has written: copies of data in zones that it emptied.
   */
  uint64_t reclaim_bytes;
  /**
   * Bytes that reclaim has moved for nothing: their file was deleted before new data had filled
   * the space that was free at the time of the move.
   */
  uint64_t reclaim_vain_bytes;
  /**
   * Not used; 0.
   */
  uint64_t reserved[6];
} TerraceTraffic;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes an empty batch. To be freed by `terrace_batch_free`.
 */
TerraceCode terrace_batch_new(TerraceBatch **batch);

/**
 * Adds a write of a value. A key or value that is too long fails `terrace_write`.
 */
TerraceCode terrace_batch_put(TerraceBatch *batch,
                              const TerraceKeySpace *space,
                              TerraceSlice key,
                              TerraceSlice value);

/**
 * Adds the removal of a key.
 */
TerraceCode terrace_batch_delete(TerraceBatch *batch,
                                 const TerraceKeySpace *space,
                                 TerraceSlice key);

/**
 * Adds the removal of all keys from `start` up to, and without, `end`. With `terrace_none()` as
 * `end`, the range is open.
 */
TerraceCode terrace_batch_delete_range(TerraceBatch *batch,
                                       const TerraceKeySpace *space,
                                       TerraceSlice start,
                                       TerraceSlice end);

/**
 * Forgets all writes of a batch and keeps its memory.
 */
TerraceCode terrace_batch_clear(TerraceBatch *batch);

/**
 * Frees a batch. Null is ignored.
 */
void terrace_batch_free(TerraceBatch *batch);

/**
 * Makes a set of filters, without one. To be freed by `terrace_compaction_filters_free`.
 */
TerraceCode terrace_compaction_filters_new(TerraceCompactionFilters **filters);

/**
 * Sets the filter of a key space, which need not be there yet, in place of the one that it had.
 * The user data is taken over if the call succeeds, and destroyed when the filters were freed, or
 * the key space got another one, and all stores with the filter are closed.
 */
TerraceCode terrace_compaction_filters_set(TerraceCompactionFilters *filters,
                                           TerraceSlice key_space,
                                           TerraceKeep keep,
                                           TerraceUserData data);

/**
 * Frees a set of filters; stores that are open keep them. Null is ignored.
 */
void terrace_compaction_filters_free(TerraceCompactionFilters *filters);

/**
 * Copies the current state of a store to a place, while writes go on: to a directory that is empty
 * or does not exist, or to a drive that is formatted and empty, of an image or a block device. The
 * copy is an independent store.
 */
TerraceCode terrace_store_checkpoint(const TerraceStore *store, TerraceSlice place);

/**
 * Makes a place a backup of a store, while writes go on. The place is one that
 * `terrace_store_checkpoint` takes, or it has an earlier backup of this store: then only new
 * tables are copied, and the new backup replaces the earlier one at the end. After an error before
 * that, the earlier backup is as it was. A backup that was opened for writing is an ordinary
 * store, which is refused with `TARGET_NOT_EMPTY`, as is every other store that is not empty.
 */
TerraceCode terrace_store_backup(const TerraceStore *store, TerraceSlice place);

/**
 * Adds to the number under a key, without reading it; a key without a value counts from 0.
 * `TERRACE_CODE_OPTION` if the store was opened without `counters`. `durability` is a
 * `TerraceDurability`.
 */
TerraceCode terrace_add(const TerraceKeySpace *space,
                        TerraceSlice key,
                        int64_t amount,
                        uint32_t durability);

/**
 * Adds an addition to a batch; see `terrace_add`.
 */
TerraceCode terrace_batch_add(TerraceBatch *batch,
                              const TerraceKeySpace *space,
                              TerraceSlice key,
                              int64_t amount);

/**
 * Adds to the number under a key when the transaction is committed; see `terrace_add`. The key
 * does not count as read.
 */
TerraceCode terrace_transaction_add(const TerraceTransaction *transaction,
                                    const TerraceKeySpace *space,
                                    TerraceSlice key,
                                    int64_t amount);

/**
 * The number of a value. `TERRACE_CODE_INVALID` if the value does not have 8 bytes.
 */
TerraceCode terrace_number(TerraceSlice value, int64_t *number);

/**
 * Makes a cursor over the keys from `start` up to, and without, `end`. With `terrace_none()` as
 * `end`, the range is open. To be freed by `terrace_cursor_free`.
 */
TerraceCode terrace_cursor_open(const TerraceKeySpace *space,
                                TerraceSlice start,
                                TerraceSlice end,
                                TerraceCursor **cursor);

/**
 * Moves to the first key of the range, if there is one.
 */
TerraceCode terrace_cursor_first(TerraceCursor *cursor);

/**
 * Moves to the last key of the range, if there is one.
 */
TerraceCode terrace_cursor_last(TerraceCursor *cursor);

/**
 * Moves to the first key of the range that is not before `key`, if there is one.
 */
TerraceCode terrace_cursor_seek(TerraceCursor *cursor, TerraceSlice key);

/**
 * Moves to the last key of the range that is not after `key`, if there is one.
 */
TerraceCode terrace_cursor_seek_back(TerraceCursor *cursor, TerraceSlice key);

/**
 * Moves to the next key; from no key, to the first.
 */
TerraceCode terrace_cursor_next(TerraceCursor *cursor);

/**
 * Moves to the key before; from no key, to the last.
 */
TerraceCode terrace_cursor_prev(TerraceCursor *cursor);

/**
 * 1 if the cursor stands on a key, else 0.
 */
uint32_t terrace_cursor_on_key(const TerraceCursor *cursor);

/**
 * The key that the cursor stands on, valid until it moves or is freed; no slice if it stands on
 * none.
 */
TerraceSlice terrace_cursor_key(const TerraceCursor *cursor);

/**
 * The value of the cursor's key, valid until it moves or is freed; no slice if it stands on none.
 */
TerraceSlice terrace_cursor_value(const TerraceCursor *cursor);

/**
 * Frees a cursor. Null is ignored.
 */
void terrace_cursor_free(TerraceCursor *cursor);

/**
 * From now on calls a function with each event of a store, until the store is closed. The user
 * data is taken over if the call succeeds, and destroyed when the store is closed and its last
 * handle is freed.
 */
TerraceCode terrace_store_listen(const TerraceStore *store,
                                 TerraceNotice notice,
                                 TerraceUserData data);

/**
 * The date `milliseconds` from now, in milliseconds since the beginning of 1970 (UTC), by the
 * clock of the machine: the expiry of an entry that is to live for that time.
 */
uint64_t terrace_date_after(uint64_t milliseconds);

/**
 * Writes a value under a key until `expiry`, a date in milliseconds since the beginning of 1970
 * (UTC). From then on, no call finds it. `durability` is a `TerraceDurability`.
 */
TerraceCode terrace_put_with_expiry(const TerraceKeySpace *space,
                                    TerraceSlice key,
                                    TerraceSlice value,
                                    uint64_t expiry,
                                    uint32_t durability);

/**
 * Adds a write of a value that expires; see `terrace_put_with_expiry`.
 */
TerraceCode terrace_batch_put_with_expiry(TerraceBatch *batch,
                                          const TerraceKeySpace *space,
                                          TerraceSlice key,
                                          TerraceSlice value,
                                          uint64_t expiry);

/**
 * Writes a value that expires when the transaction is committed; see `terrace_put_with_expiry`.
 */
TerraceCode terrace_transaction_put_with_expiry(const TerraceTransaction *transaction,
                                                const TerraceKeySpace *space,
                                                TerraceSlice key,
                                                TerraceSlice value,
                                                uint64_t expiry);

/**
 * The message of the last failed call of this thread, in UTF-8 and ended by a zero byte. It has
 * the value expected, the value found, and the place. Empty if no call has failed. Valid until the
 * next failed call of this thread, and not to be freed.
 */
const char *terrace_error_message(void);

/**
 * Mounts the file system on the drive of an image, on a block device, or in a directory. `options`
 * may be null. To be closed by `terrace_fs_close`.
 */
TerraceCode terrace_fs_open(TerraceSlice path, const TerraceOptions *options, TerraceFs **fs);

/**
 * Unmounts the file system and frees the handle. Everything that was synced or finished is
 * durable. Remaining writers and readers fail from then on, and are still to be freed. Null is
 * ignored.
 */
TerraceCode terrace_fs_close(TerraceFs *fs);

/**
 * Makes an empty file of this name, durably, and replaces a file that has the name. `options` may
 * be null. To be freed by `terrace_writer_finish` or `terrace_writer_close`.
 */
TerraceCode terrace_fs_create(const TerraceFs *fs,
                              TerraceSlice name,
                              const TerraceFileOptions *options,
                              TerraceWriter **writer);

/**
 * Opens a file for further appends, at its end. An unfinished file goes on. A finished one is
 * copied when the first bytes are appended, and the copy takes all its names. To be freed by
 * `terrace_writer_finish` or `terrace_writer_close`.
 */
TerraceCode terrace_fs_append_to(const TerraceFs *fs, TerraceSlice name, TerraceWriter **writer);

/**
 * Cuts a file without a writer to its first `size` bytes, durably, under all its names. It is
 * finished then. Nothing is copied. Whole blocks after the cut are freed; those of a log are freed
 * with its last name.
 */
TerraceCode terrace_fs_truncate(const TerraceFs *fs, TerraceSlice name, uint64_t size);

/**
 * Information about a file. `TERRACE_CODE_NOT_FOUND` if there is none of this name. `info` may be
 * null.
 */
TerraceCode terrace_fs_stat(const TerraceFs *fs, TerraceSlice name, TerraceFileInfo *info);

/**
 * Changes the expected lifetime of a file, durably. Its bytes stay in place.
 */
TerraceCode terrace_fs_set_lifetime(const TerraceFs *fs, TerraceSlice name, uint32_t lifetime);

/**
 * Stores in `*bytes` the size of all logs and clients' files of a lifetime together. Each file
 * counts once, with any number of names; tables do not count.
 */
TerraceCode terrace_fs_bytes_of_lifetime(const TerraceFs *fs, uint32_t lifetime, uint64_t *bytes);

/**
 * Renames a file, durably. A file that has the name `to` loses it.
 */
TerraceCode terrace_fs_rename(const TerraceFs *fs, TerraceSlice from, TerraceSlice to);

/**
 * Renames all files whose names begin with `from`: `to` replaces that prefix, durably and all at
 * once, like the rename of a directory. No effect if there are none.
 */
TerraceCode terrace_fs_rename_all(const TerraceFs *fs, TerraceSlice from, TerraceSlice to);

/**
 * Gives a file a further name, durably. `TERRACE_CODE_EXISTS` if a file has it.
 */
TerraceCode terrace_fs_link(const TerraceFs *fs, TerraceSlice name, TerraceSlice further);

/**
 * Removes a name, durably. The file is deleted with its last name; open readers go on.
 */
TerraceCode terrace_fs_remove(const TerraceFs *fs, TerraceSlice name);

/**
 * Use of the space.
 */
TerraceCode terrace_fs_space(const TerraceFs *fs, TerraceSpace *space);

/**
 * Makes the image of an empty drive in a sparse file of this name, which must not exist yet.
 */
TerraceCode terrace_image_create(TerraceSlice path, const TerraceShape *shape);

/**
 * Makes the drive of an image empty, for a store or a file system. All data on it is lost.
 */
TerraceCode terrace_format(TerraceSlice path);

/**
 * Begins an ingest. To be ended by `terrace_ingest_finish` or `terrace_ingest_free`.
 */
TerraceCode terrace_ingest_begin(const TerraceStore *store, TerraceIngest **ingest);

/**
 * Adds a key, which must come after all others of its key space; its key space must not be older
 * than that of the last key. `TERRACE_CODE_OUT_OF_ORDER` leaves out only this key.
 */
TerraceCode terrace_ingest_put(TerraceIngest *ingest,
                               const TerraceKeySpace *space,
                               TerraceSlice key,
                               TerraceSlice value);

/**
 * Makes everything visible at once and durable, or, with an error, nothing. Frees the handle in
 * any case. Null is refused.
 */
TerraceCode terrace_ingest_finish(TerraceIngest *ingest);

/**
 * Cancels an ingest, which leaves no trace. Null is ignored.
 */
void terrace_ingest_free(TerraceIngest *ingest);

/**
 * Opens the key space of this name. `create`: not 0 to create it if there is none. To be freed by
 * `terrace_key_space_free`.
 */
TerraceCode terrace_key_space_open(const TerraceStore *store,
                                   TerraceSlice name,
                                   uint32_t create,
                                   TerraceKeySpace **space);

/**
 * Drops the key space of this name and all its entries.
 */
TerraceCode terrace_key_space_drop(const TerraceStore *store, TerraceSlice name);

/**
 * Frees a key space's handle; the key space stays. Null is ignored.
 */
void terrace_key_space_free(TerraceKeySpace *space);

/**
 * Reads the options of a key space: those that were stated for it.
 */
TerraceCode terrace_key_space_options(const TerraceKeySpace *space,
                                      TerraceKeySpaceOptions *options);

/**
 * Changes the options of a key space, now and for later openings. The change is durable when this
 * returns. Entries and tables that are there stay as they are: tables until they are compacted.
 */
TerraceCode terrace_key_space_set_options(const TerraceKeySpace *space,
                                          const TerraceKeySpaceOptions *options);

/**
 * Lists the files whose names begin with `prefix`. To be freed by `terrace_listing_free`.
 */
TerraceCode terrace_fs_list(const TerraceFs *fs, TerraceSlice prefix, TerraceListing **listing);

/**
 * Number of listed files; 0 for null.
 */
size_t terrace_listing_len(const TerraceListing *listing);

/**
 * The name of a file of the list, valid until the list is freed; no slice beyond its end.
 * Information about the file is written to `*info`, which may be null.
 */
TerraceSlice terrace_listing_at(const TerraceListing *listing, size_t index, TerraceFileInfo *info);

/**
 * Frees a list. Null is ignored.
 */
void terrace_listing_free(TerraceListing *listing);

/**
 * Makes a merge operator of a function. `name`: 1 to 255 bytes of UTF-8, which a store remembers
 * from the first operand on; an operator that combines in another way needs another name. The user
 * data is taken over if the call succeeds, and destroyed when the operator was freed and all
 * stores with it are closed. To be freed by `terrace_merge_operator_free`.
 */
TerraceCode terrace_merge_operator_new(TerraceSlice name,
                                       TerraceMerge merge,
                                       TerraceUserData data,
                                       TerraceMergeOperator **merge_operator);

/**
 * Frees the handle of a merge operator; stores that are open keep the operator. Null is ignored.
 */
void terrace_merge_operator_free(TerraceMergeOperator *merge_operator);

/**
 * Appends bytes to the output of a function of the program.
 */
TerraceCode terrace_output_append(TerraceOutput *output, TerraceSlice bytes);

/**
 * Writes an operand under a key, without reading it: reads combine it with the value by the
 * store's merge operator. `TERRACE_CODE_OPTION` if the store was opened without one. `durability`
 * is a `TerraceDurability`.
 */
TerraceCode terrace_merge(const TerraceKeySpace *space,
                          TerraceSlice key,
                          TerraceSlice operand,
                          uint32_t durability);

/**
 * Adds an operand to a batch, as by `terrace_merge`.
 */
TerraceCode terrace_batch_merge(TerraceBatch *batch,
                                const TerraceKeySpace *space,
                                TerraceSlice key,
                                TerraceSlice operand);

/**
 * Writes an operand under a key, as by `terrace_merge`, when the transaction is committed. The key
 * does not count as read.
 */
TerraceCode terrace_transaction_merge(const TerraceTransaction *transaction,
                                      const TerraceKeySpace *space,
                                      TerraceSlice key,
                                      TerraceSlice operand);

/**
 * Reads the uses of the zones. The time grows with their number.
 */
TerraceCode terrace_fs_parts(const TerraceFs *fs, TerraceParts *parts);

/**
 * Begins to read at most `len` bytes from `offset` on, fewer at the end of the file. If the device
 * has a queue, the call returns before they are read. The wait returns a failure of the read. To
 * be freed by `terrace_pending_read_wait` or `terrace_pending_read_drop`.
 */
TerraceCode terrace_reader_submit(const TerraceReader *reader,
                                  uint64_t offset,
                                  size_t len,
                                  TerracePendingRead **read);

/**
 * Waits for a read, copies its bytes to the start of `into`, stores their number in `*count`, and
 * frees the handle, also after an error. `into` must have room for them.
 */
TerraceCode terrace_pending_read_wait(TerracePendingRead *read, TerraceBuffer into, size_t *count);

/**
 * Frees a read whose bytes are not needed. It may wait for the device. Null is ignored.
 */
void terrace_pending_read_drop(TerracePendingRead *read);

/**
 * Opens a file for reading. To be freed by `terrace_reader_close`.
 */
TerraceCode terrace_fs_read(const TerraceFs *fs, TerraceSlice name, TerraceReader **reader);

/**
 * Reads bytes from `offset` on, until the buffer is full or the file ends, and stores their number
 * in `*read`: 0 at the end of the file and beyond.
 */
TerraceCode terrace_reader_read_at(const TerraceReader *reader,
                                   uint64_t offset,
                                   TerraceBuffer into,
                                   size_t *read);

/**
 * Current size of the file in bytes; 0 for null.
 */
uint64_t terrace_reader_size(const TerraceReader *reader);

/**
 * Frees a reader. Null is ignored.
 */
void terrace_reader_close(TerraceReader *reader);

/**
 * Takes a snapshot of a store. To be freed by `terrace_snapshot_free`.
 */
TerraceCode terrace_snapshot_open(const TerraceStore *store, TerraceSnapshot **snapshot);

/**
 * Reads the value that was under a key. `TERRACE_CODE_NOT_FOUND`, with `*value` null, if there was
 * none. To be freed by `terrace_value_free`.
 */
TerraceCode terrace_snapshot_get(const TerraceSnapshot *snapshot,
                                 const TerraceKeySpace *space,
                                 TerraceSlice key,
                                 TerraceValue **value);

/**
 * Makes a cursor over the keys from `start` up to, and without, `end`, at that moment. With
 * `terrace_none()` as `end`, the range is open. To be freed by `terrace_cursor_free`.
 */
TerraceCode terrace_snapshot_cursor(const TerraceSnapshot *snapshot,
                                    const TerraceKeySpace *space,
                                    TerraceSlice start,
                                    TerraceSlice end,
                                    TerraceCursor **cursor);

/**
 * Frees a snapshot. Null is ignored.
 */
void terrace_snapshot_free(TerraceSnapshot *snapshot);

/**
 * Opens the store on the drive of an image, on a block device, or in a directory. A formatted
 * drive without one, or an empty directory, becomes an empty store. `options` may be null. To be
 * closed by `terrace_store_close`.
 */
TerraceCode terrace_store_open(TerraceSlice path,
                               const TerraceOptions *options,
                               TerraceStore **store);

/**
 * Makes everything durable, closes the store and frees the handle, also after an error. Remaining
 * cursors and key spaces return `TERRACE_CODE_CLOSED`, and are still to be freed. Null is ignored.
 */
TerraceCode terrace_store_close(TerraceStore *store);

/**
 * The default key space of a store. It belongs to the store's handle, and is not to be freed.
 */
const TerraceKeySpace *terrace_store_default(const TerraceStore *store);

/**
 * Writes a value under a key. `durability` is a `TerraceDurability`.
 */
TerraceCode terrace_put(const TerraceKeySpace *space,
                        TerraceSlice key,
                        TerraceSlice value,
                        uint32_t durability);

/**
 * Removes a key; no effect if it has no value.
 */
TerraceCode terrace_delete(const TerraceKeySpace *space, TerraceSlice key, uint32_t durability);

/**
 * Removes all keys from `start` up to, and without, `end`, by one write. With `terrace_none()` as
 * `end`, the range is open.
 */
TerraceCode terrace_delete_range(const TerraceKeySpace *space,
                                 TerraceSlice start,
                                 TerraceSlice end,
                                 uint32_t durability);

/**
 * Reads the value under a key. `TERRACE_CODE_NOT_FOUND`, with `*value` null, if there is none. To
 * be freed by `terrace_value_free`.
 */
TerraceCode terrace_get(const TerraceKeySpace *space, TerraceSlice key, TerraceValue **value);

/**
 * Stores in `*exists` whether there is a key from `start` up to, and without, `end`: 1 or 0. With
 * `terrace_none()` as `end`, the range is open. Mostly known without reading data.
 */
TerraceCode terrace_range_exists(const TerraceKeySpace *space,
                                 TerraceSlice start,
                                 TerraceSlice end,
                                 uint32_t *exists);

/**
 * The approximate bytes of tables, as stored, for the keys from `start` up to, and without, `end`.
 * With `terrace_none()` as `end`, the range is open. Entries that are only in memory and log do
 * not count.
 */
TerraceCode terrace_range_size(const TerraceKeySpace *space,
                               TerraceSlice start,
                               TerraceSlice end,
                               uint64_t *bytes);

/**
 * Applies the writes of a batch together or not at all. The batch does not change.
 */
TerraceCode terrace_write(const TerraceStore *store,
                          const TerraceBatch *batch,
                          uint32_t durability);

/**
 * The metrics of a store as a JSON object in UTF-8, with the names of `terrace stats --json`. To
 * be freed by `terrace_value_free`.
 */
TerraceCode terrace_store_stats(const TerraceStore *store, TerraceValue **stats);

/**
 * Makes all earlier writes durable.
 */
TerraceCode terrace_store_sync(const TerraceStore *store);

/**
 * Writes all entries that are only in memory and log into tables, and waits for it.
 */
TerraceCode terrace_store_flush(const TerraceStore *store);

/**
 * Merges the tables with keys from `start` to `end`, which is not one of them, until no key is in
 * several runs, and waits for it. An end that is `terrace_none()` is open.
 */
TerraceCode terrace_compact(const TerraceKeySpace *space, TerraceSlice start, TerraceSlice end);

/**
 * Opens a reader of the store in a directory, on the drive of an image, or on a block device. Of
 * the options, those count that are for reads: `memory`, `counters`, `merge_operator`. They may be
 * null. To be freed by `terrace_store_reader_free`.
 */
TerraceCode terrace_store_reader_open(TerraceSlice path,
                                      const TerraceOptions *options,
                                      TerraceStoreReader **reader);

/**
 * Brings a reader to the present state of the store. `*changed`, which may be null, is 1 if that
 * differs from the state before, else 0. Scans that have begun keep their state. After an error,
 * the reader keeps its state.
 */
TerraceCode terrace_store_reader_refresh(const TerraceStoreReader *reader, uint32_t *changed);

/**
 * Reads the value under a key of the key space of a name; of the default one with
 * `terrace_none()`. `TERRACE_CODE_NOT_FOUND`, with `*value` null, if there is none. To be freed by
 * `terrace_value_free`.
 */
TerraceCode terrace_store_reader_get(const TerraceStoreReader *reader,
                                     TerraceSlice space,
                                     TerraceSlice key,
                                     TerraceValue **value);

/**
 * Begins a scan of the keys from `start` up to, and without, `end`, in the key space of a name; in
 * the default one with `terrace_none()`. With `terrace_none()` as `end`, the range is open. All
 * entries are of the reader's state now. If the writer frees a part that the scan has not read
 * yet, its next step fails with `TERRACE_CODE_MOVED`; unless `goes_on` is not 0: then it continues
 * in a newer state. To be freed by `terrace_store_scan_free`.
 */
TerraceCode terrace_store_scan_begin(const TerraceStoreReader *reader,
                                     TerraceSlice space,
                                     TerraceSlice start,
                                     TerraceSlice end,
                                     uint32_t goes_on,
                                     TerraceStoreScan **scan);

/**
 * Moves to the next entry, if there is one; at first, to the first.
 */
TerraceCode terrace_store_scan_next(TerraceStoreScan *scan);

/**
 * The key of the entry that a scan stands on, valid until the scan moves or is freed; no slice if
 * it stands on none.
 */
TerraceSlice terrace_store_scan_key(const TerraceStoreScan *scan);

/**
 * The value of the entry that a scan stands on, valid until the scan moves or is freed; no slice
 * if it stands on none.
 */
TerraceSlice terrace_store_scan_value(const TerraceStoreScan *scan);

/**
 * Frees a scan. Null is ignored.
 */
void terrace_store_scan_free(TerraceStoreScan *scan);

/**
 * Frees a reader. Scans that have begun go on. Null is ignored.
 */
void terrace_store_reader_free(TerraceStoreReader *reader);

/**
 * Reads the options that shape the store's tables: the remembered values, and the defaults of
 * those that were never stated.
 */
TerraceCode terrace_store_table_options(const TerraceStore *store, TerraceTableOptions *options);

/**
 * Changes the options that shape the store's tables, now and for later openings. The change is
 * durable when this returns. Existing tables do not change until they are compacted.
 */
TerraceCode terrace_store_set_table_options(const TerraceStore *store,
                                            const TerraceTableOptions *options);

/**
 * Reads the counts of reads and writes on the medium.
 */
TerraceCode terrace_fs_traffic(const TerraceFs *fs, TerraceTraffic *traffic);

/**
 * Puts `value` under a key if the key has the value `expected`. `terrace_none()` as `expected`
 * means no value, and `terrace_none()` as `value` deletes the key. No other write of the key comes
 * between the read and the write.
 *
 * `*swapped` is 1 if it was written, else 0; then `*found` is the current value, to be freed by
 * `terrace_value_free`, or null if there is none. `found` may be null.
 */
TerraceCode terrace_compare_and_swap(const TerraceKeySpace *space,
                                     TerraceSlice key,
                                     TerraceSlice expected,
                                     TerraceSlice value,
                                     uint32_t durability,
                                     uint32_t *swapped,
                                     TerraceValue **found);

/**
 * Begins a transaction, which reads the current state. To be ended by `terrace_transaction_commit`
 * or `terrace_transaction_free`.
 */
TerraceCode terrace_transaction_begin(const TerraceStore *store, TerraceTransaction **transaction);

/**
 * Reads the value under a key, as the transaction sees it. `TERRACE_CODE_NOT_FOUND`, with `*value`
 * null, if there is none; the key counts as read in either case. To be freed by
 * `terrace_value_free`.
 */
TerraceCode terrace_transaction_get(const TerraceTransaction *transaction,
                                    const TerraceKeySpace *space,
                                    TerraceSlice key,
                                    TerraceValue **value);

/**
 * Writes a value under a key when the transaction is committed.
 */
TerraceCode terrace_transaction_put(const TerraceTransaction *transaction,
                                    const TerraceKeySpace *space,
                                    TerraceSlice key,
                                    TerraceSlice value);

/**
 * Removes the value under a key when the transaction is committed.
 */
TerraceCode terrace_transaction_delete(const TerraceTransaction *transaction,
                                       const TerraceKeySpace *space,
                                       TerraceSlice key);

/**
 * Removes all keys from `start` up to, and without, `end` when the transaction is committed. With
 * `terrace_none()` as `end`, the range is open.
 */
TerraceCode terrace_transaction_delete_range(const TerraceTransaction *transaction,
                                             const TerraceKeySpace *space,
                                             TerraceSlice start,
                                             TerraceSlice end);

/**
 * Makes a scan of the keys from `start` up to, and without, `end`, as the transaction sees them.
 * With `terrace_none()` as `end`, the range is open. The part of the range that the scan has
 * passed counts as read; while the scan is open, all of it does. To be freed by
 * `terrace_transaction_scan_free`.
 */
TerraceCode terrace_transaction_scan(const TerraceTransaction *transaction,
                                     const TerraceKeySpace *space,
                                     TerraceSlice start,
                                     TerraceSlice end,
                                     TerraceTransactionScan **scan);

/**
 * Applies the writes of a transaction, if no key that it has read has been written since it began.
 * Otherwise applies none of them and returns `TERRACE_CODE_CONFLICT`: begin the transaction again.
 * Frees the handle in any case. `durability` is a `TerraceDurability`. Null is ignored.
 */
TerraceCode terrace_transaction_commit(TerraceTransaction *transaction, uint32_t durability);

/**
 * Ends a transaction without a write. Null is ignored.
 */
void terrace_transaction_free(TerraceTransaction *transaction);

/**
 * Moves to the next key from the front that neither end has reached, if there is one.
 */
TerraceCode terrace_transaction_scan_next(TerraceTransactionScan *scan);

/**
 * Moves to the next key from the back that neither end has reached, if there is one.
 */
TerraceCode terrace_transaction_scan_prev(TerraceTransactionScan *scan);

/**
 * 1 if the scan stands on a key, else 0.
 */
uint32_t terrace_transaction_scan_on_key(const TerraceTransactionScan *scan);

/**
 * The key that the scan stands on, valid until it moves or is freed; no slice if it stands on
 * none.
 */
TerraceSlice terrace_transaction_scan_key(const TerraceTransactionScan *scan);

/**
 * The value of the scan's key, valid until it moves or is freed; no slice if it stands on none.
 */
TerraceSlice terrace_transaction_scan_value(const TerraceTransactionScan *scan);

/**
 * Frees a scan of a transaction. Null is ignored.
 */
void terrace_transaction_scan_free(TerraceTransactionScan *scan);

/**
 * The bytes of a value, valid until it is freed.
 */
TerraceSlice terrace_value_bytes(const TerraceValue *value);

/**
 * Frees a value. Null is ignored.
 */
void terrace_value_free(TerraceValue *value);

/**
 * Changes the expected lifetime and the urgency of the file, before the first append: see
 * `TerraceFileOptions`. The lifetime of a log is durable at once; that of another file, when it is
 * finished. For a file that was finished before, the call has no effect.
 */
TerraceCode terrace_writer_place(TerraceWriter *writer, uint32_t lifetime, uint32_t urgent);

/**
 * Appends bytes. They can be read at once, and are durable after a sync or the finish.
 */
TerraceCode terrace_writer_append(TerraceWriter *writer, TerraceSlice bytes);

/**
 * Writes out the appended bytes of a log to the medium without making them durable: they survive
 * the end of the process, but not a power cut. No effect for other files.
 */
TerraceCode terrace_writer_write_out(TerraceWriter *writer);

/**
 * Makes all appended bytes durable.
 */
TerraceCode terrace_writer_sync(TerraceWriter *writer);

/**
 * Cuts the file to its first `size` bytes, durably and without a copy; `TERRACE_CODE_INVALID` if
 * it is shorter. If that changes its length, the file is finished; a later append makes a copy, as
 * after `terrace_fs_append_to`.
 */
TerraceCode terrace_writer_truncate(TerraceWriter *writer, uint64_t size);

/**
 * Bytes of the file, appended ones included; 0 for null.
 */
uint64_t terrace_writer_size(const TerraceWriter *writer);

/**
 * Makes everything durable, ends the file, which takes no more bytes, and frees the handle, also
 * after an error. `modified` is its time of modification. `TERRACE_CODE_NOT_FOUND` if the file has
 * been removed meanwhile. Null is ignored.
 */
TerraceCode terrace_writer_finish(TerraceWriter *writer, uint64_t modified);

/**
 * Frees the handle. The file stays: synced bytes are durable, other bytes may be lost, and it can
 * be opened for further appends. Null is ignored.
 */
void terrace_writer_close(TerraceWriter *writer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TERRACE_H */

#ifndef TERRACE_SLICES_H
#define TERRACE_SLICES_H

/* The slice of a text that ends with a zero byte, which is not part of it. */
static inline TerraceSlice terrace_text(const char *text) {
  TerraceSlice slice = {(const uint8_t *)text, strlen(text)};
  return slice;
}

/* The slice of `len` bytes from `data` on. */
static inline TerraceSlice terrace_bytes(const void *data, size_t len) {
  TerraceSlice slice = {(const uint8_t *)data, len};
  return slice;
}

/* No slice: for an end of a range that is open. */
static inline TerraceSlice terrace_none(void) {
  TerraceSlice slice = {NULL, 0};
  return slice;
}

/* The buffer of `len` bytes from `data` on. */
static inline TerraceBuffer terrace_buffer(void *data, size_t len) {
  TerraceBuffer buffer = {(uint8_t *)data, len};
  return buffer;
}

#endif /* TERRACE_SLICES_H */
