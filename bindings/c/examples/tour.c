/*
 * A tour of Terrace from C: an emulated zoned drive with a key-value store, and another one with
 * files. Run as `tour DIRECTORY`, where the directory is empty. It checks its reads.
 */

#include <stdio.h>
#include <stdlib.h>

#include "terrace.h"

/* Ends the program if a call has failed. */
static void must(TerraceCode code, const char *what) {
  if (code != TERRACE_CODE_OK) {
    fprintf(stderr, "%s: code %d: %s\n", what, (int)code, terrace_error_message());
    exit(1);
  }
}

/* Ends the program if a call has not failed in the way that was expected. */
static void must_fail(TerraceCode code, TerraceCode expected, const char *what) {
  if (code != expected || terrace_error_message()[0] == 0) {
    fprintf(stderr, "%s: expected code %d and a message, found code %d: %s\n", what, (int)expected,
            (int)code, terrace_error_message());
    exit(1);
  }
}

static void check(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "%s: expected to hold\n", what);
    exit(1);
  }
}

static int is(TerraceSlice slice, const char *text) {
  return slice.data != NULL && slice.len == strlen(text) &&
         memcmp(slice.data, text, slice.len) == 0;
}

/* Makes the image of a drive of 64 MiB and formats it. */
static void make_drive(const char *path) {
  TerraceShape shape = {0};
  shape.size = 64 << 20;
  shape.kind = TERRACE_KIND_ZONED;
  shape.max_open = 14;
  shape.max_active = 14;
  must(terrace_image_create(terrace_text(path), &shape), "image");
  must(terrace_format(terrace_text(path)), "format");
}

