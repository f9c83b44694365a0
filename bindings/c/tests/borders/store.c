/*
 * The calls of a store at their borders: empty keys, values and ranges, ends of cursors, null where
 * it is allowed. Run as `store DIRECTORY`, where the directory is empty.
 */

#include "borders.h"

static TerraceStore *open_store(const char *path, const TerraceOptions *options) {
  TerraceStore *store = NULL;
  OK(terrace_store_open(TEXT(path), options, &store));
  HOLDS(store != NULL);
  return store;
}

/* Whether the metrics of a store, which are JSON, have this text. */
static int tells(const TerraceStore *store, const char *text) {
  TerraceValue *stats = NULL;
  GIVES(TERRACE_CODE_INVALID, terrace_store_stats(store, NULL));
  OK(terrace_store_stats(store, &stats));
  TerraceSlice found = terrace_value_bytes(stats);
  size_t len = strlen(text), at = 0;
  HOLDS(found.len > len && found.data[0] == '{' && found.data[found.len - 1] == '}');
  while (at + len <= found.len && memcmp(found.data + at, text, len) != 0) {
    at++;
  }
  terrace_value_free(stats);
  return at + len <= found.len;
}

static void openings(const char *path) {
  TerraceStore *store = (TerraceStore *)&store;
  GIVES(TERRACE_CODE_INVALID, terrace_store_open(NONE, NULL, &store));
  HOLDS(store == NULL);
  GIVES(TERRACE_CODE_INVALID, terrace_store_open(TEXT("\xff"), NULL, &store));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_store_open(EMPTY, NULL, &store));
  GIVES(TERRACE_CODE_INVALID, terrace_store_open(TEXT(path), NULL, NULL));
  TerraceOptions options = {0};
  options.reclaim_below = 101;
  GIVES(TERRACE_CODE_INVALID, terrace_store_open(TEXT(path), &options, &store));
  options.reclaim_below = 100;
  options.reserved[16] = 1;
  GIVES(TERRACE_CODE_INVALID, terrace_store_open(TEXT(path), &options, &store));
  options.reserved[16] = 0;
  options.system = EMPTY;
  GIVES(TERRACE_CODE_OPTION, terrace_store_open(TEXT(path), &options, &store));
  options.system = TEXT("slised");
  GIVES(TERRACE_CODE_OPTION, terrace_store_open(TEXT(path), &options, &store));
  HOLDS(strstr(terrace_error_message(), "sliced") != NULL);
  options.system = TEXT("bluefs:factor=5");
  options.durability = TERRACE_DURABILITY_UNLOGGED;
  store = open_store(path, &options);
  HOLDS(tells(store, "\"flushes\":0"));
  /* Batches, too, are written with the durability of the options. */
  TerraceBatch *batch = NULL;
  OK(terrace_batch_new(&batch));
  OK(terrace_batch_put(batch, terrace_store_default(store), TEXT("batch"), EMPTY));
  OK(terrace_write(store, batch, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_put(terrace_store_default(store), TEXT("put"), EMPTY, TERRACE_DURABILITY_DEFAULT));
  terrace_batch_free(batch);
  HOLDS(tells(store, "\"write_amplification\":{\"log\":0.0"));
  OK(terrace_delete(terrace_store_default(store), TEXT("batch"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_delete(terrace_store_default(store), TEXT("put"), TERRACE_DURABILITY_DEFAULT));
  TerraceStore *second = NULL;
  GIVES(TERRACE_CODE_IN_USE, terrace_store_open(TEXT(path), NULL, &second));
  OK(terrace_store_sync(store));
  OK(terrace_store_flush(store));
  OK(terrace_store_close(store));
  HOLDS(terrace_store_default(NULL) == NULL);
}

static void keys_and_values(const TerraceKeySpace *space) {
  HOLDS(holds(space, EMPTY, NULL));
  OK(terrace_put(space, EMPTY, EMPTY, TERRACE_DURABILITY_SYNCED));
  HOLDS(holds(space, EMPTY, ""));
  HOLDS(holds(space, NONE, ""));
  OK(terrace_put(space, NONE, TEXT("of no bytes"), TERRACE_DURABILITY_UNLOGGED));
  HOLDS(holds(space, EMPTY, "of no bytes"));
  OK(terrace_put(space, terrace_bytes("\0", 1), NONE, TERRACE_DURABILITY_GATHERED));
  HOLDS(holds(space, terrace_bytes("\0", 1), ""));
  HOLDS(holds(space, terrace_bytes("\0\0", 2), NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_put(space, EMPTY, EMPTY, 5));
  GIVES(TERRACE_CODE_INVALID, terrace_get(space, EMPTY, NULL));
  OK(terrace_delete(space, TEXT("absent"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_delete(space, EMPTY, TERRACE_DURABILITY_WRITTEN));
  HOLDS(holds(space, EMPTY, NULL));
  OK(terrace_delete(space, terrace_bytes("\0", 1), TERRACE_DURABILITY_DEFAULT));

  static char large[70000];
  TerraceSlice longest = terrace_bytes(large, 65535), longer = terrace_bytes(large, 65536);
  OK(terrace_put(space, longest, TEXT("v"), TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, longest, "v"));
  GIVES(TERRACE_CODE_TOO_LARGE, terrace_put(space, longer, TEXT("v"), TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, longer, NULL));
  OK(terrace_delete(space, longest, TERRACE_DURABILITY_DEFAULT));
  HOLDS(is_none(terrace_value_bytes(NULL)));
  terrace_value_free(NULL);

  HOLDS(terrace_date_after(1000) > terrace_date_after(0));
  HOLDS(terrace_date_after(UINT64_MAX) >= terrace_date_after(0));
  OK(terrace_put_with_expiry(space, TEXT("e"), TEXT("v"), 0, TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, TEXT("e"), NULL));
  OK(terrace_put_with_expiry(space, TEXT("e"), EMPTY, terrace_date_after(3600000),
                             TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, TEXT("e"), ""));
  OK(terrace_delete(space, TEXT("e"), TERRACE_DURABILITY_DEFAULT));
}

static uint32_t exists(const TerraceKeySpace *space, TerraceSlice start, TerraceSlice end) {
  uint32_t exists = 7;
  OK(terrace_range_exists(space, start, end, &exists));
  return exists;
}

static uint64_t size_of(const TerraceKeySpace *space, TerraceSlice start, TerraceSlice end) {
  uint64_t bytes = UINT64_MAX;
  OK(terrace_range_size(space, start, end, &bytes));
  return bytes;
}

/* The entries b, c and d. An end that is empty, or before the start, makes a range empty. */
static void ranges(TerraceStore *store, const TerraceKeySpace *space) {
  HOLDS(exists(space, NONE, NONE) == 0 && size_of(space, NONE, NONE) == 0);
  const char *keys[] = {"b", "c", "d"};
  for (int i = 0; i < 3; i++) {
    OK(terrace_put(space, TEXT(keys[i]), TEXT(keys[i]), TERRACE_DURABILITY_DEFAULT));
  }
  OK(terrace_store_flush(store));
  HOLDS(exists(space, NONE, NONE) == 1 && size_of(space, NONE, NONE) > 0);
  HOLDS(exists(space, EMPTY, EMPTY) == 0 && size_of(space, EMPTY, EMPTY) == 0);
  HOLDS(exists(space, TEXT("b"), EMPTY) == 0 && size_of(space, TEXT("b"), EMPTY) == 0);
  HOLDS(exists(space, TEXT("c"), TEXT("c")) == 0);
  HOLDS(exists(space, TEXT("d"), TEXT("b")) == 0);
  HOLDS(exists(space, NONE, TEXT("b")) == 0);
  HOLDS(exists(space, NONE, terrace_bytes("b\0", 2)) == 1);
  HOLDS(exists(space, terrace_bytes("d\0", 2), NONE) == 0);
  GIVES(TERRACE_CODE_INVALID, terrace_range_exists(space, NONE, NONE, NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_range_size(space, NONE, NONE, NULL));

  /* These ranges are empty: no key goes. */
  OK(terrace_delete_range(space, NONE, EMPTY, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_delete_range(space, TEXT("b"), TEXT("b"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_delete_range(space, TEXT("d"), TEXT("b"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_delete_range(space, NONE, TEXT("b"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_delete_range(space, TEXT("e"), NONE, TERRACE_DURABILITY_DEFAULT));
  for (int i = 0; i < 3; i++) {
    HOLDS(holds(space, TEXT(keys[i]), keys[i]));
  }
  OK(terrace_compact(space, NONE, EMPTY));
  OK(terrace_compact(space, TEXT("d"), TEXT("b")));
  OK(terrace_compact(space, NONE, NONE));
  /* The last key alone. */
  OK(terrace_delete_range(space, TEXT("d"), NONE, TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, TEXT("c"), "c") && holds(space, TEXT("d"), NULL));
  OK(terrace_put(space, TEXT("d"), TEXT("d"), TERRACE_DURABILITY_DEFAULT));
}

/* Whether a cursor stands on this key, with a value of the same bytes; null for no key. */
static int stands(const TerraceCursor *cursor, const char *key) {
  TerraceSlice at = terrace_cursor_key(cursor), value = terrace_cursor_value(cursor);
  uint32_t on_key = terrace_cursor_on_key(cursor);
  if (key == NULL) {
    return on_key == 0 && is_none(at) && is_none(value);
  }
  return on_key == 1 && is(at, key) && is(value, key);
}

/* A cursor over b, c and d: beyond either end it stands on no key, from which it begins again. */
static void ends_of_a_cursor(TerraceCursor *cursor) {
  HOLDS(stands(cursor, NULL));
  OK(terrace_cursor_next(cursor));
  HOLDS(stands(cursor, "b"));
  OK(terrace_cursor_prev(cursor));
  HOLDS(stands(cursor, NULL));
  OK(terrace_cursor_prev(cursor));
  HOLDS(stands(cursor, "d"));
  OK(terrace_cursor_prev(cursor));
  HOLDS(stands(cursor, "c"));
  OK(terrace_cursor_prev(cursor));
  HOLDS(stands(cursor, "b"));
  OK(terrace_cursor_last(cursor));
  HOLDS(stands(cursor, "d"));
  OK(terrace_cursor_next(cursor));
  HOLDS(stands(cursor, NULL));
  OK(terrace_cursor_next(cursor));
  HOLDS(stands(cursor, "b"));
  OK(terrace_cursor_next(cursor));
  HOLDS(stands(cursor, "c"));
  OK(terrace_cursor_first(cursor));
  HOLDS(stands(cursor, "b"));
  OK(terrace_cursor_seek(cursor, EMPTY));
  HOLDS(stands(cursor, "b"));
  OK(terrace_cursor_seek(cursor, NONE));
  HOLDS(stands(cursor, "b"));
  OK(terrace_cursor_seek(cursor, terrace_bytes("b\0", 2)));
  HOLDS(stands(cursor, "c"));
  OK(terrace_cursor_seek(cursor, TEXT("d")));
  HOLDS(stands(cursor, "d"));
  OK(terrace_cursor_seek(cursor, TEXT("e")));
  HOLDS(stands(cursor, NULL));
  OK(terrace_cursor_seek_back(cursor, EMPTY));
  HOLDS(stands(cursor, NULL));
  OK(terrace_cursor_seek_back(cursor, TEXT("b")));
  HOLDS(stands(cursor, "b"));
  OK(terrace_cursor_seek_back(cursor, TEXT("cc")));
  HOLDS(stands(cursor, "c"));
  OK(terrace_cursor_seek_back(cursor, TEXT("zz")));
  HOLDS(stands(cursor, "d"));
}

static void cursors(TerraceStore *store, const TerraceKeySpace *space) {
  TerraceCursor *cursor = NULL;
  OK(terrace_cursor_open(space, NONE, NONE, &cursor));
  ends_of_a_cursor(cursor);
  terrace_cursor_free(cursor);
  GIVES(TERRACE_CODE_INVALID, terrace_cursor_open(space, NONE, NONE, NULL));
  HOLDS(stands(NULL, NULL));
  terrace_cursor_free(NULL);

  /* Of an empty range, by an empty end, or an end before the start. */
  TerraceSlice bounds[][2] = {{NONE, EMPTY}, {TEXT("b"), EMPTY}, {TEXT("c"), TEXT("c")},
                              {TEXT("d"), TEXT("b")}, {TEXT("e"), NONE}};
  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
    OK(terrace_cursor_open(space, bounds[i][0], bounds[i][1], &cursor));
    OK(terrace_cursor_first(cursor));
    HOLDS(stands(cursor, NULL));
    OK(terrace_cursor_last(cursor));
    HOLDS(stands(cursor, NULL));
    OK(terrace_cursor_next(cursor));
    HOLDS(stands(cursor, NULL));
    OK(terrace_cursor_prev(cursor));
    HOLDS(stands(cursor, NULL));
    OK(terrace_cursor_seek(cursor, TEXT("c")));
    HOLDS(stands(cursor, NULL));
    OK(terrace_cursor_seek_back(cursor, TEXT("c")));
    HOLDS(stands(cursor, NULL));
    terrace_cursor_free(cursor);
  }
  /* A range of one key: its neighbours are beyond the ends. */
  OK(terrace_cursor_open(space, TEXT("c"), TEXT("d"), &cursor));
  OK(terrace_cursor_seek(cursor, TEXT("a")));
  HOLDS(stands(cursor, "c"));
  OK(terrace_cursor_next(cursor));
  HOLDS(stands(cursor, NULL));
  OK(terrace_cursor_seek_back(cursor, TEXT("z")));
  HOLDS(stands(cursor, "c"));
  OK(terrace_cursor_prev(cursor));
  HOLDS(stands(cursor, NULL));
  terrace_cursor_free(cursor);

  /* A snapshot, and its cursor, do not see later writes. */
  TerraceSnapshot *snapshot = NULL;
  TerraceValue *value = NULL;
  OK(terrace_snapshot_open(store, &snapshot));
  GIVES(TERRACE_CODE_INVALID, terrace_snapshot_open(store, NULL));
  OK(terrace_delete_range(space, NONE, NONE, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_put(space, EMPTY, EMPTY, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_snapshot_cursor(snapshot, space, NONE, NONE, &cursor));
  ends_of_a_cursor(cursor);
  terrace_cursor_free(cursor);
  OK(terrace_snapshot_cursor(snapshot, space, NONE, EMPTY, &cursor));
  OK(terrace_cursor_first(cursor));
  HOLDS(stands(cursor, NULL));
  terrace_cursor_free(cursor);
  OK(terrace_snapshot_get(snapshot, space, TEXT("b"), &value));
  HOLDS(is(terrace_value_bytes(value), "b"));
  terrace_value_free(value);
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_snapshot_get(snapshot, space, EMPTY, &value));
  HOLDS(value == NULL);
  GIVES(TERRACE_CODE_INVALID, terrace_snapshot_get(snapshot, space, EMPTY, NULL));
  terrace_snapshot_free(snapshot);
  terrace_snapshot_free(NULL);

  /* The only entry has neither a key nor a value of any byte. */
  OK(terrace_cursor_open(space, NONE, NONE, &cursor));
  OK(terrace_cursor_last(cursor));
  HOLDS(stands(cursor, ""));
  OK(terrace_cursor_seek(cursor, EMPTY));
  HOLDS(stands(cursor, ""));
  OK(terrace_cursor_seek_back(cursor, EMPTY));
  HOLDS(stands(cursor, ""));
  terrace_cursor_free(cursor);
  OK(terrace_delete(space, NONE, TERRACE_DURABILITY_DEFAULT));
}

/* A copy goes to a drive that is formatted, and empty. */
static void copies_on_drives(const TerraceStore *store, const char *directory) {
  char path[512];
  TerraceShape shape = {0};
  shape.size = 64 << 20;
  snprintf(path, sizeof path, "%s/blank.img", directory);
  OK(terrace_image_create(TEXT(path), &shape));
  HOLDS(terrace_store_checkpoint(store, TEXT(path)) != TERRACE_CODE_OK);
  OK(terrace_format(TEXT(path)));
  OK(terrace_store_checkpoint(store, TEXT(path)));
  GIVES(TERRACE_CODE_TARGET_NOT_EMPTY, terrace_store_checkpoint(store, TEXT(path)));
  GIVES(TERRACE_CODE_TARGET_NOT_EMPTY, terrace_store_backup(store, TEXT(path)));
  TerraceStore *copy = open_store(path, NULL);
  TerraceKeySpace *copied = NULL;
  OK(terrace_key_space_open(copy, TEXT("s"), 0, &copied));
  HOLDS(holds(copied, EMPTY, "v"));
  terrace_key_space_free(copied);
  OK(terrace_store_close(copy));
  snprintf(path, sizeof path, "%s/backup.img", directory);
  make_drive(path);
  OK(terrace_store_backup(store, TEXT(path)));
  OK(terrace_store_backup(store, TEXT(path)));
}

static void spaces_and_copies(TerraceStore *store, const char *directory) {
  TerraceKeySpace *space = (TerraceKeySpace *)&space;
  GIVES(TERRACE_CODE_UNKNOWN_KEY_SPACE, terrace_key_space_open(store, TEXT("s"), 0, &space));
  HOLDS(space == NULL);
  GIVES(TERRACE_CODE_INVALID, terrace_key_space_open(store, TEXT("s"), 1, NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_key_space_open(store, EMPTY, 1, &space));
  GIVES(TERRACE_CODE_UNKNOWN_KEY_SPACE, terrace_key_space_drop(store, TEXT("s")));
  OK(terrace_key_space_open(store, TEXT("s"), 1, &space));
  OK(terrace_put(space, EMPTY, TEXT("v"), TERRACE_DURABILITY_DEFAULT));

  char path[512];
  snprintf(path, sizeof path, "%s/checkpoint", directory);
  OK(terrace_store_checkpoint(store, TEXT(path)));
  GIVES(TERRACE_CODE_TARGET_NOT_EMPTY, terrace_store_checkpoint(store, TEXT(path)));
  GIVES(TERRACE_CODE_TARGET_NOT_EMPTY, terrace_store_backup(store, TEXT(path)));
  TerraceStore *copy = open_store(path, NULL);
  TerraceKeySpace *copied = NULL;
  OK(terrace_key_space_open(copy, TEXT("s"), 0, &copied));
  HOLDS(holds(copied, EMPTY, "v"));
  /* A key space of one opening is refused by another. */
  TerraceBatch *batch = NULL;
  OK(terrace_batch_new(&batch));
  OK(terrace_batch_put(batch, copied, EMPTY, EMPTY));
  GIVES(TERRACE_CODE_OTHER_STORE, terrace_write(store, batch, TERRACE_DURABILITY_DEFAULT));
  terrace_batch_free(batch);
  OK(terrace_store_close(copy));
  GIVES(TERRACE_CODE_CLOSED, terrace_put(copied, EMPTY, EMPTY, TERRACE_DURABILITY_DEFAULT));
  terrace_key_space_free(copied);
  snprintf(path, sizeof path, "%s/backup", directory);
  OK(terrace_store_backup(store, TEXT(path)));
  OK(terrace_store_backup(store, TEXT(path)));
  copies_on_drives(store, directory);

  OK(terrace_key_space_drop(store, TEXT("s")));
  GIVES(TERRACE_CODE_UNKNOWN_KEY_SPACE, terrace_put(space, EMPTY, EMPTY, 0));
  terrace_key_space_free(space);
  terrace_key_space_free(NULL);
}

static void scanned(const TerraceStoreReader *reader, uint32_t goes_on, const char *value) {
  TerraceStoreScan *scan = NULL;
  OK(terrace_store_scan_begin(reader, NONE, TEXT("r"), TEXT("s"), goes_on, &scan));
  HOLDS(is_none(terrace_store_scan_key(scan)) && is_none(terrace_store_scan_value(scan)));
  OK(terrace_store_scan_next(scan));
  HOLDS(is(terrace_store_scan_key(scan), "r") && is(terrace_store_scan_value(scan), value));
  OK(terrace_store_scan_next(scan));
  HOLDS(is_none(terrace_store_scan_key(scan)) && is_none(terrace_store_scan_value(scan)));
  OK(terrace_store_scan_next(scan));
  HOLDS(is_none(terrace_store_scan_key(scan)));
  terrace_store_scan_free(scan);
}

static int shows(const TerraceStoreReader *reader, const char *value) {
  TerraceValue *found = NULL;
  TerraceCode code = terrace_store_reader_get(reader, TEXT("default"), TEXT("r"), &found);
  int same = code == TERRACE_CODE_OK && is(terrace_value_bytes(found), value);
  terrace_value_free(found);
  return same;
}

/* A reader that takes no part in the store, while this program writes it. */
static void reader_of_a_store(const TerraceKeySpace *space, const char *path) {
  OK(terrace_put(space, TEXT("r"), EMPTY, TERRACE_DURABILITY_SYNCED));
  TerraceStoreReader *reader = NULL;
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_store_reader_open(TEXT("absent"), NULL, &reader));
  TerraceOptions options = {0};
  options.memory = 8 << 20;
  OK(terrace_store_reader_open(TEXT(path), &options, &reader));
  HOLDS(shows(reader, ""));
  scanned(reader, 0, "");
  TerraceValue *absent = (TerraceValue *)&absent;
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_store_reader_get(reader, NONE, TEXT("rr"), &absent));
  HOLDS(absent == NULL);
  GIVES(TERRACE_CODE_UNKNOWN_KEY_SPACE,
        terrace_store_reader_get(reader, TEXT("none"), TEXT("r"), &absent));
  TerraceStoreScan *scan = NULL;
  GIVES(TERRACE_CODE_UNKNOWN_KEY_SPACE,
        terrace_store_scan_begin(reader, TEXT("none"), NONE, NONE, 0, &scan));
  uint32_t changed = 7;
  OK(terrace_store_reader_refresh(reader, &changed));
  HOLDS(changed == 0);
  OK(terrace_store_scan_begin(reader, NONE, TEXT("r"), NONE, 0, &scan));
  OK(terrace_put(space, TEXT("r"), TEXT("new"), TERRACE_DURABILITY_SYNCED));
  HOLDS(shows(reader, ""));
  OK(terrace_store_reader_refresh(reader, &changed));
  HOLDS(changed == 1 && shows(reader, "new"));
  scanned(reader, 1, "new");
  OK(terrace_store_reader_refresh(reader, NULL));
  terrace_store_reader_free(reader);
  OK(terrace_store_scan_next(scan));
  HOLDS(is(terrace_store_scan_value(scan), ""));
  terrace_store_scan_free(scan);
  OK(terrace_delete(space, TEXT("r"), TERRACE_DURABILITY_DEFAULT));
}

int main(int count, char **arguments) {
  HOLDS(count == 2);
  char path[512];
  snprintf(path, sizeof path, "%s/drive.img", arguments[1]);
  make_drive(path);
  openings(path);
  TerraceStore *store = open_store(path, NULL);
  const TerraceKeySpace *space = terrace_store_default(store);
  keys_and_values(space);
  ranges(store, space);
  cursors(store, space);
  spaces_and_copies(store, arguments[1]);
  reader_of_a_store(space, path);
  TerraceCursor *late = NULL;
  OK(terrace_cursor_open(space, NONE, NONE, &late));
  OK(terrace_store_close(store));
  GIVES(TERRACE_CODE_CLOSED, terrace_cursor_first(late));
  HOLDS(stands(late, NULL));
  terrace_cursor_free(late);
  puts("all is as expected");
  return 0;
}
