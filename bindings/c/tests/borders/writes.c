/*
 * Batches, transactions, conditional writes, ingests, counters, merge operators, filters and events
 * at their borders. Run as `writes DIRECTORY`, where the directory is empty.
 */

#include "borders.h"

/* Appends the operand to the older value; refuses the operand "no". */
static uint32_t join(void *data, const TerraceMergeKey *key, TerraceSlice older,
                     TerraceSlice newer, TerraceOutput *result) {
  (void)data;
  HOLDS(is(key->key_space, "default"));
  OK(terrace_output_append(result, older));
  OK(terrace_output_append(result, newer));
  OK(terrace_output_append(result, NONE));
  return is(newer, "no");
}

static uint32_t keep_all_but_empty(void *data, TerraceSlice key, TerraceSlice value) {
  (void)data;
  (void)key;
  return value.len > 0;
}

static int destroyed;

static void count_destroyed(void *data) {
  HOLDS(data == &destroyed);
  destroyed++;
}

static void count_event(void *data, const TerraceEvent *event) {
  HOLDS(event->text.data != NULL && event->reserved == 0);
  if (event->kind == TERRACE_EVENT_KIND_FLUSH_ENDED) {
    (*(int *)data)++;
  }
}

static void batches(TerraceStore *store, const TerraceKeySpace *space) {
  TerraceBatch *batch = NULL;
  OK(terrace_batch_new(&batch));
  OK(terrace_write(store, batch, TERRACE_DURABILITY_SYNCED));
  OK(terrace_batch_put(batch, space, EMPTY, EMPTY));
  OK(terrace_batch_put(batch, space, TEXT("a"), NONE));
  OK(terrace_batch_put_with_expiry(batch, space, TEXT("gone"), TEXT("v"), 0));
  OK(terrace_batch_merge(batch, space, TEXT("m"), EMPTY));
  OK(terrace_batch_merge(batch, space, TEXT("m"), TEXT("x")));
  OK(terrace_write(store, batch, TERRACE_DURABILITY_SYNCED));
  HOLDS(holds(space, EMPTY, "") && holds(space, TEXT("a"), "") && holds(space, TEXT("m"), "x"));
  HOLDS(holds(space, TEXT("gone"), NULL));
  /* The batch has not changed: written again, its operand is added again. */
  OK(terrace_write(store, batch, TERRACE_DURABILITY_SYNCED));
  HOLDS(holds(space, TEXT("m"), "xx"));
  OK(terrace_batch_clear(batch));
  OK(terrace_batch_delete_range(batch, space, NONE, EMPTY));
  OK(terrace_batch_delete_range(batch, space, TEXT("b"), TEXT("a")));
  OK(terrace_batch_delete_range(batch, space, TEXT("a"), TEXT("a")));
  OK(terrace_write(store, batch, TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, EMPTY, "") && holds(space, TEXT("a"), "") && holds(space, TEXT("m"), "xx"));
  OK(terrace_batch_clear(batch));
  /* In order: the last write of a key wins. */
  OK(terrace_batch_delete_range(batch, space, NONE, NONE));
  OK(terrace_batch_put(batch, space, TEXT("a"), TEXT("1")));
  OK(terrace_batch_delete(batch, space, TEXT("a")));
  OK(terrace_batch_put(batch, space, TEXT("b"), TEXT("2")));
  OK(terrace_write(store, batch, TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, EMPTY, NULL) && holds(space, TEXT("a"), NULL) && holds(space, TEXT("b"), "2"));
  /* To an operator that is not the counters', an amount would be an operand. */
  GIVES(TERRACE_CODE_OPTION, terrace_batch_add(batch, space, TEXT("n"), 1));
  terrace_batch_free(batch);
  terrace_batch_free(NULL);
}