static void tour_of_the_store(const char *path) {
  TerraceStore *store = NULL;
  TerraceOptions options = {0};
  options.counters = 1;
  must(terrace_store_open(terrace_text(path), &options, &store), "open");
  const TerraceKeySpace *space = terrace_store_default(store);

  must(terrace_put(space, terrace_text("apple"), terrace_text("red"), TERRACE_DURABILITY_SYNCED),
       "put");
  must(terrace_put(space, terrace_text("cherry"), terrace_text(""), TERRACE_DURABILITY_DEFAULT),
       "put");
  must_fail(terrace_put(space, terrace_text("k"), terrace_text("v"), 99), TERRACE_CODE_INVALID,
            "a durability that does not exist");

  TerraceTableOptions tables = {0};
  tables.compression = TERRACE_COMPRESSION_LZ4;
  must_fail(terrace_store_set_table_options(store, &tables), TERRACE_CODE_INVALID,
            "a compression of the upper levels alone");
  tables.compression_last = TERRACE_COMPRESSION_ZSTD;
  tables.filter_bits = TERRACE_NO_FILTERS;
  tables.first_keys = TERRACE_SWITCH_ON;
  must(terrace_store_set_table_options(store, &tables), "options of tables");
  tables.filter_bits = 33;
  must_fail(terrace_store_set_table_options(store, &tables), TERRACE_CODE_OPTION,
            "more bits than a filter can have");

  TerraceKeySpace *colours = NULL;
  must(terrace_key_space_open(store, terrace_text("colours"), 1, &colours), "key space");
  TerraceBatch *batch = NULL;
  must(terrace_batch_new(&batch), "batch");
  must(terrace_batch_put(batch, space, terrace_text("banana"), terrace_text("yellow")), "batch");
  must(terrace_batch_put(batch, colours, terrace_text("yellow"), terrace_text("banana")), "batch");
  must(terrace_batch_delete(batch, space, terrace_text("cherry")), "batch");
  must(terrace_write(store, batch, TERRACE_DURABILITY_SYNCED), "write");
  terrace_batch_free(batch);

  TerraceValue *value = NULL;
  must(terrace_get(colours, terrace_text("yellow"), &value), "get");
  check(is(terrace_value_bytes(value), "banana"), "the value of the batch");
  terrace_value_free(value);
  must_fail(terrace_get(space, terrace_text("cherry"), &value), TERRACE_CODE_NOT_FOUND,
            "a key that was removed");
  check(value == NULL, "no value where there is none");

  /* Values that expire: one long ago, one in a year, one at the commit of a transaction. */
  uint64_t year = terrace_date_after(365ull * 24 * 3600 * 1000);
  check(year > terrace_date_after(0), "dates that grow");
  must(terrace_put_with_expiry(space, terrace_text("offer"), terrace_text("half"), 1,
                               TERRACE_DURABILITY_DEFAULT),
       "put with expiry");
  must_fail(terrace_get(space, terrace_text("offer"), &value), TERRACE_CODE_NOT_FOUND,
            "a value that has expired");
  must(terrace_batch_new(&batch), "batch");
  must(terrace_batch_put_with_expiry(batch, colours, terrace_text("pink"), terrace_text("x"), year),
       "batch");
  must(terrace_write(store, batch, TERRACE_DURABILITY_DEFAULT), "write");
  terrace_batch_free(batch);
  must(terrace_get(colours, terrace_text("pink"), &value), "get");
  check(is(terrace_value_bytes(value), "x"), "a value that is still there");
  terrace_value_free(value);
  TerraceTransaction *transaction = NULL;
  must(terrace_transaction_begin(store, &transaction), "transaction");
  must(terrace_transaction_put_with_expiry(transaction, colours, terrace_text("pink"),
                                           terrace_text("x"), 1),
       "put in a transaction");
  must(terrace_transaction_commit(transaction, TERRACE_DURABILITY_DEFAULT), "commit");
  must_fail(terrace_get(colours, terrace_text("pink"), &value), TERRACE_CODE_NOT_FOUND,
            "a value that expired at the commit");

  /* Counters: added to without a read. */
  int64_t number = 0;
  must(terrace_add(colours, terrace_text("seen"), 5, TERRACE_DURABILITY_DEFAULT), "add");
  must(terrace_batch_new(&batch), "batch");
  must(terrace_batch_add(batch, colours, terrace_text("seen"), -2), "add in a batch");
  must(terrace_write(store, batch, TERRACE_DURABILITY_DEFAULT), "write");
  terrace_batch_free(batch);
  must(terrace_transaction_begin(store, &transaction), "transaction");
  must(terrace_transaction_add(transaction, colours, terrace_text("seen"), 4), "add");
  must(terrace_add(colours, terrace_text("seen"), 1, TERRACE_DURABILITY_DEFAULT), "add");
  must(terrace_transaction_commit(transaction, TERRACE_DURABILITY_DEFAULT), "no conflict");
  must(terrace_get(colours, terrace_text("seen"), &value), "get");
  must(terrace_number(terrace_value_bytes(value), &number), "number");
  check(number == 8, "all additions");
  terrace_value_free(value);
  must_fail(terrace_number(terrace_text("red"), &number), TERRACE_CODE_INVALID, "no number");
  must(terrace_delete(colours, terrace_text("seen"), TERRACE_DURABILITY_DEFAULT), "delete");

  uint32_t exists = 9;
  uint64_t bytes = 9;
  must(terrace_range_exists(space, terrace_text("b"), terrace_text("c"), &exists), "exists");
  check(exists == 1, "a key that begins with b");
  must(terrace_range_exists(colours, terrace_text("z"), terrace_none(), &exists), "exists");
  check(exists == 0, "no key from z on");
  must(terrace_range_size(space, terrace_none(), terrace_none(), &bytes), "size");
  check(bytes == 0, "nothing in tables");
  must(terrace_store_flush(store), "flush");
  must(terrace_range_size(space, terrace_none(), terrace_none(), &bytes), "size");
  check(bytes > 0, "something in tables");

  TerraceCursor *cursor = NULL;
  must(terrace_cursor_open(space, terrace_none(), terrace_none(), &cursor), "cursor");
  int entries = 0;
  for (must(terrace_cursor_first(cursor), "first"); terrace_cursor_on_key(cursor);
       must(terrace_cursor_next(cursor), "next")) {
    TerraceSlice key = terrace_cursor_key(cursor), found = terrace_cursor_value(cursor);
    printf("%.*s is %.*s\n", (int)key.len, (const char *)key.data, (int)found.len,
           (const char *)found.data);
    entries++;
  }
  check(entries == 2, "two entries");
  must(terrace_cursor_seek_back(cursor, terrace_text("b")), "seek back");
  check(is(terrace_cursor_key(cursor), "apple"), "the last key before b");

  /* A cursor that outlives its store fails and does no harm. */
  must(terrace_store_close(store), "close");
  must_fail(terrace_cursor_first(cursor), TERRACE_CODE_CLOSED, "a cursor of a closed store");
  terrace_cursor_free(cursor);
  terrace_key_space_free(colours);

  options.read_only = 1;
  must(terrace_store_open(terrace_text(path), &options, &store), "open for reading");
  space = terrace_store_default(store);
  must(terrace_store_table_options(store, &tables), "options of tables");
  check(tables.compression == TERRACE_COMPRESSION_LZ4 &&
            tables.compression_last == TERRACE_COMPRESSION_ZSTD &&
            tables.filter_bits == TERRACE_NO_FILTERS && tables.block_size == 4096 &&
            tables.first_keys == TERRACE_SWITCH_ON,
        "the store remembers how tables are made");
  must(terrace_get(space, terrace_text("apple"), &value), "get");
  check(is(terrace_value_bytes(value), "red"), "the value after the store was opened again");
  terrace_value_free(value);
  must_fail(terrace_delete(space, terrace_text("apple"), 0), TERRACE_CODE_READ_ONLY,
            "a write to a store that is open for reading");
  must(terrace_store_close(store), "close");

  TerraceFs *fs = NULL;
  must_fail(terrace_fs_open(terrace_text(path), NULL, &fs), TERRACE_CODE_INVALID,
            "files beside a store");
}

