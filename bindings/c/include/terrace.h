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
   * The call has done its work.
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
   * Bytes on the medium are not what was written.
   */
  TERRACE_CODE_CORRUPTION = 3,
  /**
   * Written by a version of Terrace that this one does not understand.
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
   * There is no such key space, or not any more.
   */
  TERRACE_CODE_UNKNOWN_KEY_SPACE = 9,
  /**
   * A key space of one opening was used with another.
   */
  TERRACE_CODE_OTHER_STORE = 10,
  /**
   * The target of a copy holds something.
   */
  TERRACE_CODE_TARGET_NOT_EMPTY = 11,
  /**
   * The store was opened for reading only.
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
   * There is no such key, file, image or directory.
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
   * A transaction was not committed, because another write has changed what it has read.
   */
  TERRACE_CODE_CONFLICT = 21,
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
   * The one of the options; there, `WRITTEN` in a directory and `GATHERED` on a drive.
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
 * How a file is written and found again.
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
   * only the finish lets it be found again after a power cut.
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
 * How blocks of tables are compressed.
 */
enum TerraceCompression
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * As the store remembers it.
   */
  TERRACE_COMPRESSION_UNCHANGED = 0,
  /**
   * Not at all.
   */
  TERRACE_COMPRESSION_NONE = 1,
  /**
   * By LZ4.
   */
  TERRACE_COMPRESSION_LZ4 = 2,
  /**
   * By Zstandard: smaller, and it takes three times the processor time.
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
 * Writes that are applied together or not at all, in order. Each names its key space; one batch
 * may write to several of one store.
 */
typedef struct TerraceBatch TerraceBatch;

/**
 * Walks the keys of a range as they were when it was made, whatever is written meanwhile. It
 * stands on a key, or nowhere: at first, beyond either end, and after an error. Kept for long, it
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
 * A read that has been begun. It may outlive its reader, but not the file system. Its bytes are
 * kept in memory of its own until they are waited for.
 */
typedef struct TerracePendingRead TerracePendingRead;

/**
 * A handle for reading a file. It goes on reading a file that is removed meanwhile, and sees what
 * is appended to one that is not finished.
 */
typedef struct TerraceReader TerraceReader;

/**
 * A store as it was at one moment, whatever is written meanwhile. Kept for long, it keeps space
 * from being freed.
 */
typedef struct TerraceSnapshot TerraceSnapshot;

/**
 * A key-value store that is open.
 */
typedef struct TerraceStore TerraceStore;

/**
 * Reads of one moment, and writes that its commit applies together, if nothing that was read has
 * been written since. Other threads are not held up.
 */
typedef struct TerraceTransaction TerraceTransaction;

/**
 * Walks the keys of a range from both ends, as a transaction sees them. It stands on the entry
 * that it went to last, or nowhere. Kept for long, it keeps space from being freed.
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
   * How many bytes there are.
   */
  size_t len;
} TerraceSlice;

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
   * A `TerraceDurability`: that of writes that do not say. Of stores only.
   */
  uint32_t durability;
  /**
   * Below so many free zones, in percent, at most a tenth of the bytes of zones in use is to be
   * garbage. With more, reclaim moves more bytes, and fewer are dead while it is not full.
   * At most 100; 0 for 20. With 1, reclaim waits until new data needs space. Of file systems
   * only.
   */
  uint32_t reclaim_below;
  /**
   * Bytes of memory of a store; 0 for what fits its size, 320 MiB at most. Of stores only.
   */
  uint64_t memory;
  /**
   * The size of memtables in bytes; 0 for what fits the size of the store. Of stores only.
   */
  uint64_t memtable_size;
  /**
   * Bytes of memory for blocks that were written to files, where the device is a drive.
   */
  uint64_t file_cache;
  /**
   * Not 0: other processes can look at the store while it is open for writing, through a socket
   * at its path (`docs/live.md`). If the socket cannot be made, the store opens without it. Of
   * stores only.
   */
  uint32_t live;
  /**
   * Not 0: the store has counters (`terrace_add`). Their operator is the store's merge operator,
   * and its name is remembered by the store. Of stores only.
   */
  uint32_t counters;
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
   * Expected lifetime: files of one number are placed together. 1 for the shortest, up to 200;
   * 0 where nothing is known.
   */
  uint32_t lifetime;
  /**
   * The largest size that it can reach, where that is known; else 0.
   */
  uint64_t size;
  /**
   * The time of modification, in a unit of the caller's choice.
   */
  uint64_t modified;
  /**
   * On a full drive, a few zones are left to files without which no space can be freed. 0 for a
   * file that must leave them all; 1 for one that may use some, as the output of a job that
   * frees space; 2 for one that may use most of the rest, as what that job itself waits for.
   */
  uint32_t urgent;
  /**
   * Not used; 0.
   */
  uint32_t reserved;
} TerraceFileOptions;