static void swaps(const TerraceKeySpace *space) {
  uint32_t swapped = 7;
  TerraceValue *found = NULL;
  OK(terrace_compare_and_swap(space, EMPTY, NONE, EMPTY, 0, &swapped, &found));
  HOLDS(swapped == 1 && found == NULL && holds(space, EMPTY, ""));
  /* No value is not the same as a value of no bytes. */
  OK(terrace_compare_and_swap(space, EMPTY, NONE, TEXT("v"), 0, &swapped, &found));
  HOLDS(swapped == 0 && is(terrace_value_bytes(found), ""));
  terrace_value_free(found);
  OK(terrace_compare_and_swap(space, TEXT("absent"), EMPTY, TEXT("v"), 0, &swapped, &found));
  HOLDS(swapped == 0 && found == NULL && holds(space, TEXT("absent"), NULL));
  OK(terrace_compare_and_swap(space, EMPTY, EMPTY, TEXT("v"), 0, &swapped, NULL));
  HOLDS(swapped == 1 && holds(space, EMPTY, "v"));
  OK(terrace_compare_and_swap(space, EMPTY, EMPTY, NONE, 0, &swapped, NULL));
  HOLDS(swapped == 0);
  OK(terrace_compare_and_swap(space, EMPTY, TEXT("v"), NONE, 0, &swapped, NULL));
  HOLDS(swapped == 1 && holds(space, EMPTY, NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_compare_and_swap(space, EMPTY, NONE, NONE, 0, NULL, NULL));
}

static int scan_stands(const TerraceTransactionScan *scan, const char *key) {
  TerraceSlice at = terrace_transaction_scan_key(scan);
  TerraceSlice value = terrace_transaction_scan_value(scan);
  if (key == NULL) {
    return terrace_transaction_scan_on_key(scan) == 0 && is_none(at) && is_none(value);
  }
  return terrace_transaction_scan_on_key(scan) == 1 && is(at, key) && is(value, key);
}

/* The entries b, c and d. */
static void transactions(TerraceStore *store, const TerraceKeySpace *space) {
  TerraceTransaction *transaction = NULL;
  GIVES(TERRACE_CODE_INVALID, terrace_transaction_begin(store, NULL));
  OK(terrace_transaction_begin(store, &transaction));
  OK(terrace_transaction_commit(transaction, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_transaction_begin(store, &transaction));
  OK(terrace_transaction_delete_range(transaction, space, NONE, NONE));
  const char *keys[] = {"d", "b", "c"};
  for (int i = 0; i < 3; i++) {
    OK(terrace_transaction_put(transaction, space, TEXT(keys[i]), TEXT(keys[i])));
  }
  OK(terrace_transaction_put(transaction, space, EMPTY, EMPTY));
  TerraceValue *value = NULL;
  OK(terrace_transaction_get(transaction, space, EMPTY, &value));
  HOLDS(is(terrace_value_bytes(value), ""));
  terrace_value_free(value);
  OK(terrace_transaction_delete(transaction, space, NONE));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_transaction_get(transaction, space, EMPTY, &value));
  HOLDS(value == NULL);
  GIVES(TERRACE_CODE_INVALID, terrace_transaction_get(transaction, space, EMPTY, NULL));
  /* Empty ranges remove nothing. */
  OK(terrace_transaction_delete_range(transaction, space, NONE, EMPTY));
  OK(terrace_transaction_delete_range(transaction, space, TEXT("d"), TEXT("b")));
  OK(terrace_transaction_put_with_expiry(transaction, space, TEXT("e"), TEXT("v"), 0));
  OK(terrace_transaction_merge(transaction, space, TEXT("m"), TEXT("x")));
  GIVES(TERRACE_CODE_OPTION, terrace_transaction_add(transaction, space, TEXT("n"), 1));
  OK(terrace_transaction_commit(transaction, TERRACE_DURABILITY_SYNCED));
  HOLDS(holds(space, TEXT("e"), NULL) && holds(space, TEXT("m"), "x"));
  OK(terrace_delete(space, TEXT("m"), TERRACE_DURABILITY_DEFAULT));

  OK(terrace_transaction_begin(store, &transaction));
  TerraceTransactionScan *scan = NULL;
  OK(terrace_transaction_scan(transaction, space, NONE, NONE, &scan));
  HOLDS(scan_stands(scan, NULL));
  OK(terrace_transaction_scan_prev(scan));
  HOLDS(scan_stands(scan, "d"));
  OK(terrace_transaction_scan_next(scan));
  HOLDS(scan_stands(scan, "b"));
  OK(terrace_transaction_scan_prev(scan));
  HOLDS(scan_stands(scan, "c"));
  /* The ends have met. */
  OK(terrace_transaction_scan_prev(scan));
  HOLDS(scan_stands(scan, NULL));
  OK(terrace_transaction_scan_next(scan));
  HOLDS(scan_stands(scan, NULL));
  terrace_transaction_scan_free(scan);
  TerraceSlice bounds[][2] = {{NONE, EMPTY}, {TEXT("c"), TEXT("c")}, {TEXT("d"), TEXT("b")}};
  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
    OK(terrace_transaction_scan(transaction, space, bounds[i][0], bounds[i][1], &scan));
    OK(terrace_transaction_scan_next(scan));
    HOLDS(scan_stands(scan, NULL));
    OK(terrace_transaction_scan_prev(scan));
    HOLDS(scan_stands(scan, NULL));
    terrace_transaction_scan_free(scan);
  }
  GIVES(TERRACE_CODE_INVALID, terrace_transaction_scan(transaction, space, NONE, NONE, NULL));
  terrace_transaction_free(transaction);

  /* A key that was read, and found absent, has been written meanwhile. */
  OK(terrace_transaction_begin(store, &transaction));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_transaction_get(transaction, space, EMPTY, &value));
  OK(terrace_transaction_put(transaction, space, TEXT("w"), TEXT("w")));
  OK(terrace_put(space, EMPTY, EMPTY, TERRACE_DURABILITY_DEFAULT));
  GIVES(TERRACE_CODE_CONFLICT, terrace_transaction_commit(transaction, 0));
  HOLDS(holds(space, TEXT("w"), NULL));
  HOLDS(scan_stands(NULL, NULL));
  terrace_transaction_free(NULL);
  terrace_transaction_scan_free(NULL);
}