static void tour_of_the_files(const char *path) {
  TerraceFs *fs = NULL;
  must(terrace_fs_open(terrace_text(path), NULL, &fs), "mount");

  TerraceWriter *refused = NULL;
  const TerraceFileOptions strange = {.reserved = {1}};
  must_fail(terrace_fs_create(fs, terrace_text("strange"), &strange, &refused),
            TERRACE_CODE_INVALID, "options of a later version");
  const TerraceFileOptions hasty = {.urgent = 3};
  must_fail(terrace_fs_create(fs, terrace_text("hasty"), &hasty, &refused), TERRACE_CODE_INVALID,
            "more haste than there is");

  TerraceFileOptions log = {0};
  log.kind = TERRACE_FILE_KIND_LOG;
  log.lifetime = 1;
  log.urgent = 1;
  TerraceWriter *writer = NULL;
  must(terrace_fs_create(fs, terrace_text("db/1.log"), &log, &writer), "create");
  TerraceTraffic before, after;
  must(terrace_fs_traffic(fs, &before), "traffic");
  must(terrace_writer_append(writer, terrace_text("first,")), "append");
  must(terrace_writer_sync(writer), "sync");
  must(terrace_fs_traffic(fs, &after), "traffic");
  check(after.writes == before.writes + 1, "one write for a sync");
  must(terrace_writer_append(writer, terrace_text("second")), "append");
  check(terrace_writer_size(writer) == 12, "the size while it is written");

  TerraceReader *reader = NULL;
  must(terrace_fs_read(fs, terrace_text("db/1.log"), &reader), "read");
  char bytes[64];
  size_t read = 0;
  must(terrace_reader_read_at(reader, 6, terrace_buffer(bytes, sizeof bytes), &read), "read");
  check(read == 6 && memcmp(bytes, "second", 6) == 0, "bytes that were just appended");
  must(terrace_writer_finish(writer, 1700000000), "finish");

  must(terrace_fs_link(fs, terrace_text("db/1.log"), terrace_text("copy/1.log")), "link");
  must_fail(terrace_fs_link(fs, terrace_text("db/1.log"), terrace_text("copy/1.log")),
            TERRACE_CODE_EXISTS, "a name that is taken");
  must(terrace_fs_remove(fs, terrace_text("db/1.log")), "remove");
  must(terrace_fs_rename(fs, terrace_text("copy/1.log"), terrace_text("db/2.log")), "rename");
  must(terrace_reader_read_at(reader, 0, terrace_buffer(bytes, 5), &read), "read");
  check(read == 5 && memcmp(bytes, "first", 5) == 0, "a file that is still open");
  must(terrace_reader_read_at(reader, 12, terrace_buffer(bytes, 5), &read), "read");
  check(read == 0, "nothing behind the end");

  // Two reads that are begun together; one of them is given up, the other outlives its reader.
  TerracePendingRead *first = NULL, *second = NULL;
  must(terrace_reader_submit(reader, 0, 5, &first), "submit");
  must(terrace_reader_submit(reader, 6, sizeof bytes, &second), "submit");
  terrace_pending_read_drop(first);
  terrace_reader_close(reader);
  must(terrace_pending_read_wait(second, terrace_buffer(bytes, sizeof bytes), &read), "wait");
  check(read == 6 && memcmp(bytes, "second", 6) == 0, "bytes that were waited for");

  must(terrace_fs_append_to(fs, terrace_text("db/2.log"), &writer), "append to");
  must(terrace_writer_append(writer, terrace_text(",third")), "append");
  must(terrace_writer_sync(writer), "sync");
  terrace_writer_close(writer);

  TerraceListing *listing = NULL;
  must(terrace_fs_list(fs, terrace_text("db/"), &listing), "list");
  TerraceFileInfo info;
  check(terrace_listing_len(listing) == 1, "one file");
  check(is(terrace_listing_at(listing, 0, &info), "db/2.log"), "its name");
  check(info.size == 18 && info.finished == 0 && info.links == 1, "its size");
  check(terrace_listing_at(listing, 1, NULL).data == NULL, "no second one");
  terrace_listing_free(listing);
  must(terrace_fs_truncate(fs, terrace_text("db/2.log"), 5), "truncate");
  must(terrace_fs_rename_all(fs, terrace_text("db/"), terrace_text("db.old/")), "rename all");
  must(terrace_fs_rename_all(fs, terrace_text("db.old/"), terrace_text("db/")), "rename back");

  /* A writer that outlives the file system fails and does no harm. */
  must(terrace_fs_create(fs, terrace_text("left"), NULL, &writer), "create");
  must(terrace_writer_append(writer, terrace_text("lost")), "append");
  must(terrace_fs_close(fs), "unmount");
  check(terrace_writer_sync(writer) != TERRACE_CODE_OK, "a writer without a file system");
  terrace_writer_close(writer);

  must(terrace_fs_open(terrace_text(path), NULL, &fs), "mount again");
  must(terrace_fs_stat(fs, terrace_text("db/2.log"), &info), "stat");
  check(info.size == 5 && info.modified == 1700000000, "the file after the mount");
  must(terrace_fs_stat(fs, terrace_text("left"), &info), "stat");
  check(info.size == 0, "nothing of what was not synced");
  must_fail(terrace_fs_stat(fs, terrace_text("gone"), NULL), TERRACE_CODE_NOT_FOUND, "no file");
  TerraceSpace space;
  must(terrace_fs_space(fs, &space), "space");
  printf("%llu of %llu bytes are free\n", (unsigned long long)space.free,
         (unsigned long long)space.capacity);
  check(space.free > 0 && space.available <= space.capacity, "the space");
  must(terrace_fs_close(fs), "unmount");

  TerraceStore *store = NULL;
  must_fail(terrace_store_open(terrace_text(path), NULL, &store), TERRACE_CODE_INVALID,
            "a store beside files");
  check(store == NULL, "no handle from a call that failed");
}

/* Handles that are null are refused, or ignored where they would be freed. */
static void tour_of_nothing(void) {
  must_fail(terrace_store_sync(NULL), TERRACE_CODE_INVALID, "no store");
  must_fail(terrace_store_open(terrace_none(), NULL, NULL), TERRACE_CODE_INVALID, "no place");
  must(terrace_store_close(NULL), "no store to close");
  must(terrace_fs_close(NULL), "no file system to close");
  terrace_cursor_free(NULL);
  terrace_value_free(NULL);
  check(terrace_cursor_on_key(NULL) == 0, "no cursor");
  check(terrace_value_bytes(NULL).data == NULL, "no value");
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: tour DIRECTORY\n");
    return 2;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/store.img", arguments[1]);
  make_drive(path);
  must_fail(terrace_image_create(terrace_text(path), &(TerraceShape){.size = 64 << 20}),
            TERRACE_CODE_EXISTS, "an image over another one");
  tour_of_the_store(path);
  snprintf(path, sizeof path, "%s/files.img", arguments[1]);
  make_drive(path);
  tour_of_the_files(path);
  tour_of_nothing();
  printf("all is as expected\n");
  return 0;
}