/**
 * Knowledge of one file.
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
   * The time of modification that was given last.
   */
  uint64_t modified;
  /**
   * How many names it has.
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
   * Its expected lifetime; 0 if nothing is known.
   */
  uint32_t lifetime;
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
   * Bytes that can be written before anything has to be reclaimed.
   */
  uint64_t free;
  /**
   * Bytes of files that exist.
   */
  uint64_t live;
  /**
   * Bytes that nothing refers to and that come back with reclaim.
   */
  uint64_t dead;
  /**
   * Bytes that are there for new data.
   */
  uint64_t available;
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
  uint32_t reserved;
  /**
   * The size of a zone, or of a track, in bytes; 0 for what is usual on a drive of this size.
   */
  uint64_t unit_size;
  /**
   * Bytes of each zone that can be written; 0 for all.
   */
  uint64_t zone_capacity;
} TerraceShape;

/**
 * Some of a drive's zones, and what their bytes are.
 */
typedef struct {
  /**
   * How many zones.
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
 * Zones by what happens to them. Each zone is in one part, but for those of the journal and the
 * superblock, and for failed ones, which are in none. All is 0 where there are no zones.
 */
typedef struct {
  /**
   * Zones without room that nobody writes to.
   */
  TerracePart full;
  /**
   * Zones that are being written.
   */
  TerracePart writing;
  /**
   * Zones with room that nobody writes to now.
   */
  TerracePart resting;
  /**
   * Zones that reclaim is emptying.
   */
  TerracePart emptying;
  /**
   * Zones that hold nothing.
   */
  TerracePart free;
} TerraceParts;

/**
 * Memory that is lent to a call, which fills it.
 *
 * `data` must point to `len` bytes that nobody else uses until the call returns.
 */
typedef struct {
  /**
   * The first byte, or null.
   */
  uint8_t *data;
  /**
   * How many bytes there are.
   */
  size_t len;
} TerraceBuffer;

/**
 * How a store makes its tables. In a change, 0 leaves an option as it is; a store that is asked
 * has 0 in none.
 */
typedef struct {
  /**
   * A `TerraceCompression`: of all levels of tables but the last.
   */
  uint32_t compression;
  /**
   * A `TerraceCompression`: of the last level, which holds most of the data. To be given if and
   * only if `compression` is.
   */
  uint32_t compression_last;
  /**
   * Bits for a key of the filters that tell absent keys without a read, at most 32;
   * `TERRACE_NO_FILTERS` for none.
   */
  uint32_t filter_bits;
  /**
   * Bytes of the blocks that tables are read by, at most 1 MiB.
   */
  uint32_t block_size;
  /**
   * A `TerraceSwitch`: whether indexes have the first key of each block, so that short scans of
   * many runs read less.
   */
  uint32_t first_keys;
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
   * How often the journal was rolled into a snapshot.
   */
  uint64_t journal_rolls;
  /**
   * Bytes that reclaim has written: copies of data that was in its way.
   */
  uint64_t reclaim_bytes;
  /**
   * Bytes that reclaim has moved in vain: their file was deleted before as much was written as
   * was free when they were moved.
   */
  uint64_t reclaim_vain_bytes;
} TerraceTraffic;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes a batch that writes nothing yet. To be freed by `terrace_batch_free`.
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
 * Adds the removal of all keys from `start` to `end`, which is not one of them. An end that is
 * `terrace_none()` is open.
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
 * Adds to the number under a key, without reading it; a key without a value counts from 0.
 * `TERRACE_CODE_OPTION` if the store was opened without `counters`. `durability` is a
 * `TerraceDurability`.
 */
TerraceCode terrace_add(const TerraceKeySpace *space,
                        TerraceSlice key,
                        int64_t amount,
                        uint32_t durability);

/**
 * Adds an addition to a batch, as by `terrace_add`.
 */
TerraceCode terrace_batch_add(TerraceBatch *batch,
                              const TerraceKeySpace *space,
                              TerraceSlice key,
                              int64_t amount);

/**
 * Adds to the number under a key, as by `terrace_add`, when the transaction is committed. The key
 * does not count as read.
 */
TerraceCode terrace_transaction_add(const TerraceTransaction *transaction,
                                    const TerraceKeySpace *space,
                                    TerraceSlice key,
                                    int64_t amount);

/**
 * The number that a value is. `TERRACE_CODE_INVALID` if it is none: it has not 8 bytes.
 */
TerraceCode terrace_number(TerraceSlice value, int64_t *number);

/**
 * Makes a cursor over the keys from `start` to `end`, which is not one of them. An end that is
 * `terrace_none()` is open. To be freed by `terrace_cursor_free`.
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
 * Moves to the last key of the range that is not behind `key`, if there is one.
 */
TerraceCode terrace_cursor_seek_back(TerraceCursor *cursor, TerraceSlice key);

/**
 * Moves to the next key; from nowhere, to the first.
 */
TerraceCode terrace_cursor_next(TerraceCursor *cursor);

/**
 * Moves to the key before; from nowhere, to the last.
 */
TerraceCode terrace_cursor_prev(TerraceCursor *cursor);

/**
 * 1 if the cursor stands on a key, else 0.
 */
uint32_t terrace_cursor_on_key(const TerraceCursor *cursor);

/**
 * The key that the cursor stands on, valid until it moves or is freed; no slice if it stands
 * nowhere.
 */
TerraceSlice terrace_cursor_key(const TerraceCursor *cursor);

/**
 * The value that the cursor stands on, valid until it moves or is freed; no slice if it stands
 * nowhere.
 */
TerraceSlice terrace_cursor_value(const TerraceCursor *cursor);

/**
 * Frees a cursor. Null is ignored.
 */
void terrace_cursor_free(TerraceCursor *cursor);

/**
 * The date after so many milliseconds from now, in milliseconds since the beginning of 1970
 * (UTC), by the clock of the machine: the expiry of an entry that is to live for that time.
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
 * Adds a write of a value that expires, as by `terrace_put_with_expiry`.
 */
TerraceCode terrace_batch_put_with_expiry(TerraceBatch *batch,
                                          const TerraceKeySpace *space,
                                          TerraceSlice key,
                                          TerraceSlice value,
                                          uint64_t expiry);

/**
 * Writes a value that expires, as by `terrace_put_with_expiry`, when the transaction is
 * committed.
 */
TerraceCode terrace_transaction_put_with_expiry(const TerraceTransaction *transaction,
                                                const TerraceKeySpace *space,
                                                TerraceSlice key,
                                                TerraceSlice value,
                                                uint64_t expiry);

/**
 * The message of the last call of this thread that failed, in UTF-8 and ended by a zero byte. It
 * says what was expected, what was found and where. Empty if none has failed. Valid until the next
 * call of this thread that fails, and not to be freed.
 */
const char *terrace_error_message(void);

/**
 * Mounts the file system on the drive of an image, on a block device, or in a directory. `options`
 * may be null. To be closed by `terrace_fs_close`.
 */
TerraceCode terrace_fs_open(TerraceSlice path, const TerraceOptions *options, TerraceFs **fs);

/**
 * Unmounts the file system and frees the handle. Everything that was synced or finished is
 * durable. Writers and readers that are left fail from then on, and are still to be freed. Null is
 * ignored.
 */
TerraceCode terrace_fs_close(TerraceFs *fs);

/**
 * Makes an empty file of this name, durably, in the place of a file that has the name. `options`
 * may be null. To be freed by `terrace_writer_finish` or `terrace_writer_close`.
 */
TerraceCode terrace_fs_create(const TerraceFs *fs,
                              TerraceSlice name,
                              const TerraceFileOptions *options,
                              TerraceWriter **writer);

/**
 * Opens a file for further appends, after what it has. A file that is not finished goes on as it
 * is. Of one that is finished a copy is made, which takes all its names, when the first bytes are
 * appended. To be freed by `terrace_writer_finish` or `terrace_writer_close`.
 */
TerraceCode terrace_fs_append_to(const TerraceFs *fs, TerraceSlice name, TerraceWriter **writer);

/**
 * Cuts a file without a writer to its first `size` bytes, durably, under all its names. It is
 * finished then. Nothing is copied. Whole blocks of the rest come free; those of a log do so with
 * its last name.
 */
TerraceCode terrace_fs_truncate(const TerraceFs *fs, TerraceSlice name, uint64_t size);

/**
 * Tells what is known of a file. `TERRACE_CODE_NOT_FOUND` if there is none of this name. `info`
 * may be null.
 */
TerraceCode terrace_fs_stat(const TerraceFs *fs, TerraceSlice name, TerraceFileInfo *info);

/**
 * Says anew how long a file is expected to live, durably. Its bytes stay where they are.
 */
TerraceCode terrace_fs_set_lifetime(const TerraceFs *fs, TerraceSlice name, uint32_t lifetime);

/**
 * Tells in `*bytes` how long all logs and clients' files of a lifetime are together. Each file
 * counts once, however many names it has; tables do not count.
 */
TerraceCode terrace_fs_bytes_of_lifetime(const TerraceFs *fs, uint32_t lifetime, uint64_t *bytes);

/**
 * Gives the file of name `from` the name `to` instead, durably. A file that had that name loses
 * it.
 */
TerraceCode terrace_fs_rename(const TerraceFs *fs, TerraceSlice from, TerraceSlice to);

/**
 * Gives all names that begin with `from` the beginning `to` instead, durably and all at once, as
 * the rename of a directory does. Nothing happens if there are none.
 */
TerraceCode terrace_fs_rename_all(const TerraceFs *fs, TerraceSlice from, TerraceSlice to);

/**
 * Gives a file a further name, durably. `TERRACE_CODE_EXISTS` if a file has it.
 */
TerraceCode terrace_fs_link(const TerraceFs *fs, TerraceSlice name, TerraceSlice further);

/**
 * Takes a name away, durably. The file goes with its last name; readers that are open go on.
 */
TerraceCode terrace_fs_remove(const TerraceFs *fs, TerraceSlice name);

/**
 * Tells how the space is used.
 */
TerraceCode terrace_fs_space(const TerraceFs *fs, TerraceSpace *space);

/**
 * Makes the image of an empty drive in a sparse file of this name, which must not be there yet.
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
 * Adds a key, which must lie behind all others of its key space, and its key space must not have
 * been made before that of the last one. `TERRACE_CODE_OUT_OF_ORDER` leaves this key out and
 * nothing else.
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
 * Gives an ingest up; nothing of it is there. Null is ignored.
 */
void terrace_ingest_free(TerraceIngest *ingest);

/**
 * Copies everything that is in a store now into a directory that is empty or not there, while
 * writes go on. The copy is a store of its own.
 */
TerraceCode terrace_store_checkpoint(const TerraceStore *store, TerraceSlice directory);

/**
 * Opens the key space of this name. `create`: not 0 to make it if there is none. To be freed by
 * `terrace_key_space_free`.
 */
TerraceCode terrace_key_space_open(const TerraceStore *store,
                                   TerraceSlice name,
                                   uint32_t create,
                                   TerraceKeySpace **space);

/**
 * Drops the key space of this name and everything in it.
 */
TerraceCode terrace_key_space_drop(const TerraceStore *store, TerraceSlice name);

/**
 * Frees a key space's handle; the key space stays. Null is ignored.
 */
void terrace_key_space_free(TerraceKeySpace *space);

/**
 * Lists the files whose names begin with `prefix`. To be freed by `terrace_listing_free`.
 */
TerraceCode terrace_fs_list(const TerraceFs *fs, TerraceSlice prefix, TerraceListing **listing);

/**
 * How many files are listed; 0 for null.
 */
size_t terrace_listing_len(const TerraceListing *listing);

/**
 * The name of a file of the list, valid until the list is freed; no slice beyond its end. What is
 * known of the file is written to `*info`, which may be null.
 */
TerraceSlice terrace_listing_at(const TerraceListing *listing, size_t index, TerraceFileInfo *info);

/**
 * Frees a list. Null is ignored.
 */
void terrace_listing_free(TerraceListing *listing);

/**
 * Tells what the zones are used for. Takes as long as there are many of them.
 */
TerraceCode terrace_fs_parts(const TerraceFs *fs, TerraceParts *parts);

/**
 * Begins to read at most `len` bytes from `offset` on, fewer at the end of the file, and returns
 * before they are there, if the device has a queue. A failure of the read is told by the wait. To
 * be freed by `terrace_pending_read_wait` or `terrace_pending_read_drop`.
 */
TerraceCode terrace_reader_submit(const TerraceReader *reader,
                                  uint64_t offset,
                                  size_t len,
                                  TerracePendingRead **read);

/**
 * Waits for a read, copies its bytes to the start of `into`, says in `*count` how many there were,
 * and frees the handle, be it with an error. `into` must have room for them.
 */
TerraceCode terrace_pending_read_wait(TerracePendingRead *read, TerraceBuffer into, size_t *count);

/**
 * Frees a read whose bytes nobody needs. It may wait for the device. Null is ignored.
 */
void terrace_pending_read_drop(TerracePendingRead *read);

/**
 * Opens a file for reading. To be freed by `terrace_reader_close`.
 */
TerraceCode terrace_fs_read(const TerraceFs *fs, TerraceSlice name, TerraceReader **reader);

/**
 * Reads bytes from `offset` on, until the buffer is full or the file ends, and says in `*read` how
 * many there were: 0 at the end of the file and beyond.
 */
TerraceCode terrace_reader_read_at(const TerraceReader *reader,
                                   uint64_t offset,
                                   TerraceBuffer into,
                                   size_t *read);

/**
 * How many bytes the file has now; 0 for null.
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
 * Makes a cursor over the keys from `start` to `end`, which is not one of them, as they were. An
 * end that is `terrace_none()` is open. To be freed by `terrace_cursor_free`.
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
 * Makes everything durable, closes the store and frees the handle, be it with an error. Cursors
 * and key spaces that are left return `TERRACE_CODE_CLOSED`, and are still to be freed. Null is
 * ignored.
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
 * Removes the value under a key; nothing happens if there is none.
 */
TerraceCode terrace_delete(const TerraceKeySpace *space, TerraceSlice key, uint32_t durability);

/**
 * Removes all keys from `start` to `end`, which is not one of them, by one write. An end that is
 * `terrace_none()` is open.
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
 * Says whether anything is under the keys from `start` to `end`, which is not one of them:
 * `*exists` is 1 or 0. An end that is `terrace_none()` is open. Mostly known without reading data.
 */
TerraceCode terrace_range_exists(const TerraceKeySpace *space,
                                 TerraceSlice start,
                                 TerraceSlice end,
                                 uint32_t *exists);

/**
 * Tells about how many bytes tables hold for the keys from `start` to `end`, which is not one of
 * them, as they are stored. An end that is `terrace_none()` is open. Entries that are only in
 * memory and log do not count.
 */
TerraceCode terrace_range_size(const TerraceKeySpace *space,
                               TerraceSlice start,
                               TerraceSlice end,
                               uint64_t *bytes);

/**
 * Applies the writes of a batch together or not at all. The batch stays as it is.
 */
TerraceCode terrace_write(const TerraceStore *store,
                          const TerraceBatch *batch,
                          uint32_t durability);

/**
 * Makes everything that was written so far durable.
 */
TerraceCode terrace_store_sync(const TerraceStore *store);

/**
 * Writes everything that is only in memory and log into tables, and waits for it.
 */
TerraceCode terrace_store_flush(const TerraceStore *store);

/**
 * Tells how the store makes its tables: the remembered values, and the defaults of those that were
 * never stated.
 */
TerraceCode terrace_store_table_options(const TerraceStore *store, TerraceTableOptions *options);

/**
 * Changes how the store makes its tables, now and whenever it is opened again. The change is
 * durable when this returns. Tables that are there stay as they are until they are compacted.
 */
TerraceCode terrace_store_set_table_options(const TerraceStore *store,
                                            const TerraceTableOptions *options);

/**
 * Tells what was read from the medium and written to it.
 */
TerraceCode terrace_fs_traffic(const TerraceFs *fs, TerraceTraffic *traffic);

/**
 * Puts `value` under a key if `expected` is under it. `expected` that is `terrace_none()` means
 * that nothing is there, and `value` that is `terrace_none()` that the key is to be deleted. No
 * other write of the key comes between the look and the write.
 *
 * `*swapped` is 1 if it was written, else 0; then `*found` is the value that is there instead, to
 * be freed by `terrace_value_free`, or null if nothing is there. `found` may be null.
 */
TerraceCode terrace_compare_and_swap(const TerraceKeySpace *space,
                                     TerraceSlice key,
                                     TerraceSlice expected,
                                     TerraceSlice value,
                                     uint32_t durability,
                                     uint32_t *swapped,
                                     TerraceValue **found);

/**
 * Begins a transaction, which reads what is there now. To be ended by `terrace_transaction_commit`
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
 * Removes all keys from `start` to `end`, which is not one of them, when the transaction is
 * committed. An end that is `terrace_none()` is open.
 */
TerraceCode terrace_transaction_delete_range(const TerraceTransaction *transaction,
                                             const TerraceKeySpace *space,
                                             TerraceSlice start,
                                             TerraceSlice end);

/**
 * Makes a scan of the keys from `start` to `end`, which is not one of them, as the transaction
 * sees them. An end that is `terrace_none()` is open. The part of the range that the scan has
 * passed counts as read, and while the scan is open, all of it. To be freed by
 * `terrace_transaction_scan_free`.
 */
TerraceCode terrace_transaction_scan(const TerraceTransaction *transaction,
                                     const TerraceKeySpace *space,
                                     TerraceSlice start,
                                     TerraceSlice end,
                                     TerraceTransactionScan **scan);

/**
 * Applies the writes of a transaction, if nothing that it has read has been written since it
 * began. Otherwise applies none of them and returns `TERRACE_CODE_CONFLICT`: begin the transaction
 * again. Frees the handle in any case. `durability` is a `TerraceDurability`. Null is ignored.
 */
TerraceCode terrace_transaction_commit(TerraceTransaction *transaction, uint32_t durability);

/**
 * Ends a transaction without writing anything. Null is ignored.
 */
void terrace_transaction_free(TerraceTransaction *transaction);

/**
 * Moves to the next key from the front that neither end has come to, if there is one.
 */
TerraceCode terrace_transaction_scan_next(TerraceTransactionScan *scan);

/**
 * Moves to the next key from the back that neither end has come to, if there is one.
 */
TerraceCode terrace_transaction_scan_prev(TerraceTransactionScan *scan);

/**
 * 1 if the scan stands on a key, else 0.
 */
uint32_t terrace_transaction_scan_on_key(const TerraceTransactionScan *scan);

/**
 * The key that the scan stands on, valid until it moves or is freed; no slice if it stands
 * nowhere.
 */
TerraceSlice terrace_transaction_scan_key(const TerraceTransactionScan *scan);

/**
 * The value that the scan stands on, valid until it moves or is freed; no slice if it stands
 * nowhere.
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
 * Says anew, before the first append, how long the file is expected to live, and how urgent it is:
 * see `TerraceFileOptions`. The lifetime is durable at once where the file is a log, and when it
 * is finished elsewhere. For a file that was finished before, the call does nothing.
 */
TerraceCode terrace_writer_place(TerraceWriter *writer, uint32_t lifetime, uint32_t urgent);

/**
 * Appends bytes. They can be read at once, and are durable after a sync or the finish.
 */
TerraceCode terrace_writer_append(TerraceWriter *writer, TerraceSlice bytes);

/**
 * Hands the appended bytes of a log to the medium without making them durable: they survive the
 * end of the process, but not a power cut. Does nothing for other files.
 */
TerraceCode terrace_writer_write_out(TerraceWriter *writer);

/**
 * Makes everything durable that was appended so far.
 */
TerraceCode terrace_writer_sync(TerraceWriter *writer);

/**
 * Cuts the file to its first `size` bytes, durably and without a copy; `TERRACE_CODE_INVALID` if
 * it is shorter. If that changes its length, the file is finished then; an append after that makes
 * a copy, as after `terrace_fs_append_to`.
 */
TerraceCode terrace_writer_truncate(TerraceWriter *writer, uint64_t size);

/**
 * How many bytes the file has, those appended included; 0 for null.
 */
uint64_t terrace_writer_size(const TerraceWriter *writer);

/**
 * Makes everything durable, ends the file, which takes no more bytes, and frees the handle, be it
 * with an error. `modified` is its time of modification. `TERRACE_CODE_NOT_FOUND` if the file has
 * been removed meanwhile. Null is ignored.
 */
TerraceCode terrace_writer_finish(TerraceWriter *writer, uint64_t modified);

/**
 * Frees the handle. The file stays as it is: what was synced is durable, the rest may be lost, and
 * it can be opened for further appends. Null is ignored.
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