static void ingests(TerraceStore *store, const TerraceKeySpace *space) {
  TerraceIngest *ingest = NULL;
  GIVES(TERRACE_CODE_INVALID, terrace_ingest_begin(store, NULL));
  OK(terrace_ingest_begin(store, &ingest));
  OK(terrace_ingest_finish(ingest));
  /* Over a range delete that is only in memory. */
  OK(terrace_put(space, TEXT("p"), TEXT("old"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_delete_range(space, NONE, NONE, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_ingest_begin(store, &ingest));
  OK(terrace_ingest_put(ingest, space, EMPTY, EMPTY));
  GIVES(TERRACE_CODE_OUT_OF_ORDER, terrace_ingest_put(ingest, space, EMPTY, TEXT("again")));
  OK(terrace_ingest_put(ingest, space, TEXT("p"), TEXT("new")));
  GIVES(TERRACE_CODE_OUT_OF_ORDER, terrace_ingest_put(ingest, space, TEXT("o"), TEXT("v")));
  HOLDS(holds(space, EMPTY, NULL));
  OK(terrace_ingest_finish(ingest));
  HOLDS(holds(space, EMPTY, "") && holds(space, TEXT("p"), "new") && holds(space, TEXT("o"), NULL));
  OK(terrace_ingest_begin(store, &ingest));
  OK(terrace_ingest_put(ingest, space, TEXT("q"), TEXT("v")));
  terrace_ingest_free(ingest);
  HOLDS(holds(space, TEXT("q"), NULL));
  terrace_ingest_free(NULL);
}

static void merges(TerraceStore *store, const TerraceKeySpace *space) {
  OK(terrace_merge(space, TEXT("j"), EMPTY, TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, TEXT("j"), ""));
  OK(terrace_merge(space, TEXT("j"), NONE, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_merge(space, TEXT("j"), TEXT("1"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_store_flush(store));
  OK(terrace_merge(space, TEXT("j"), TEXT("2"), TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, TEXT("j"), "12"));
  /* After a delete there is nothing older. */
  OK(terrace_delete_range(space, TEXT("j"), TEXT("k"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_merge(space, TEXT("j"), TEXT("3"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_store_flush(store));
  HOLDS(holds(space, TEXT("j"), "3"));
  GIVES(TERRACE_CODE_OPTION, terrace_add(space, TEXT("n"), 1, TERRACE_DURABILITY_DEFAULT));
}

/* A store with an operator, a filter and a listener, whose data are given back once each. */
static void options_of_a_key_space(const TerraceStore *store) {
  TerraceKeySpace *space = NULL;
  OK(terrace_key_space_open(store, TEXT("sessions"), 1, &space));
  TerraceKeySpaceOptions options, none = {0};
  GIVES(TERRACE_CODE_INVALID, terrace_key_space_options(space, NULL));
  OK(terrace_key_space_options(space, &options));
  HOLDS(memcmp(&options, &none, sizeof none) == 0);
  GIVES(TERRACE_CODE_INVALID, terrace_key_space_set_options(space, NULL));
  OK(terrace_key_space_set_options(space, &none));
  options.ttl = 1;
  options.filter_bits = TERRACE_NO_FILTERS;
  options.compression = options.compression_last = TERRACE_COMPRESSION_ZSTD;
  options.block_size = 1 << 20;
  OK(terrace_key_space_set_options(space, &options));
  TerraceKeySpaceOptions found;
  OK(terrace_key_space_set_options(space, &none));
  OK(terrace_key_space_options(space, &found));
  HOLDS(memcmp(&options, &found, sizeof found) == 0);
  OK(terrace_put(space, TEXT("k"), TEXT("v"), TERRACE_DURABILITY_DEFAULT));
  for (uint64_t written = terrace_date_after(0); terrace_date_after(0) < written + 2;) {
  }
  HOLDS(holds(space, TEXT("k"), NULL));
  options.ttl = TERRACE_NO_TTL;
  OK(terrace_key_space_set_options(space, &options));
  OK(terrace_key_space_options(space, &found));
  HOLDS(found.ttl == TERRACE_NO_TTL);
  OK(terrace_put(space, TEXT("k"), TEXT("v"), TERRACE_DURABILITY_DEFAULT));
  HOLDS(holds(space, TEXT("k"), "v"));
  options.block_size = (1 << 20) + 1;
  GIVES(TERRACE_CODE_OPTION, terrace_key_space_set_options(space, &options));
  options.reserved[9] = 1;
  GIVES(TERRACE_CODE_INVALID, terrace_key_space_set_options(space, &options));
  terrace_key_space_free(space);
}

static void store_of_functions(const char *path) {
  TerraceMergeOperator *operator = NULL;
  TerraceCompactionFilters *filters = NULL;
  TerraceUserData data = {&destroyed, count_destroyed}, no_data = {NULL, NULL};
  GIVES(TERRACE_CODE_INVALID, terrace_merge_operator_new(NONE, join, no_data, &operator));
  GIVES(TERRACE_CODE_INVALID, terrace_merge_operator_new(TEXT("j"), NULL, no_data, &operator));
  GIVES(TERRACE_CODE_INVALID, terrace_merge_operator_new(TEXT("j"), join, no_data, NULL));
  OK(terrace_merge_operator_new(TEXT("j"), join, data, &operator));
  OK(terrace_compaction_filters_new(&filters));
  GIVES(TERRACE_CODE_INVALID, terrace_compaction_filters_set(filters, TEXT("f"), NULL, no_data));
  OK(terrace_compaction_filters_set(filters, TEXT("f"), keep_all_but_empty, no_data));
  OK(terrace_compaction_filters_set(filters, TEXT("f"), keep_all_but_empty, data));

  TerraceOptions options = {0};
  options.merge_operator = operator;
  options.compaction_filters = filters;
  TerraceStore *store = NULL;
  options.counters = 1;
  GIVES(TERRACE_CODE_INVALID, terrace_store_open(TEXT(path), &options, &store));
  options.counters = 0;
  OK(terrace_store_open(TEXT(path), &options, &store));
  terrace_merge_operator_free(operator);
  terrace_compaction_filters_free(filters);
  terrace_merge_operator_free(NULL);
  terrace_compaction_filters_free(NULL);
  HOLDS(destroyed == 0);
  int flushes = 0;
  TerraceUserData count = {&flushes, NULL};
  GIVES(TERRACE_CODE_INVALID, terrace_store_listen(store, NULL, no_data));
  OK(terrace_store_listen(store, count_event, count));

  const TerraceKeySpace *space = terrace_store_default(store);
  batches(store, space);
  swaps(space);
  transactions(store, space);
  ingests(store, space);
  merges(store, space);
  HOLDS(flushes > 0);

  TerraceKeySpace *filtered = NULL;
  OK(terrace_key_space_open(store, TEXT("f"), 1, &filtered));
  OK(terrace_put(filtered, EMPTY, EMPTY, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_put(filtered, TEXT("a"), TEXT("v"), TERRACE_DURABILITY_DEFAULT));
  OK(terrace_store_flush(store));
  OK(terrace_compact(filtered, NONE, NONE));
  HOLDS(holds(filtered, TEXT("a"), "v"));
  terrace_key_space_free(filtered);

  TerraceTableOptions tables = {0};
  GIVES(TERRACE_CODE_INVALID, terrace_store_table_options(store, NULL));
  OK(terrace_store_table_options(store, &tables));
  HOLDS(tables.compression != 0 && tables.compression_last != 0 && tables.filter_bits != 0);
  HOLDS(tables.block_size != 0 && tables.first_keys != 0);
  TerraceTableOptions before = tables, unchanged = {0};
  OK(terrace_store_set_table_options(store, &unchanged));
  OK(terrace_store_table_options(store, &tables));
  HOLDS(memcmp(&before, &tables, sizeof tables) == 0);
  unchanged.block_size = (1 << 20) + 1;
  GIVES(TERRACE_CODE_OPTION, terrace_store_set_table_options(store, &unchanged));
  unchanged.block_size = 1 << 20;
  OK(terrace_store_set_table_options(store, &unchanged));
  unchanged.reserved[10] = 1;
  GIVES(TERRACE_CODE_INVALID, terrace_store_set_table_options(store, &unchanged));
  options_of_a_key_space(store);
  OK(terrace_store_close(store));
  HOLDS(destroyed == 2);
}

static void counters(const char *path) {
  TerraceOptions options = {0};
  options.counters = 1;
  TerraceStore *store = NULL;
  OK(terrace_store_open(TEXT(path), &options, &store));
  const TerraceKeySpace *space = terrace_store_default(store);
  int64_t number = 7;
  GIVES(TERRACE_CODE_INVALID, terrace_number(EMPTY, &number));
  GIVES(TERRACE_CODE_INVALID, terrace_number(NONE, &number));
  GIVES(TERRACE_CODE_INVALID, terrace_number(terrace_bytes("123456789", 9), &number));
  GIVES(TERRACE_CODE_INVALID, terrace_number(terrace_bytes("12345678", 8), NULL));
  OK(terrace_number(terrace_bytes("\xff\xff\xff\xff\xff\xff\xff\x7f", 8), &number));
  HOLDS(number == INT64_MAX);
  OK(terrace_number(terrace_bytes("\0\0\0\0\0\0\0\x80", 8), &number));
  HOLDS(number == INT64_MIN);

  TerraceValue *value = NULL;
  OK(terrace_add(space, EMPTY, 0, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_get(space, EMPTY, &value));
  OK(terrace_number(terrace_value_bytes(value), &number));
  HOLDS(number == 0);
  terrace_value_free(value);
  TerraceBatch *batch = NULL;
  OK(terrace_batch_new(&batch));
  OK(terrace_batch_add(batch, space, EMPTY, INT64_MIN));
  OK(terrace_batch_add(batch, space, EMPTY, INT64_MAX));
  OK(terrace_write(store, batch, TERRACE_DURABILITY_DEFAULT));
  terrace_batch_free(batch);
  TerraceTransaction *transaction = NULL;
  OK(terrace_transaction_begin(store, &transaction));
  OK(terrace_transaction_add(transaction, space, EMPTY, 43));
  OK(terrace_transaction_commit(transaction, TERRACE_DURABILITY_DEFAULT));
  OK(terrace_get(space, EMPTY, &value));
  OK(terrace_number(terrace_value_bytes(value), &number));
  HOLDS(number == 42);
  terrace_value_free(value);
  OK(terrace_store_close(store));
}

int main(int count, char **arguments) {
  HOLDS(count == 2 && terrace_error_message()[0] == 0);
  char path[512];
  snprintf(path, sizeof path, "%s/functions.img", arguments[1]);
  make_drive(path);
  store_of_functions(path);
  snprintf(path, sizeof path, "%s/counters.img", arguments[1]);
  make_drive(path);
  counters(path);
  puts("all is as expected");
  return 0;
}
